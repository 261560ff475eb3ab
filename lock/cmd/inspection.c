/* What stands at a name: asked of Redis, and shown as text and as JSON. */
#include "cmd/inspection.h"
#include "cmd/json.h"
#include "cmd/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static dlock_status look_at_holders(dlock_lock *lock, inspection *s)
{
    enum { NEWCOMERS = 16 }; /* between the two questions */
    dlock_status status = dlock_inspect(lock, &s->info);
    if (status != DLOCK_OK)
        return status;
    int room = (int)s->info.holders + NEWCOMERS;
    s->holders = calloc((size_t)room, sizeof(*s->holders));
    if (!s->holders)
        return DLOCK_NO_MEMORY;
    status = dlock_holders(lock, s->holders, room, &s->holders_len);
    if (s->holders_len > room)
        s->holders_len = room;
    return status;
}

dlock_status inspection_latch(const command_session *session, const char *name, int64_t *left)
{
    char err[128];
    dlock_latch *latch;
    dlock_status status = dlock_latch_new(session->client, name, &latch, err, sizeof(err));
    if (status != DLOCK_OK)
        return status;
    status = dlock_latch_left(latch, left);
    dlock_latch_free(latch);
    return status;
}

/* What has no owner may be a latch, or gone by now. */
static dlock_status look_at_latch(const command_session *session, const char *name, inspection *s)
{
    dlock_status status = inspection_latch(session, name, &s->left);
    if (status == DLOCK_NOT_OWNER || status == DLOCK_EXPIRED)
        return DLOCK_OK;
    s->latch = status == DLOCK_OK;
    s->info.held = s->left > 0;
    s->info.holders = s->holders_len = 0;
    return status;
}

dlock_status inspection_look(const command_session *session, const char *name, inspection *ret)
{
    inspection s = {0};
    dlock_status status = look_at_holders(session->lock, &s);
    if (status == DLOCK_OK && s.info.held && !*s.info.owner)
        status = look_at_latch(session, name, &s);
    if (status == DLOCK_OK)
        *ret = s;
    else
        free(s.holders);
    return status;
}

void inspection_free(inspection *s)
{
    free(s->holders);
}

typedef enum lock_mode { FREE, EXCLUSIVE, WRITER, READERS, SEMAPHORE, LATCH, OTHER } lock_mode;

static lock_mode mode_of(const inspection *s)
{
    const dlock_info *info = &s->info;
    size_t len = strlen(info->owner);
    if (s->latch)
        return LATCH;
    if (info->permits >= 0)
        return SEMAPHORE;
    if (!info->held)
        return FREE;
    if (len == 0)
        return OTHER;
    if (s->holders[0].permits > 0)
        return READERS;
    return len > 2 && strcmp(info->owner + len - 2, "*w") == 0 ? WRITER : EXCLUSIVE;
}

bool inspection_is_free(const inspection *s)
{
    return !s->info.held && s->info.permits != 0;
}

enum { LABEL_MAX = sizeof(((dlock_info *)0)->owner) };

/* Copies the label of the owner's client, if the owner's token has one: "label@host/pid/...". */
static void read_label(const char *owner, char ret[LABEL_MAX])
{
    size_t len = strcspn(owner, "@/");
    snprintf(ret, LABEL_MAX, "%.*s", owner[len] == '@' ? (int)len : 0, owner);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void print_owner(json_writer *json, const char *owner, const char *host, int64_t pid)
{
    char label[LABEL_MAX];
    read_label(owner, label);
    json_text(json, "owner", owner);
    json_text(json, "label", label);
    json_text(json, "host", host);
    json_int(json, "pid", pid);
}

static void print_holders(json_writer *json, const inspection *s)
{
    json_open(json, "holders", '[');
    for (int i = 0; i < s->holders_len; i++) {
        const dlock_holder *holder = &s->holders[i];
        json_open(json, NULL, '{');
        print_owner(json, holder->owner, holder->host, holder->pid);
        json_int(json, "ttl_ms", holder->ttl_ms);
        json_int(json, "permits", holder->permits);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* The schema, the name, and of the only or the first holder. */
static void print_first(json_writer *json, const dlock_info *info, const char *name,
                        const char *held, const char *waiters)
{
    json_int(json, "schema", 1);
    json_text(json, "name", name);
    json_bool(json, held, info->held);
    print_owner(json, info->owner, info->host, info->pid);
    json_int(json, "since_us", info->since_us);
    json_int(json, "ttl_ms", info->ttl_ms);
    json_int(json, "fence", (int64_t)info->fence);
    json_int(json, waiters, info->waiters);
}

void inspection_print_leader_json(const dlock_info *info, const char *name)
{
    json_writer json = {.file = stdout};
    json_open(&json, NULL, '{');
    print_first(&json, info, name, "led", "candidates");
    json_close(&json, '}');
}

void inspection_print_json(const inspection *s, const char *name)
{
    static const char *const modes[] = {
        [FREE] = "free",       [EXCLUSIVE] = "exclusive", [WRITER] = "writer",
        [READERS] = "readers", [SEMAPHORE] = "semaphore", [LATCH] = "latch",
        [OTHER] = "other",
    };
    const dlock_info *info = &s->info;
    json_writer json = {.file = stdout};
    json_open(&json, NULL, '{');
    print_first(&json, info, name, "held", "waiters");
    json_text(&json, "mode", modes[mode_of(s)]);
    json_int(&json, "permits", info->permits > 0 ? info->permits : 0);
    json_int(&json, "taken", info->taken);
    json_int(&json, "left", s->left);
    print_holders(&json, s);
    json_close(&json, '}');
}

/* ---- as text --------------------------------------------------------------------------------- */

static void print_since(int64_t since_us)
{
    char text[64];
    struct tm tm;
    struct timespec now;
    time_t since_s = since_us / 1000000;
    clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&since_s, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
        printf("  since    %s (%.1f s ago)\n", text,
               (double)now.tv_sec - (double)since_us / 1e6 + (double)now.tv_nsec / 1e9);
}

static void print_expiry(int64_t ttl_ms, const char *unless)
{
    if (ttl_ms >= 0)
        printf("in %.1f s unless %s\n", (double)ttl_ms / 1000, unless);
    else
        puts("never");
}

static void print_latch(const inspection *s)
{
    if (s->left > 0)
        printf(" is a latch, %" PRId64 " left\n", s->left);
    else
        puts(" is a latch, open");
    printf("  expires  ");
    print_expiry(s->info.ttl_ms, s->left > 0 ? "counted down" : "set again");
}

/* And its client's label, if it has one. */
static void print_process(int64_t pid, const char *host, const char *owner)
{
    char label[LABEL_MAX];
    read_label(owner, label);
    printf("%" PRId64 " on ", pid);
    plain_put(stdout, host);
    if (!*label)
        return;
    fputs(" (", stdout);
    plain_put(stdout, label);
    putchar(')');
}

bool inspection_may_lead(const dlock_info *info)
{
    const char *number = info->since_us ? strrchr(info->owner, ':') : NULL;
    return number && strspn(number + 1, "0123456789") == strlen(number + 1);
}

/* By dlock run --at-least, whose command has ended: the number in the token begins with 'k'. */
static bool is_kept(const dlock_info *info)
{
    const char *number = info->pid ? strrchr(info->owner, ':') : NULL;
    return number && number[1] == 'k';
}

/* Of the only one. */
static void print_holder(const dlock_info *info)
{
    printf("  owner    ");
    plain_put(stdout, *info->owner ? info->owner : "a key of another kind");
    putchar('\n');
    if (info->pid) {
        printf("  process  ");
        print_process(info->pid, info->host, info->owner);
        puts(is_kept(info) ? ", which has ended" : "");
    }
    if (info->since_us)
        print_since(info->since_us);
    printf("  expires  ");
    print_expiry(info->ttl_ms, is_kept(info) ? "taken away" : "renewed");
}

/* A line for each of several. */
static void print_shares(const inspection *s, lock_mode mode)
{
    for (int i = 0; i < s->holders_len; i++) {
        const dlock_holder *holder = &s->holders[i];
        if (mode == SEMAPHORE)
            printf("  %" PRId64 " of them  ", holder->permits);
        else
            printf("  reader   ");
        if (holder->pid)
            print_process(holder->pid, holder->host, holder->owner);
        else
            plain_put(stdout, holder->owner);
        printf(", expires ");
        print_expiry(holder->ttl_ms, "renewed");
    }
}

void inspection_print_text(const inspection *s, const char *name)
{
    const dlock_info *info = &s->info;
    lock_mode mode = mode_of(s);
    plain_put(stdout, name);
    if (mode == LATCH) {
        print_latch(s);
        return;
    }
    printf(" is %s", info->held ? "held" : inspection_is_free(s) ? "free" : "closed");
    if (mode == SEMAPHORE)
        printf(", %" PRId64 " of %" PRId64 " permits are taken", info->taken, info->permits);
    else if (mode == READERS)
        printf(" by %" PRId64 " reader%s", info->holders, info->holders == 1 ? "" : "s");
    else if (mode == WRITER)
        printf(" by a writer");
    putchar('\n');
    if (mode == SEMAPHORE || mode == READERS)
        print_shares(s, mode);
    else if (info->held)
        print_holder(info);
    if (info->fence)
        printf("  fence    %" PRIu64 "\n", info->fence);
    if (info->held || info->waiters)
        printf("  waiting  %" PRId64 "\n", info->waiters);
}

void inspection_print_leader_text(const dlock_info *info, const char *name)
{
    plain_put(stdout, name);
    printf(" has %s leader\n", info->held ? "a" : "no");
    if (info->held)
        print_holder(info);
    if (info->fence)
        printf("  fence    %" PRIu64 "\n", info->fence);
    if (info->held || info->waiters)
        printf("  waiting  %" PRId64 "\n", info->waiters);
}
