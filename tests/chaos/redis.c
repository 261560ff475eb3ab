/* redis.c - kills a cell's Redis, takes its power, slows its disk. */
#include "tests/chaos/redis.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/chaos/faults/fault.h"
#include "tests/tools/shims/fsync.h"

/* ---- the server ------------------------------------------------------------------------------ */

static char board_dir[256];
static shim_disk *board; /* NULL: its disk is the machine's */

static void preload(void)
{
    char shim[512], path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/board", board_dir);
    setenv("FLASHSALE_DISK", path, 1);
    assert_non_null(realpath(fx_build_path("tests/shims/fsync.so", shim, sizeof(shim)), path));
    setenv("LD_PRELOAD", path, 1);
}

void redis_run_id(char buf[REDIS_RUN_ID])
{
    redisReply *info = fx_redis_reply(fx.redis, "INFO server");
    const char *at = info->str ? strstr(info->str, "run_id:") : NULL;
    snprintf(buf, REDIS_RUN_ID, "%s", at ? at + strlen("run_id:") : "");
    freeReplyObject(info);
}

void redis_kill(cell *c)
{
    (void)c;
    fx_redis_kill(fx.redis);
}

void redis_start(cell *c)
{
    (void)c;
    if (board)
        preload();
    fx_redis_restart(fx.redis);
    unsetenv("LD_PRELOAD");
}

/* ---- the disk -------------------------------------------------------------------------------- */

void redis_disk_put(cell *c)
{
    (void)c;
    char path[512];
    fx_dir_make(board_dir, sizeof(board_dir));
    snprintf(path, sizeof(path), "%s/board", board_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, sizeof(*board)), 0);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(board != MAP_FAILED);
    preload();
}

void redis_disk_remove(cell *c)
{
    (void)c;
    unsetenv("LD_PRELOAD");
    if (board_dir[0] != '\0')
        fx_dir_remove(board_dir);
}

void redis_disk_slow(int delay_ms)
{
    atomic_store(&board->delay_ms, delay_ms);
}

long long redis_disk_delayed(void)
{
    return atomic_load(&board->delayed);
}

static long long length_that_is_synced(const char *path)
{
    char name[600], text[32] = "0";
    snprintf(name, sizeof(name), "%s" SHIM_SYNCED, path);
    FILE *file = fopen(name, "re");
    if (file && !fgets(text, sizeof(text), file))
        text[0] = '\0';
    if (file)
        fclose(file);
    return strtoll(text, NULL, 10);
}

/* The file, and with `cut` only what is on the disk of it. Redis has one that grows as long as it
 * does not rewrite it, which takes 64 MB. */
static redis_file look_at_file(bool cut)
{
    char pattern[400];
    struct stat now;
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/appendonlydir/*" SHIM_GROWING, fx_redis_dir(fx.redis));
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        fail_msg("there is not one %s", pattern);
    redis_file file = {.synced = length_that_is_synced(found.gl_pathv[0])};
    assert_int_equal(stat(found.gl_pathv[0], &now), 0);
    file.written = (long long)now.st_size;
    if (cut && file.synced < file.written)
        assert_int_equal(truncate(found.gl_pathv[0], (off_t)file.synced), 0);
    globfree(&found);
    return file;
}

redis_file redis_disk_file(void)
{
    return look_at_file(false);
}

long long redis_lose_power(cell *c)
{
    redis_kill(c);
    redis_file before = look_at_file(true), after = look_at_file(false);
    return before.written - after.written;
}

long long redis_errors(const char *word)
{
    char text[64];
    long long count = 0;
    snprintf(text, sizeof(text), "errorstat_%s:count=", word);
    redisReply *info = fx_redis_reply(fx.redis, "INFO errorstats");
    for (const char *at = info->str; at && (at = strstr(at, text)); at += strlen(text))
        count += strtoll(at + strlen(text), NULL, 10); /* of each server */
    freeReplyObject(info);
    return count;
}

/* ---- buyers meanwhile ------------------------------------------------------------------------ */

int redis_refusals(void)
{
    return atomic_load(&crew.busy) + atomic_load(&crew.unknown);
}

/* A sale, and its orders as far as all instances together remember. */
typedef struct halt {
    int number;
    const fx_sale *sale;
    long long known, lost;
} halt;

static bool number_in(const fx_reply *reply, const char *name, long long *ret)
{
    char member[32];
    snprintf(member, sizeof(member), "\"%s\":", name);
    const char *at = reply->body ? strstr(reply->body, member) : NULL;
    *ret = at ? strtoll(at + strlen(member), NULL, 10) : 0;
    return at != NULL;
}

/* Asks for an order that never was: everything is answered with the halt. */
static bool all_are_halted(void *arg)
{
    halt *h = arg;
    bool all = true;
    for (int i = 0; all && i < FX_INSTANCES; i++) {
        fx_reply reply;
        int status = fx_ask(fx.server[i], &reply, "GET /orders/nobody?item=%s&sale=%s",
                            h->sale->item, h->sale->id);
        all = status == 503 && number_in(&reply, "known", &h->known) &&
              number_in(&reply, "lost_orders", &h->lost);
        fx_reply_free(&reply);
    }
    return all;
}

/* Each instance adds what it knows when it looks the next time. */
static bool all_orders_are_known(void *arg)
{
    halt *h = arg;
    return all_are_halted(h) && h->known >= atomic_load(&crew_counts_of(h->number)->bought);
}

void redis_has_forgotten(cell *c)
{
    halt h = {.sale = crew_sale(0)};
    c->over = true;
    if (!fx_wait_until(all_orders_are_known, &h, CELL_PATIENCE_MS))
        fail_msg("the instances do not say that orders were lost, or say it of %lld of %d only",
                 h.known, atomic_load(&crew.bought));
    int bought = atomic_load(&crew.bought), refusals = redis_refusals();
    crew_more(&crew.busy, 2 * CREW_BUYERS, CELL_PATIENCE_MS);
    bool sold_on = atomic_load(&crew.bought) > bought;
    cell_landed(c, sold_on ? 0 : redis_refusals() - refusals);
    cell_note(c, "%lld acknowledged orders were lost; %s", h.lost,
              sold_on ? "and the sale went on" : "nothing more was sold");
}

typedef struct change {
    fx_topology *topology;
    const char *key;
    int old;
} change;

static bool has_changed(void *arg)
{
    const change *ch = arg;
    int now = fx_topology_primary(ch->topology, ch->key);
    return now >= 0 && now != ch->old;
}

bool redis_is_replaced(fx_topology *t, const char *key, int old, int deadline_ms)
{
    return fx_wait_until(has_changed, &(change){t, key, old}, deadline_ms);
}

enum { TOLD_MS = 3000 }; /* each instance looks four times a second */

typedef struct aftermath {
    halt halt;
    int failover;
    bool halted, sells[FX_INSTANCES];
} aftermath;

static bool sells_or_is_halted(void *arg)
{
    aftermath *a = arg;
    int selling = 0;
    a->halted = all_are_halted(&a->halt);
    for (int i = 0; !a->halted && i < FX_INSTANCES; i++) {
        char request[32];
        snprintf(request, sizeof(request), "after-%d-%d", a->failover, i);
        fx_sale *s = crew_sale(a->halt.number);
        int status = a->sells[i] ? 201 : fx_sale_ask(s, request, i, 1, i).status;
        a->sells[i] = status == 201 || status == 409;
        selling += a->sells[i];
    }
    return a->halted || selling == FX_INSTANCES;
}

/* How many orders of a sale are said to be lost, and whether it is halted. */
static long long lost_of(int number, int failover, bool *halted)
{
    aftermath a = {.halt = {.number = number, .sale = crew_sale(number)}, .failover = failover};
    if (atomic_load(&a.halt.sale->replaced))
        return LLONG_MAX; /* it is over, and nobody looks after it any more */
    if (!fx_wait_until(sells_or_is_halted, &a, CELL_PATIENCE_MS))
        fail_msg("the instances neither sell again nor say that orders were lost");
    if (!a.halted)
        return 0;
    fx_wait_until(all_orders_are_known, &a.halt, TOLD_MS);
    *halted = true;
    return a.halt.lost;
}

void redis_after_failover(cell *c)
{
    static int failovers;
    failovers++;
    for (int k = 0; crew_sale(k); k++) {
        c->told_lost[k] = lost_of(k, failovers, &c->over);
        if (c->told_lost[k] > 0 && c->told_lost[k] < LLONG_MAX)
            cell_note(c, "%s is halted, and says that %lld orders were lost", crew_sale(k)->item,
                      c->told_lost[k]);
    }
    c->failed_over = true;
}

static bool is_resumed(void *arg)
{
    halt *h = arg;
    return all_are_halted(h) &&
           fx_status(fx.server[0],
                     "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%lld}",
                     h->sale->item, h->sale->id, h->lost) == 200;
}

void redis_resume(cell *c)
{
    (void)c;
    halt h = {.sale = crew_sale(0)};
    if (!fx_wait_until(is_resumed, &h, CELL_PATIENCE_MS))
        fail_msg("the sale can not be resumed, of which %lld orders are lost", h.lost);
}
