/* instances.c - the call to Redis, and the instances' states by its reply. */
#include "server/dashboard/instances.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/json.h"
#include "server/base/log.h"
#include "server/dashboard/heartbeat.lua.h"

#define KEY     "fs:{flashsale}:instances"
#define CALL_MS 1000          /* for the answer */
#define DOWN_MS 2500          /* an instance without a heartbeat for so long is down */
#define SET_MS  1250          /* a clock that is off by more, for slow answers too, was set */
#define KEPT_MS (10 * 60000L) /* ... and after so long is forgotten */

/* It replaces a few hundred bytes, a few thousand at most, so it may run when Redis is out of
 * memory. */
static dlock_script heartbeat = DLOCK_SCRIPT("heartbeat", "#!lua flags=allow-oom\n" HEARTBEAT_LUA);

void instances_init(instances *in, fs_store *store)
{
    memset(in, 0, sizeof(*in));
    in->store = store;
}

int64_t instances_now_ms(const instances *in)
{
    return node_redis_us(store_node(in->store, KEY), dlock_now()) / 1000;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The largest count in a record: sums of many records stay exact in JSON. */
#define NUMBER_MOST 10000000000000

static void name_form(char ret[32])
{
    snprintf(ret, 32, "1.%d.%d ", BUY_OUTCOMES, LATENCY_BUCKETS);
}

void record_add_feed(instance_record *record, const feed_told *feed)
{
    int least = 0;
    for (int i = 1; i < record->feed_count; i++)
        if (record->feeds[i].behind < record->feeds[least].behind)
            least = i;
    if (record->feed_count < FEEDS_TOLD)
        record->feeds[record->feed_count++] = *feed;
    else if (record->feeds[least].behind < feed->behind)
        record->feeds[least] = *feed;
}

void record_write(fs_text *out, const instance_record *record)
{
    char form[32];
    name_form(form);
    text_add_all(out, form, record->client);
    for (int i = 0; i < TOLD_NUMBERS; i++) {
        text_add(out, " ");
        text_add_int(out, record->numbers[i]);
    }
    for (int i = 0; i < record->feed_count; i++) {
        const feed_told *feed = &record->feeds[i];
        text_printf(out, " %s %s %lld %lld %lld", feed->item, feed->sale, (long long)feed->orders,
                    (long long)feed->behind, (long long)feed->asked_us);
    }
}

static bool read_feeds(const char *at, instance_record *ret)
{
    const char *end = at + strlen(at);
    bool good = *at == ' ';
    ret->feed_count = 0;
    if (!good)
        return at == end;
    for (at++; good && (at < end || ret->feed_count == 0);) {
        feed_told feed;
        good = text_take_word(&at, end, feed.item, sizeof(feed.item)) &&
               ident_ok(feed.item, strlen(feed.item)) &&
               text_take_word(&at, end, feed.sale, sizeof(feed.sale)) &&
               text_take_number(&at, end, &feed.orders) && feed.orders <= JSON_INT_MAX &&
               text_take_number(&at, end, &feed.behind) && feed.behind <= JSON_INT_MAX &&
               text_take_number(&at, end, &feed.asked_us) && feed.asked_us <= JSON_INT_MAX;
        if (good)
            record_add_feed(ret, &feed);
    }
    return good;
}

bool record_read(const char *text, instance_record *ret)
{
    char form[32];
    name_form(form);
    if (strncmp(text, form, strlen(form)) != 0)
        return false;
    const char *at = text + strlen(form);
    size_t len = strcspn(at, " ");
    if (len == 0 || len >= sizeof(ret->client))
        return false;
    snprintf(ret->client, sizeof(ret->client), "%.*s", (int)len, at);
    for (int i = 0; i < TOLD_NUMBERS; i++) {
        at += len;
        if (*at++ != ' ')
            return false;
        len = strcspn(at, " ");
        if (!decimal_read(at, len, &ret->numbers[i]) || ret->numbers[i] > NUMBER_MOST)
            return false;
    }
    return read_feeds(at + len, ret);
}

/* ---- what is known of each ------------------------------------------------------------------- */

/* The one of that name, perhaps a new one, for which the one is forgotten that has been down for
 * the longest, and since before then. NULL: there are too many. */
static instance *find_or_add(instances *in, const char *name, int64_t told_ms)
{
    instance *oldest = NULL;
    for (int i = 0; i < in->count; i++) {
        instance *one = &in->all[i];
        if (strcmp(one->name, name) == 0)
            return one;
        if (one->state == INSTANCE_DOWN && one->told_ms < (oldest ? oldest->told_ms : told_ms))
            oldest = one;
    }
    instance *added = in->count < INSTANCES_MAX ? &in->all[in->count++] : oldest;
    if (!added)
        return NULL;
    *added = (instance){.state = INSTANCE_DOWN}; /* until its record is seen to be recent */
    snprintf(added->name, sizeof(added->name), "%s", name);
    return added;
}

/* Adds what the same process has done since its last record to the minute. */
static instance *take(instances *in, const char *name, int64_t told_ms,
                      const instance_record *record)
{
    instance *one = find_or_add(in, name, told_ms);
    if (!one || told_ms == one->told_ms)
        return one;
    if (strcmp(one->record.client, record->client) == 0)
        minute_add(&in->minute, one->told_ms, &one->record.numbers[TOLD_COUNTS], told_ms,
                   &record->numbers[TOLD_COUNTS]);
    one->told_ms = told_ms;
    one->record = *record;
    return one;
}

static instance_state state_told(const instance_record *record)
{
    return record->numbers[TOLD_DRAINING] != 0 ? INSTANCE_DRAINING : INSTANCE_UP;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const instance *)a)->name, ((const instance *)b)->name);
}

/* After an outage of Redis an instance gets time for a heartbeat before it counts as down. A record
 * with a time in the future is from before the clock was set, so it counts as old. */
static instance_state judge(const instances *in, const instance *one)
{
    if (llabs(in->heard_ms - one->told_ms) <= DOWN_MS)
        return state_told(&one->record);
    return in->heard_ms - in->since_ms <= DOWN_MS ? one->state : INSTANCE_DOWN;
}

static void judge_all(instances *in)
{
    int kept = 0;
    for (int i = 0; i < in->count; i++) {
        in->all[i].state = judge(in, &in->all[i]);
        if (llabs(in->heard_ms - in->all[i].told_ms) <= KEPT_MS)
            in->all[kept++] = in->all[i];
    }
    in->count = kept;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Logs a refusal (a missing right, a key of another type) once, and its end. */
static void note_refusal(instances *in, const char *words)
{
    if (words && !in->refused)
        log_event(LOG_WARN, "instances_unknown", "detail", words, NULL);
    else if (!words && in->refused)
        log_event(LOG_INFO, "instances_known", NULL);
    in->refused = words;
}

/* A number, and pairs of texts. */
static bool is_heard(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements % 2 == 1 &&
           store_is_number(reply->element[0]) && store_all_are(reply, 1, REDIS_REPLY_STRING);
}

/* The reply, which may be a refusal, is the caller's. True: it is the instances. */
static bool call(const instances *in, const instance_record *mine, redisReply **ret)
{
    dlock_args args;
    fs_text text;
    text_init(&text);
    record_write(&text, mine);
    dlock_args_init(&args);
    store_put(&args, WORDS(KEY, in->store->instance, text_bytes(&text)));
    dlock_args_int(&args, KEPT_MS);
    dlock_redis_outcome outcome =
        dlock_redis_eval(in->store->telling, &heartbeat, 1, &args, dlock_in_ms(CALL_MS), ret);
    dlock_args_free(&args);
    text_free(&text);
    return outcome == DLOCK_REDIS_OK &&
           dlock_redis_check(in->store->telling, heartbeat.name, *ret, is_heard(*ret));
}

/* Redis's time by its answer. When its clock was set, or that of another server is asked now, the
 * times of the records say nothing until all have told of themselves again; and seconds that come
 * for the second time are not added to what the minute has of them. */
static void take_time(instances *in, int64_t now_ms)
{
    dlock_time now = dlock_now();
    int64_t set_ms = now_ms - in->heard_ms - (now.us - in->heard_at.us) / 1000;
    if (!in->heard || llabs(set_ms) > SET_MS)
        in->since_ms = now_ms;
    if (set_ms < -SET_MS)
        memset(&in->minute, 0, sizeof(in->minute));
    in->heard_ms = now_ms;
    in->heard_at = now;
}

static void hear(instances *in, const redisReply *reply)
{
    take_time(in, reply->element[0]->integer);
    for (size_t i = 1; i + 1 < reply->elements; i += 2) {
        instance_record record;
        const char *name = reply->element[i]->str, *value = reply->element[i + 1]->str;
        int64_t told_ms;
        size_t digits = strcspn(value, " ");
        if (ident_ok(name, reply->element[i]->len) && value[digits] == ' ' &&
            decimal_read(value, digits, &told_ms) && record_read(value + digits + 1, &record))
            take(in, name, told_ms, &record);
    }
    judge_all(in);
}

static void take_mine(instances *in, const instance_record *mine)
{
    if (!atomic_load(&store_node(in->store, KEY)->clock.known))
        return;
    instance *me = take(in, in->store->instance, instances_now_ms(in), mine);
    if (me)
        me->state = state_told(mine);
}

bool instances_call(instances *in, const instance_record *mine)
{
    bool watched = false;
    redisReply *reply = NULL;
    bool heard = node_reachable(store_node(in->store, KEY)) && call(in, mine, &reply);
    if (heard)
        hear(in, reply);
    else
        take_mine(in, mine);
    qsort(in->all, (size_t)in->count, sizeof(in->all[0]), by_name);
    in->heard = heard;
    if (reply)
        note_refusal(in, heard ? NULL : reply->str);
    freeReplyObject(reply);
    for (int i = 0; i < in->count; i++)
        watched = watched || (in->all[i].record.numbers[TOLD_WATCHED] != 0 &&
                              in->all[i].state != INSTANCE_DOWN);
    return watched;
}

const feed_told *instances_feed(const instances *in, const char *item, const char *sale)
{
    const feed_told *found = NULL;
    int64_t since_us = (instances_now_ms(in) - FEED_SHOWN_MS) * 1000;
    for (int i = 0; i < in->count; i++)
        for (int k = 0; k < in->all[i].record.feed_count; k++) {
            const feed_told *feed = &in->all[i].record.feeds[k];
            if (strcmp(feed->item, item) == 0 && strcmp(feed->sale, sale) == 0 &&
                feed->asked_us >= (found ? found->asked_us : since_us))
                found = feed;
        }
    return found;
}

const char *instances_owner(const instances *in, const char *owner)
{
    for (int i = 0; i < in->count; i++) {
        const char *client = in->all[i].record.client;
        size_t len = strlen(client);
        if (strncmp(owner, client, len) == 0 && owner[len] == ':')
            return in->all[i].name;
    }
    return "";
}
