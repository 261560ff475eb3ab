/* usage.c - reads /proc and INFO. */
#include "tests/chaos/soak/usage.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sale/rest.h"

/* Connections come and go: of two dozen one is 4 %. */
enum { COUNTS_VARY = 2 };

enum { MEMORY, DESCRIPTORS = FX_INSTANCES, THREADS = 2 * FX_INSTANCES, REDIS = 3 * FX_INSTANCES };

const char *usage_name(int i)
{
    static char name[64];
    static const char *const kinds[] = {"memory (KiB)", "descriptors", "threads"};
    if (i == REDIS)
        return "memory (KiB) of Redis";
    snprintf(name, sizeof(name), "%s of instance %d", kinds[i / FX_INSTANCES], i % FX_INSTANCES);
    return name;
}

/* The number behind `field` in a text of lines; 0: it is not there. */
static long long number_behind(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at ? strtoll(at + strlen(field), NULL, 10) : 0;
}

static void look_at_instance(int i, long long *values)
{
    char path[64], text[4096] = "";
    pid_t pid = fx_process_pid(fx_server_process(fx.server[i]));
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    if (len == 0)
        fail_msg("instance %d is gone", i);
    values[MEMORY + i] = number_behind(text, "VmRSS:");
    values[THREADS + i] = number_behind(text, "Threads:");
    values[DESCRIPTORS + i] = rest_entries(pid, "fd");
}

void usage_look(usage *highest)
{
    long long now[USAGES] = {0};
    for (int i = 0; i < FX_INSTANCES; i++)
        look_at_instance(i, now);
    redisReply *info = fx_redis_reply(fx.redis, "INFO memory");
    now[REDIS] = (number_behind(info->str, "\nused_memory:") -
                  number_behind(info->str, "\nmem_clients_normal:") -
                  number_behind(info->str, "\nmem_aof_buffer:")) /
                 1024;
    freeReplyObject(info);
    for (int i = 0; i < USAGES; i++) {
        if (now[i] > highest->values[i])
            highest->values[i] = now[i];
    }
}

const char *usage_text(const usage *u)
{
    static char text[256];
    const long long *v = u->values;
    size_t len = 0;
    for (int i = 0; i < FX_INSTANCES; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.1f", i ? " " : "memory ",
                                (double)v[MEMORY + i] / 1024);
    for (int i = 0; i < FX_INSTANCES; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld",
                                i ? " " : " MB, descriptors ", v[DESCRIPTORS + i]);
    for (int i = 0; i < FX_INSTANCES; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", i ? " " : ", threads ",
                                v[THREADS + i]);
    snprintf(text + len, sizeof(text) - len, ", Redis %.1f MB", (double)v[REDIS] / 1024);
    return text;
}

bool usage_compare(const usage *first, const usage *last, int percent)
{
    bool all = true;
    for (int i = 0; i < USAGES; i++) {
        long long a = first->values[i], b = last->values[i], more = a * percent / 100;
        if (i >= DESCRIPTORS && i < REDIS && more < COUNTS_VARY)
            more = COUNTS_VARY;
        bool within = a > 0 && b <= a + more;
        printf("%-28s %8lld in the first minute, %8lld in the last: %+.1f %%%s\n", usage_name(i), a,
               b, a > 0 ? 100.0 * (double)(b - a) / (double)a : 0.0, within ? "" : ", GROWN");
        all = all && within;
    }
    return all;
}
