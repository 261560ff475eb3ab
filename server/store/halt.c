/* halt.c - reads and writes halts, and the scripts that set and lift them. */
#include "server/store/halt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/store/begin.lua.h"
#include "server/store/epochs.h"
#include "server/store/halt.lua.h"
#include "server/store/resume.lua.h"

#define WRITE_MS 1000 /* for one tag */

/* Halting makes a sale safe, so a full Redis does not refuse it. */
static dlock_script halt_script = DLOCK_SCRIPT("halt", "#!lua flags=allow-oom\n" HALT_LUA);
static dlock_script resume_script = DLOCK_SCRIPT("resume", "#!lua\n" BEGIN_LUA RESUME_LUA);

bool halt_read(const char *pointer, sale_halt *ret)
{
    char end;
    sale_halt halt;
    memset(&halt, 0, sizeof(halt));
    if (sscanf(pointer, "%64s %15s %" SCNd64 " %" SCNd64 " %64s %" SCNd64 "%c", halt.sale, halt.why,
               &halt.known, &halt.found, halt.instance, &halt.time_us, &end) != 6 ||
        !sale_id_ok(halt.sale, strlen(halt.sale)) || halt.known < 0 || halt.found < 0 ||
        (strcmp(halt.why, HALT_ROLLED_BACK) != 0 && strcmp(halt.why, HALT_LOST) != 0))
        return false;
    *ret = halt;
    return true;
}

int64_t halt_lost_orders(const sale_halt *halt)
{
    return halt->known > halt->found ? halt->known - halt->found : 0;
}

/* Copies the reply's text into `pointer`. False: there is no answer, or none that fits. */
static bool call(dlock_redis *redis, dlock_script *script, int keys, dlock_args *args,
                 dlock_time deadline, char pointer[POINTER_MAX + 1])
{
    deadline = dlock_sooner(deadline, dlock_in_ms(WRITE_MS));
    redisReply *reply = store_eval(redis, script, keys, args, deadline, store_is_text);
    if (reply)
        snprintf(pointer, POINTER_MAX + 1, "%s", reply->str);
    freeReplyObject(reply);
    return reply;
}

/* The older sale, in force or halted, under the tag where `sale` is halted. */
static bool find_older(const char *pointer, const char *sale, char ret[IDENT_MAX + 1])
{
    sale_halt before;
    const char *id = halt_read(pointer, &before) ? before.sale : pointer;
    snprintf(ret, IDENT_MAX + 1, "%.*s", IDENT_MAX, id);
    return sale_id_ok(id, strlen(id)) && strcmp(id, sale) < 0;
}

bool halt_write(dlock_redis *redis, const char *item, int segment, const halt_reason *seen,
                const sale_halt *halt, char pointer[POINTER_MAX + 1])
{
    sale_keys keys, old;
    char older[IDENT_MAX + 1];
    keys_name(&keys, item, segment, halt->sale);
    dlock_args args =
        store_words(WORDS(keys.current, keys.latest, keys.ledger, keys.epochs, keys.lost));
    if (find_older(seen->pointer, halt->sale, older)) {
        keys_name(&old, item, segment, older);
        keys_put_leftovers(&args, &old);
    }
    int count = args.count;
    store_put(&args,
              WORDS(seen->pointer, halt->sale, halt->why, seen->epochs ? seen->epochs : "*"));
    dlock_args_int(&args, halt->found);
    dlock_args_text(&args, halt->instance);
    dlock_args_int(&args, TERMS_KEPT_S);
    if (seen->lost)
        dlock_args_wire(&args, seen->lost->buf, seen->lost->len, seen->lost->count);
    return call(redis, &halt_script, count, &args, dlock_in_ms(WRITE_MS), pointer);
}

resume_status halt_lift(fs_store *store, const char *item, int segment, const char *expected,
                        const char *sale, dlock_time deadline)
{
    char pointer[POINTER_MAX + 1];
    sale_keys keys;
    char epoch[EPOCH_LEN + 1];
    keys_name(&keys, item, segment, sale);
    if (!epoch_make(epoch))
        return RESUME_UNAVAILABLE;
    dlock_args args =
        store_words(WORDS(keys.current, keys.cfg, keys.ledger, keys.epochs, keys.lost));
    store_put(&args, WORDS(expected, sale, epoch, segment == SEGMENT_NONE ? "1" : "0"));
    if (!call(store->redis, &resume_script, 5, &args, deadline, pointer))
        return RESUME_UNAVAILABLE;
    if (strcmp(pointer, "gone") == 0)
        return RESUME_GONE;
    return strcmp(pointer, sale) == 0 ? RESUME_OK : RESUME_UNAVAILABLE;
}

bool halt_latest(fs_store *store, const char *item, dlock_time deadline, char ret[IDENT_MAX + 1])
{
    sale_keys keys;
    redisReply *reply = NULL;
    keys_name(&keys, item, SEGMENT_NONE, "");
    bool good =
        store_command(store, deadline, WORDS("GET", keys.latest), &reply) == DLOCK_REDIS_OK &&
        reply->type == REDIS_REPLY_STRING && sale_id_ok(reply->str, reply->len);
    if (good)
        snprintf(ret, IDENT_MAX + 1, "%s", reply->str);
    freeReplyObject(reply);
    return good;
}
