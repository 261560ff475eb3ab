/*
 * crawl.c - requests put together at random, reproducibly: methods, paths, parameters and bodies,
 * right and wrong. Whatever is answered must be documented.
 */
#include "tests/server/openapi/provoke.h"

#include <stdio.h>

enum { REQUESTS = 3000, SEED = 20261122 };

static unsigned long long random_state = SEED;

static unsigned next_random(void)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(random_state >> 33);
}

static const char *pick(const char *const *words, size_t count)
{
    return words[next_random() % count];
}
#define PICK(words) pick(words, COUNT(words))

static const char *const methods[] = {"GET",    "GET",   "GET",     "POST",     "POST", "HEAD",
                                      "DELETE", "PATCH", "OPTIONS", "PROPFIND", "PUT"};
static const char *const paths[] = {"/buy",
                                    "/buy",
                                    "/buy",
                                    "/stock",
                                    "/orders",
                                    "/orders/k1",
                                    "/orders/",
                                    "/orders/a.b",
                                    "/orders/k1/x",
                                    "/sales",
                                    "/orders/c1/confirm",
                                    "/orders/c1/cancel",
                                    "/orders//confirm",
                                    "/orders/confirm",
                                    "/orders/a.b/cancel",
                                    "/sales/resume",
                                    "/locks",
                                    "/strategies",
                                    "/livez",
                                    "/readyz",
                                    "/metrics",
                                    "/",
                                    "/openapi.json",
                                    "/nothing",
                                    "/buy/",
                                    "//buy",
                                    "/Buy",
                                    "/stock%00",
                                    "/page/",
                                    "/dashboard",
                                    "/favicon.ico"};
static const char *const params[] = {"item=Crawl&user=u1&request=c1",
                                     "item=Crawl&user=u2&request=c1",
                                     "item=Crawl&user=u3",
                                     "item=Crawl",
                                     "item=Crawl",
                                     "item=none",
                                     "item=",
                                     "item=%20",
                                     "item",
                                     "user=u1",
                                     "user=u+1",
                                     "user=%2B",
                                     "sale=zzz",
                                     "sale=000",
                                     "sale=%",
                                     "reserve_s=9",
                                     "reserve_s=0",
                                     "quantity=1",
                                     "quantity=0",
                                     "quantity=x",
                                     "request=c1",
                                     "request=c%201",
                                     "cursor=0.0",
                                     "cursor=9.9",
                                     "cursor=x",
                                     "after=0",
                                     "after=9-0123456789ab",
                                     "after=x",
                                     "segment=1",
                                     "limit=5",
                                     "nonsense=1",
                                     "&&",
                                     "=",
                                     "%zz=1"};
static const char *const bodies[] = {
    "",
    "",
    "",
    "{}",
    "[]",
    "null",
    "{'item':'Crawl','user':'u2'}",
    "{'item':'Crawl','user':'u2','quantity':1.5}",
    "{'item':'Crawl','user':'u2','reserve_s':1}",
    "{'item':'Crawl','stock':9,'per_user_limit':5,'reserve_max_s':9}",
    "{'item':'Crawl','stock':-1}",
    "{'item':'Crawl','stock':9,'strategy':'none','hold_ms':99999}",
    "{'item':'Crawl','sale':'x','lost_orders':1}",
    "{'item':{'a':1}}",
    "{'item':'Crawl','item':'Crawl'}",
    "item=Crawl&user=u1",
    "\x01\x02",
};

/* Up to two parameters behind the target. */
static void add_params(char *target, size_t len)
{
    for (unsigned more = next_random() % 3; more > 0; more--) {
        size_t have = strlen(target);
        snprintf(target + have, len - have, "%c%s", strchr(target, '?') ? '&' : '?', PICK(params));
    }
}

/* An operation as the document has it, or something else. */
static const char *put_target(char *target, size_t len)
{
    const document_operation *all = document_operations();
    size_t count = 0;
    while (all[count].method[0] != '\0')
        count++;
    const document_operation *one = &all[next_random() % count];
    bool right = next_random() % 2 == 0;
    snprintf(target, len, "%s", right ? one->target : PICK(paths));
    add_params(target, len);
    return right && next_random() % 2 == 0 ? one->method : PICK(methods);
}

void odd_requests_get_documented_answers(void **state)
{
    (void)state;
    int statuses[600] = {0}, kinds = 0;
    fx_start_sale(fx.server[0], "P0001", "'stock':20");
    fx_start_sale(fx.server[0], "Crawl", "'stock':20,'per_user_limit':5,'reserve_max_s':9");
    for (int i = 0; i < REQUESTS; i++) {
        char target[256];
        const char *method = put_target(target, sizeof(target)), *body = PICK(bodies);
        if (strcmp(method, "HEAD") == 0)
            body = ""; /* or libcurl would wait for the answer's */
        int status = fx_status(fx.server[0], "%s %s%s%s", method, target, body[0] ? " " : "", body);
        if (status == 0)
            fail_msg("%s %s %s: no answer", method, target, body);
        statuses[status]++;
    }
    for (int i = 0; i < 600; i++)
        kinds += statuses[i] > 0;
    assert_true(kinds >= 6); /* or too little was tried */
}
