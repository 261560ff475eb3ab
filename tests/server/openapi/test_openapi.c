/*
 * test_openapi.c - openapi.json is sound, and says what instances answer: everything that it
 * documents comes from a real instance, and everything that is answered meanwhile is documented.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_request.h"
#include "server/strategies/registry.h"
#include "tests/server/openapi/provoke.h"
#include "tests/server/openapi/schema.h"

/* What no test can bring about. */
static const walk_excuse excuses[] = {
    {"out_of_memory",
     "no memory for an answer of a few kilobytes ends the rest of the machine too"},
    {"no_random_bits", "the kernel has none before it has booted only"},
    {NULL, NULL},
};

static int setup(void **state)
{
    fx.plan = (fx_plan){.instances = 1, .one_server = true};
    setenv("FLASHSALE_DEMO", "yes", 1); /* of all instances: one without has an endpoint less */
    int status = fx_service_start(state);
    walk_begin(fx.server[0]);
    return status;
}

static int teardown(void **state)
{
    walk_end();
    return fx_service_stop(state);
}

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* ---- the document ---------------------------------------------------------------------------- */

/* Every $ref leads somewhere; its target is noted in `used`. */
static void follow_all(const cJSON *node, cJSON *used)
{
    const cJSON *each;
    const char *ref = cJSON_GetStringValue(get(node, "$ref"));
    if (ref && !schema_follow(document, node))
        fail_msg("%s leads nowhere", ref);
    if (ref && !get(used, ref))
        cJSON_AddTrueToObject(used, ref);
    cJSON_ArrayForEach(each, node)
        follow_all(each, used);
}

static void every_reference_leads_somewhere_and_nothing_is_left_over(void **state)
{
    (void)state;
    const cJSON *kind, *each;
    cJSON *used = cJSON_CreateObject();
    follow_all(document, used);
    cJSON_ArrayForEach(kind, get(document, "components")) {
        cJSON_ArrayForEach(each, kind) {
            char ref[192];
            snprintf(ref, sizeof(ref), "#/components/%s/%s", kind->string, each->string);
            if (strcmp(kind->string, "securitySchemes") != 0 && !get(used, ref))
                fail_msg("nothing uses %s", ref);
        }
    }
    cJSON_Delete(used);
}

/* Examples are as their schema says, whose keywords are known, wherever they stand. */
static void check_schemas(const cJSON *node)
{
    char err[1536] = "";
    const cJSON *each, *schema = get(node, "schema"), *example = get(node, "example");
    if (schema && !schema_is_known(schema, err, sizeof(err)))
        fail_msg("%s: %s", node->string, err);
    if (schema && example && !schema_accepts(document, schema, example, err, sizeof(err)))
        fail_msg("%s: the example: %s", node->string ? node->string : "", err);
    cJSON_ArrayForEach(each, node)
        check_schemas(each);
}

static void examples_are_as_their_schemas_say(void **state)
{
    (void)state;
    char err[512] = "";
    const cJSON *each;
    check_schemas(document);
    cJSON_ArrayForEach(each, get(get(document, "components"), "schemas")) {
        if (!schema_is_known(each, err, sizeof(err)))
            fail_msg("%s: %s", each->string, err);
    }
}

/* A name of its own, a summary, a tag that is explained; each answer has a description. */
static void check_operation(const cJSON *path, const cJSON *operation, cJSON *ids)
{
    const cJSON *each;
    const char *id = cJSON_GetStringValue(get(operation, "operationId"));
    if (!id || get(ids, id) || !get(operation, "summary"))
        fail_msg("%s %s has no name of its own, or no summary", operation->string, path->string);
    cJSON_AddTrueToObject(ids, id);
    assert_true(cJSON_GetArraySize(get(operation, "responses")) > 0);
    cJSON_ArrayForEach(each, get(operation, "responses")) {
        if (!get(schema_follow(document, each), "description"))
            fail_msg("%s %s: %s has no description", id, path->string, each->string);
    }
    if (strchr(path->string, '{') && !get(operation, "parameters"))
        fail_msg("%s does not say what stands in its path", id);
    if (strcmp(operation->string, "head") != 0 &&
        (get(operation, "security") != NULL) != (get(get(operation, "responses"), "401") != NULL))
        fail_msg("%s: who needs a token is told so by 401, and nobody else", id);
}

/* Both take the same, of the same people. */
static void compare_with_head(const cJSON *path)
{
    static const char *const same[] = {"parameters", "security"};
    for (size_t i = 0; i < COUNT(same); i++) {
        const cJSON *of_get = get(get(path, "get"), same[i]);
        const cJSON *of_head = get(get(path, "head"), same[i]);
        if ((of_get || of_head) && !cJSON_Compare(of_get, of_head, true))
            fail_msg("%s: HEAD has other %s than GET", path->string, same[i]);
    }
}

static void every_operation_is_told_from_the_others(void **state)
{
    (void)state;
    const cJSON *path, *operation;
    cJSON *ids = cJSON_CreateObject();
    assert_string_equal(get(document, "openapi")->valuestring, "3.1.0");
    assert_string_equal(get(get(document, "info"), "version")->valuestring, FLASHSALE_VERSION);
    cJSON_ArrayForEach(path, get(document, "paths")) {
        cJSON_ArrayForEach(operation, path)
            check_operation(path, operation, ids);
        if (get(path, "get") && !get(path, "head"))
            fail_msg("%s has GET and no HEAD", path->string);
        compare_with_head(path);
    }
    cJSON_Delete(ids);
}

/* The members of a sale, their limits and strategies are those of the program. */
static void limits_are_the_program_s(void **state)
{
    (void)state;
    const cJSON *each, *schemas = get(get(document, "components"), "schemas");
    int limits = 0, names = 0;
    cJSON_ArrayForEach(each, get(get(schemas, "SaleRequest"), "properties")) {
        int64_t least, most;
        if (!get(each, "minimum"))
            continue;
        assert_true(sale_request_limits(each->string, &least, &most));
        assert_int_equal((int64_t)get(each, "minimum")->valuedouble, least);
        assert_int_equal((int64_t)get(each, "maximum")->valuedouble, most);
        limits++;
    }
    assert_int_equal(limits, 8);
    cJSON_ArrayForEach(each, get(get(schemas, "StrategyName"), "enum")) {
        if (!strategy_find(each->valuestring))
            fail_msg("there is no strategy %s", each->valuestring);
        names++;
    }
    for (const fs_strategy *const *s = strategy_list(); *s; s++)
        names--;
    assert_int_equal(names, 0);
}

/* Sends so many letters; whether they are refused with this code. */
static bool is_too_long(const char *request, int len, const char *code)
{
    char letters[256], member[64];
    fx_reply reply;
    memset(letters, 'a', sizeof(letters));
    fx_ask(fx.server[0], &reply, "%s%.*s", request, len, letters);
    snprintf(member, sizeof(member), "\"code\":\"%s\"", code);
    bool is = strstr(reply.body, member) != NULL;
    fx_reply_free(&reply);
    return is;
}

/* The longest that a pattern takes, the program takes too, and nothing longer. */
static void lengths_are_the_program_s(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *request, *code;
    } names[] = {
        {"Identifier", "GET /stock?item=", "bad_item"},
        {"Identifier", "GET /orders/k1?item=P0001&sale=", "bad_sale"},
        {"Identifier", "POST /buy?item=P0001&user=u&request=", "bad_request_id"},
        {"User", "POST /buy?item=P0001&user=", "bad_user"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        const cJSON *schema = get(get(get(document, "components"), "schemas"), names[i].schema);
        const char *most = strrchr(get(schema, "pattern")->valuestring, ',');
        assert_non_null(most);
        int len = (int)strtol(most + 1, NULL, 10);
        assert_in_range(len, 2, 200);
        if (is_too_long(names[i].request, len, names[i].code) ||
            !is_too_long(names[i].request, len + 1, names[i].code))
            fail_msg("%s... takes another length than %d", names[i].request, len);
    }
}

/* The terms of a sale of which only so much was said. */
static cJSON *start_plainly(const char *more)
{
    cJSON *terms =
        cJSON_Parse(fx_expect(fx.server[0], 201, "POST /sales {'item':'Plain','stock':9%s}", more));
    assert_non_null(terms);
    return terms;
}

/* What is not said is as the document has it; what has to be said is not guessed. */
static void defaults_are_the_program_s(void **state)
{
    (void)state;
    int defaults = 0;
    const cJSON *each, *schema = get(get(get(document, "components"), "schemas"), "SaleRequest");
    cJSON *plain = start_plainly(""), *sharded = start_plainly(",'strategy':'sharded'");
    cJSON_ArrayForEach(each, get(schema, "properties")) {
        const cJSON *says = get(each, "default");
        const cJSON *terms = strcmp(each->string, "segments") == 0 ? sharded : plain;
        if (says && !cJSON_Compare(says, get(terms, each->string), true))
            fail_msg("%s has another default", each->string);
        defaults += says != NULL;
    }
    assert_int_equal(defaults, 6);
    cJSON_Delete(plain);
    cJSON_Delete(sharded);
    assert_int_equal(cJSON_GetArraySize(get(schema, "required")), 2);
    fx_refused(fx.server[0], 400, NULL, "POST /sales {'item':'Plain'}");
    fx_refused(fx.server[0], 400, NULL, "POST /sales {'stock':9}");
}

/* ---- the walk -------------------------------------------------------------------------------- */

#define LENGTH "Content-Length: 0\r\n"
#define REST                                                                                       \
    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"                               \
    "Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; x\r\n"           \
    "Connection: close\r\n"
#define HEADERS LENGTH REST
#define STREAM  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" REST
#define JSON    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" HEADERS
#define PROBLEM "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\n" HEADERS
#define PLAIN   "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n" HEADERS
#define CLOSED                                                                                     \
    "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,\"code\":\"%s\",\"detail\":"  \
    "\"x\"%s}"

/* Answers that no instance gives, and which the document must not take for its own. */
static void what_is_not_documented_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
        const char *headers, *code, *more;
        bool ok;
    } answers[] = {
        {"POST", "/buy", 409, PROBLEM "\r\n", "sale_closed", "", true},
        {"POST", "/buy", 409, PROBLEM "\r\n", "sale_closed", ",\"sale\":\"a\"", false},
        {"POST", "/buy", 409, PROBLEM "\r\n", "sold_out", "", false},
        {"POST", "/buy", 409, PROBLEM "\r\n", "sold_out", ",\"sale\":\"a\",\"request\":\"b\"",
         true},
        {"POST", "/buy", 409, PROBLEM "\r\n", "sold_out",
         ",\"reserved\":1,\"request\":\"b\",\"sale\":\"a\"", true},
        {"POST", "/buy", 409, PROBLEM "\r\n", "sale_gone", "", false},
        {"POST", "/orders/k1/cancel", 409, PROBLEM "\r\n", "order_sold",
         ",\"request\":\"b\",\"sale\":\"a\"", true},
        {"POST", "/orders/k1/confirm", 409, PROBLEM "\r\n", "order_sold",
         ",\"request\":\"b\",\"sale\":\"a\"", false},
        {"GET", "/orders/k1/cancel", 409, PROBLEM "\r\n", "order_sold",
         ",\"request\":\"b\",\"sale\":\"a\"", false},
        {"POST", "/buy", 409, PROBLEM "X-New: 1\r\n\r\n", "sale_closed", "", false},
        {"POST", "/buy", 409, JSON "\r\n", "sale_closed", "", false},
        {"POST", "/buy", 404, PROBLEM "\r\n", "no_such_item", "", false}, /* it says 409 */
        {"POST", "/buy", 410, PROBLEM "\r\n", "sale_closed", "", false},
        {"POST", "/buy?a=b", 409, PROBLEM "\r\n", "sale_closed", "", true},
        {"GET", "/buy", 409, PROBLEM "\r\n", "sale_closed", "", false},
        {"GET", "/livez", 200, PLAIN "\r\n", NULL, "alive\n", true},
        {"GET", "/livez", 200, PLAIN "\r\n", NULL, "dead\n", false},
        {"GET", "/dashboard?item=a", 200, STREAM "\r\n", NULL, "retry: 1\ndata: {}\n\n", true},
        {"GET", "/dashboard?item=a", 200, STREAM LENGTH "\r\n", NULL, "retry: 1\ndata: {}\n\n",
         false},
        {"GET", "/livez", 200, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" REST "\r\n", NULL,
         "alive\n", false},
        {"GET", "/livez", 200, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", NULL,
         "alive\n", false},
        {"HEAD", "/livez", 200, PLAIN "\r\n", NULL, "", true},
        {"HEAD", "/livez", 200, PLAIN "\r\n", NULL, "alive\n", false},
        {"HEAD", "/buy", 200, PLAIN "\r\n", NULL, "", false},
        {"GET", "/locks", 200, JSON "\r\n", NULL, "{\"locks\":[]}", true},
        {"GET", "/locks", 200, JSON "\r\n", NULL, "{\"locks\":[{}]}", false},
        {"GET", "/locks", 200, JSON "\r\n", NULL, "{\"locks\":[]", false},
    };
    for (size_t i = 0; i < COUNT(answers); i++) {
        char body[512], headers[1024], err[1536] = "";
        if (answers[i].code)
            snprintf(body, sizeof(body), CLOSED, answers[i].code, answers[i].more);
        else
            snprintf(body, sizeof(body), "%s", answers[i].more);
        snprintf(headers, sizeof(headers), "%s", answers[i].headers);
        fx_reply reply = {.status = answers[i].status, .headers = headers, .body = body};
        bool ok = walk_accepts(answers[i].method, answers[i].target, &reply, err, sizeof(err));
        if (ok != answers[i].ok)
            fail_msg("%zu: %s %s was %s", i, answers[i].target, body, ok ? "accepted" : err);
    }
    walk_forget();
}

static void all_that_is_documented_was_answered(void **state)
{
    (void)state;
    if (walk_missing(excuses) > 0)
        fail_msg("some of what is documented is never answered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_leads_somewhere_and_nothing_is_left_over),
        cmocka_unit_test(examples_are_as_their_schemas_say),
        cmocka_unit_test(every_operation_is_told_from_the_others),
        cmocka_unit_test(limits_are_the_program_s),
        cmocka_unit_test(lengths_are_the_program_s),
        cmocka_unit_test(defaults_are_the_program_s),
        cmocka_unit_test(what_is_not_documented_is_found),
        cmocka_unit_test(what_buyers_hear),
        cmocka_unit_test(who_reserves_hears),
        cmocka_unit_test(what_is_malformed_is_told_how),
        cmocka_unit_test(what_admins_hear),
        cmocka_unit_test(who_is_no_admin_hears),
        cmocka_unit_test(what_another_site_asks_is_refused),
        cmocka_unit_test(who_has_no_token_of_the_user_hears),
        cmocka_unit_test(who_is_in_a_hurry_hears),
        cmocka_unit_test(each_parameter_is_taken_where_it_is_documented),
        cmocka_unit_test(what_a_browser_has_is_not_sent_again),
        cmocka_unit_test(who_watches_hears_again_and_again),
        cmocka_unit_test(a_head_is_answered_without_a_body),
        cmocka_unit_test(what_can_not_be_read_is_refused),
        cmocka_unit_test(bodies_that_do_not_come_are_refused),
        cmocka_unit_test(heads_that_come_slowly_are_refused),
        cmocka_unit_test(who_finds_no_thread_hears),
        cmocka_unit_test(a_starting_instance_says_so),
        cmocka_unit_test(a_draining_instance_says_so),
        cmocka_unit_test(a_redis_that_is_away_is_named),
        cmocka_unit_test(a_redis_that_is_away_settles_nothing),
        cmocka_unit_test(a_redis_that_is_full_is_named),
        cmocka_unit_test(locks_that_are_away_are_no_trouble_of_redis),
        cmocka_unit_test(a_halt_that_can_not_be_read_is_said),
        cmocka_unit_test(a_redis_that_forgets_halts_its_sales),
        cmocka_unit_test(what_is_damaged_is_not_sold),
        cmocka_unit_test(another_version_is_not_read),
        cmocka_unit_test(a_redis_that_may_lose_orders_is_refused),
        cmocka_unit_test(an_order_that_no_replica_has_is_not_told),
        cmocka_unit_test(what_is_unanswered_is_unknown),
        cmocka_unit_test(what_is_settled_unanswered_is_unknown),
        cmocka_unit_test(odd_requests_get_documented_answers),
        cmocka_unit_test(all_that_is_documented_was_answered), /* the last: it needs the others */
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
