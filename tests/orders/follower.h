/*
 * follower.h - flashsale-orders as a process, beside a service and a database (databases.h), and
 * whether the database then has what buyers were told.
 *
 *     listen_to_buyers();
 *     fx_process *follower = start_follower(NULL);
 *     ... buy ...
 *     expect_all_that_was_told(shop);
 *     assert_int_equal(stop_follower(follower), 0);
 */
#ifndef TESTS_ORDERS_FOLLOWER_H
#define TESTS_ORDERS_FOLLOWER_H

#include <pthread.h>
#include <signal.h>

#include "tests/orders/databases.h"
#include "tests/support/service.h"

enum { TOLD_MAX = 4096, OUTPUT_MAX = 32768, ORDERS_ARGS = 24 };

/* ---- what buyers were told ------------------------------------------------------------------- */

/* The members of a 201, as they stand in the database. */
typedef struct told_order {
    char item[72], sale[72], order[96], request[72], user[72], instance[72];
    long long quantity, remaining, fence, expires_us;
} told_order;

static char shop[32]; /* the case's item: the only one of which answers are kept */
static told_order told[TOLD_MAX];
static int told_count;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void keep_text(const cJSON *body, const char *name, char to[72])
{
    snprintf(to, 72, "%s", fx_json_text(body, name));
}

static inline void keep_told(const char *method, const char *target, const fx_reply *reply)
{
    if (strcmp(method, "POST") != 0 || strncmp(target, "/buy", 4) != 0 || reply->status != 201)
        return;
    cJSON *body = cJSON_Parse(reply->body);
    if (strcmp(fx_json_text(body, "item"), shop) != 0) {
        cJSON_Delete(body);
        return;
    }
    pthread_mutex_lock(&told_lock);
    assert_true(told_count < TOLD_MAX);
    told_order *to = &told[told_count++];
    *to = (told_order){.quantity = (long long)fx_json_number(body, "quantity"),
                       .remaining = (long long)fx_json_number(body, "remaining"),
                       .fence = (long long)fx_json_number(body, "fence")};
    if (cJSON_HasObjectItem(body, "expires_us"))
        to->expires_us = (long long)fx_json_number(body, "expires_us");
    snprintf(to->order, sizeof(to->order), "%s", fx_json_text(body, "order"));
    keep_text(body, "item", to->item);
    keep_text(body, "sale", to->sale);
    keep_text(body, "request", to->request);
    keep_text(body, "user", to->user);
    keep_text(body, "instance", to->instance);
    pthread_mutex_unlock(&told_lock);
    cJSON_Delete(body);
}

/* From now on what is told is kept; all before is forgotten. */
static inline void listen_to_buyers(void)
{
    told_count = 0;
    fx.saw = keep_told;
}

/* ---- the program ----------------------------------------------------------------------------- */

static char orders_out[OUTPUT_MAX], orders_err[OUTPUT_MAX]; /* of the last that has ended */

/* The URLs of all instances, or what a case has put there. */
static char orders_from[512];

static inline void name_instances(void)
{
    orders_from[0] = '\0';
    for (int i = 0; i < FX_INSTANCES && fx.server[i]; i++)
        snprintf(orders_from + strlen(orders_from), sizeof(orders_from) - strlen(orders_from),
                 "%s%s", i > 0 ? "," : "", fx_server_url(fx.server[i]));
}

/* Starts it with these words, ending with NULL; NULL: none. */
static inline fx_process *spawn_orders(const char *const *words)
{
    char path[512];
    const char *argv[ORDERS_ARGS + 1] = {fx_build_path("flashsale-orders", path, sizeof(path))};
    for (int i = 0; words && words[i]; i++) {
        assert_true(i + 2 < ORDERS_ARGS);
        argv[i + 1] = words[i];
    }
    return fx_spawn(argv, true);
}

/* Starts `command` from all instances to the case's database, with these words behind. */
static inline fx_process *start_orders(const char *command, const char *const *words)
{
    const char *all[ORDERS_ARGS] = {command, "--to", base.url};
    int count = 3;
    if (strcmp(command, "export") != 0) {
        all[count++] = "--from";
        all[count++] = orders_from;
    }
    for (; words && *words && count < ORDERS_ARGS - 1; words++)
        all[count++] = *words;
    return spawn_orders(all);
}

#define start_follower(words) start_orders("follow", words)

/* Waits for its end, keeps what it said, and frees it. */
static inline int end_orders(fx_process *process)
{
    int code = fx_process_wait(process, COPY_MS);
    snprintf(orders_out, sizeof(orders_out), "%s", fx_process_stdout(process));
    snprintf(orders_err, sizeof(orders_err), "%s", fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static inline int run_orders(const char *command, const char *const *words)
{
    return end_orders(start_orders(command, words));
}

/* SIGTERM: its exit code. */
static inline int stop_follower(fx_process *follower)
{
    fx_process_signal(follower, SIGTERM);
    return end_orders(follower);
}

typedef struct awaited_line {
    fx_process *process;
    const char *part;
} awaited_line;

static inline bool has_said(void *arg)
{
    awaited_line *line = arg;
    return strstr(fx_process_stderr(line->process), line->part) != NULL;
}

/* Waits until it has said this. */
static inline void await_line(fx_process *process, const char *part)
{
    if (!fx_wait_until(has_said, &(awaited_line){process, part}, COPY_MS))
        fail_msg("'%s' was not said, but: %s", part, fx_process_stderr(process));
}

static inline int count_of(const char *text, const char *part)
{
    int count = 0;
    while ((text = strstr(text, part)) != NULL) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* ---- what the database has ------------------------------------------------------------------- */

typedef struct awaited_number {
    const char *sql;
    long long number, seen;
} awaited_number;

/* The tables may not be there as yet, and the database may be away. */
static inline bool is_number(void *arg)
{
    awaited_number *wanted = arg;
    const char *rows = sql_try(wanted->sql);
    wanted->seen = rows ? strtoll(rows, NULL, 10) : -1;
    return wanted->seen == wanted->number;
}

static inline void await_number(long long number, const char *sql)
{
    awaited_number wanted = {sql, number, -1};
    if (!fx_wait_until(is_number, &wanted, COPY_MS))
        fail_msg("%s: %lld instead of %lld", sql, wanted.seen, number);
}

/* Waits until so many orders are there that are not lost. */
#define await_orders(count)                                                                        \
    await_number(count, "SELECT count(*) FROM flashsale_orders WHERE lost_us IS NULL")

/* Each order that a buyer was told is there, once, with all that it was told. */
static inline void expect_what_was_told(void)
{
    for (int i = 0; i < told_count; i++) {
        const told_order *o = &told[i];
        char expires[32] = "IS NULL";
        if (o->expires_us > 0)
            snprintf(expires, sizeof(expires), "= %lld", o->expires_us);
        if (sql_number("SELECT count(*) FROM flashsale_orders WHERE order_id = '%s'"
                       " AND item = '%s' AND sale = '%s' AND request = '%s' AND username = '%s'"
                       " AND instance = '%s' AND quantity = %lld AND remaining = %lld AND"
                       " fence = %lld AND expires_us %s",
                       o->order, o->item, o->sale, o->request, o->user, o->instance, o->quantity,
                       o->remaining, o->fence, expires) != 1)
            fail_msg("order %s of %s is not there once, as it was told", o->order, o->user);
    }
}

static inline int count_told(void)
{
    int count = 0;
    for (int i = 0; i < told_count; i++) {
        bool again = false;
        for (int k = 0; k < i && !again; k++)
            again = strcmp(told[k].order, told[i].order) == 0;
        count += !again;
    }
    return count;
}

/* `check` finds no difference. With `item`, about that one alone. */
static inline void expect_sound(const char *item)
{
    int code = run_orders("check", item ? FX_ARGS("--item", item) : NULL);
    if (code != 0 || !strstr(orders_out, "; 0 differences\n"))
        fail_msg("check: %d %s%s", code, orders_out, orders_err);
}

/* Waits for what buyers were told, and no more: no order is there that nobody was told, and the
 * database agrees with Redis. For cases in which each answer is known. */
static inline void expect_all_that_was_told(const char *item)
{
    await_orders(count_told());
    expect_what_was_told();
    expect_sound(item);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders WHERE lost_us IS NULL"),
                     count_told());
}

/* ---- selling --------------------------------------------------------------------------------- */

static int next_buyer;

/* An item of its own for each case, for the sales of all before are kept. */
static inline void open_shop(void)
{
    static int shops;
    snprintf(shop, sizeof(shop), "shop-%d", ++shops);
    next_buyer = 0;
    name_instances();
    listen_to_buyers();
}

/* Starts a sale of the case's item, in force everywhere. Its id, valid until the next. */
static inline const char *sell_here(const char *terms)
{
    static char id[64];
    snprintf(id, sizeof(id), "%s", fx_start_sale(fx.server[0], shop, "%s", terms));
    fx_wait_in_force(shop, id);
    return id;
}

/* So many buyers, at all instances in turn. */
static inline void sell_to(int buyers)
{
    for (int i = 0; i < buyers; i++, next_buyer++) {
        int instances = 0;
        while (instances < FX_INSTANCES && fx.server[instances])
            instances++;
        fx_expect(fx.server[next_buyer % instances], 201,
                  "POST /buy?item=%s&user=u%d@mail.example&request=%s-r%d&quantity=%d", shop,
                  next_buyer, shop, next_buyer, next_buyer % 3 + 1);
    }
}

#endif
