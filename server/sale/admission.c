/* admission.c - compare, wait for objections, compare, admit. */
#include "server/sale/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/base/log.h"
#include "server/sale/admission.lua.h"
#include "server/sale/sale_find.h"

/* Every process looks four times a second, and tries to connect to a server that was away at least
 * twice a second. So within a second each that can reach the server has seen the new run. In a
 * cluster an idle process notices a takeover only when it asks for the slots, once a second. */
#define OBJECT_MS         1000
#define OBJECT_CLUSTER_MS 2000
#define OBJECT_MOST_MS    30000

#define OBJECTION_MS      2500 /* how long an objection stands unless it is repeated */
#define REPEAT_MS         500
#define ASK_MS            1000 /* for one answer */

/* Objecting makes a sale safe, so a full Redis does not refuse it. */
static dlock_script say_script = DLOCK_SCRIPT("admission", "#!lua flags=allow-oom\n" ADMISSION_LUA);

/* ---- what is said among the processes -------------------------------------------------------- */

typedef struct others {
    int64_t objections; /* this process's own included */
    bool admitted;      /* one of them has admitted this run */
} others;

static void name_myself(admission *a)
{
    uint64_t bits = (uint64_t)dlock_now().us;
    if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
        log_event(LOG_WARN, "no_random_numbers", NULL);
    snprintf(a->name, sizeof(a->name), "%016llx", (unsigned long long)bits);
}

/* How many object, and the run that was admitted. */
static bool is_said(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_INTEGER &&
           reply->element[1]->type == REDIS_REPLY_STRING;
}

/* Objects for so long from now on, and reads the others' objections. If a server refuses this for
 * more than a moment, no instance writes to it, so there are no objections. False: no answer. */
static bool say(const admission *a, fs_store *store, int64_t object_ms, const char *admit,
                others *ret)
{
    char comparing[RUN_ID_MAX + 32];
    redisReply *reply = NULL;
    snprintf(comparing, sizeof(comparing), "fs:{flashsale}:comparing:%s", a->seen);
    dlock_args args = store_words(WORDS(comparing, "fs:{flashsale}:admitted", a->name));
    dlock_args_int(&args, object_ms);
    dlock_args_text(&args, admit);
    dlock_redis_outcome outcome =
        dlock_redis_eval(store->looking, &say_script, 2, &args, dlock_in_ms(ASK_MS), &reply);
    dlock_args_free(&args);
    *ret = (others){0};
    bool said = outcome == DLOCK_REDIS_OK &&
                dlock_redis_check(store->looking, say_script.name, reply, is_said(reply));
    if (said) {
        ret->objections = reply->element[0]->integer;
        ret->admitted =
            !dlock_redis_is_cluster(store->redis) && strcmp(reply->element[1]->str, a->seen) == 0;
    } else if (reply && reply->type == REDIS_REPLY_ERROR) {
        LOG_SOME(LOG_WARN, "admission_refused", "detail", reply->str, NULL);
    }
    bool answered = said || (reply && reply->type == REDIS_REPLY_ERROR &&
                             strcmp(dlock_redis_said(), "BUSY") != 0);
    freeReplyObject(reply);
    return answered;
}

static void waits(const admission *a, const char *why, const char *item)
{
    LOG_SOME(LOG_INFO, "admission_waits", "run", a->seen, "detail", why, "item", item, NULL);
}

/* Objects until this process has compared, OBJECT_MOST_MS at most. False: no answer. */
static bool object(admission *a, fs_store *store)
{
    others heard;
    int64_t now_us = dlock_now().us;
    if (a->compared || a->gave_up || now_us - a->objected.us < REPEAT_MS * 1000)
        return true;
    a->gave_up = now_us - a->since.us >= OBJECT_MOST_MS * 1000;
    if (a->gave_up)
        log_event(LOG_ERROR, "objection_given_up", "run", a->seen, "detail",
                  "the other instances may sell now, this one goes on comparing", NULL);
    if (!say(a, store, a->gave_up ? 0 : OBJECTION_MS, "", &heard))
        return false;
    a->objected.us = now_us;
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Compares the sales that have keys on the server. If one cannot be compared, the others are halted
 * nevertheless. */
static bool compare_all(admission *a, fs_store *store, const fs_node *node, sale_table *sales)
{
    int count;
    sale_pointer *all = sale_table_pointers(sales, &count);
    bool answers = all != NULL, good = answers;
    for (int i = 0; answers && i < count; i++) {
        if (!sale_table_is_on(sales, all[i].item, node))
            continue;
        dlock_time deadline = dlock_in_ms(ASK_MS);
        answers = object(a, store);
        if (answers && sale_compare(sales, all[i].item, deadline))
            continue;
        waits(a, "can not be compared", all[i].item);
        answers = answers && !dlock_passed(deadline);
        good = false;
    }
    free(all);
    return good;
}

static bool has_sales_on(const fs_node *node, sale_table *sales)
{
    int count;
    bool has = false;
    sale_pointer *all = sale_table_pointers(sales, &count);
    for (int i = 0; all && !has && i < count; i++)
        has = sale_table_is_on(sales, all[i].item, node);
    free(all);
    return has;
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* From now on nothing more is sent to the run before, so what this process remembers of it is
 * complete. */
static void begin(admission *a, fs_store *store, fs_node *node, sale_table *sales, const char *id)
{
    bool first = server_run_is_first(&node->run) && !has_sales_on(node, sales);
    *a = (admission){0};
    name_myself(a);
    snprintf(a->seen, sizeof(a->seen), "%s", id);
    server_run_look_at(&node->run, id);
    dlock_redis_readmit(store->redis);
    dlock_redis_readmit(store->telling);
    dlock_redis_readmit(store->looking);
    atomic_store(&node->run_changed, !first);
    atomic_store(&node->is_replica, false);
    if (!first)
        log_event(LOG_WARN, "redis_changed", "run", id, "detail",
                  "another run of the server: nothing is written to it before it was compared",
                  "server", store_server_name(store, node), NULL);
}

/* Whether the data is there: while a server loads, there is nothing to compare. */
static bool has_loaded(admission *a, const server_answer *answer)
{
    if (answer->loading)
        waits(a, "Redis is loading its data", NULL);
    else if (!a->loaded)
        a->since = dlock_now();
    a->loaded = !answer->loading;
    return a->loaded;
}

/* Whether the other instances had time to object, and none of them objects. */
static bool is_agreed(const admission *a, fs_store *store, const char *admit)
{
    others heard;
    if (!say(a, store, 0, admit, &heard))
        return false;
    if (heard.objections > 0)
        waits(a, "other instances compare", NULL);
    int64_t object_ms = dlock_redis_is_cluster(store->redis) ? OBJECT_CLUSTER_MS : OBJECT_MS;
    return heard.objections == 0 &&
           (heard.admitted || dlock_now().us - a->since.us >= object_ms * 1000);
}

bool admission_look(admission *a, fs_store *store, fs_node *node, sale_table *sales)
{
    server_answer now, after;
    if (!server_run_ask(store->asking, node->server, dlock_in_ms(ASK_MS), &now) ||
        server_run_admits(&node->run, now.run_id))
        return false;
    if (strcmp(a->seen, now.run_id) != 0)
        begin(a, store, node, sales, now.run_id);
    if (!has_loaded(a, &now))
        return false;
    a->compared = a->compared || compare_all(a, store, node, sales);
    if (!a->compared || !is_agreed(a, store, "") || !compare_all(a, store, node, sales) ||
        !server_run_ask(store->asking, node->server, dlock_in_ms(ASK_MS), &after) ||
        strcmp(now.run_id, after.run_id) != 0 || !is_agreed(a, store, now.run_id))
        return false;
    server_run_admit(&node->run, now.run_id);
    a->seen[0] = '\0';
    if (atomic_exchange(&node->run_changed, false))
        log_event(LOG_INFO, "redis_admitted", "run", now.run_id, "server",
                  store_server_name(store, node), NULL);
    return true;
}
