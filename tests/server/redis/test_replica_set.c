/*
 * test_replica_set.c - who belongs to the set of replicas that could be promoted, look by look, and
 * which answers to ROLE show that all of them have a write. No server: time and answers are made.
 */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/redis/replica_set.h"

enum { RULE_MS = 10000 };

static replica_set set;
static replica_changes changes;
static dlock_time now;

static int setup(void **state)
{
    (void)state;
    replica_set_init(&set);
    now = dlock_now();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    replica_set_free(&set);
    return 0;
}

/* "a b-": a is in step, b is connected and behind. */
static replicas_seen seen_of(const char *words)
{
    replicas_seen seen = {.count = 0};
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
        replica_seen *one = &seen.of[seen.count++];
        int len = (int)strcspn(at, " -");
        snprintf(one->name, sizeof(one->name), "%.*s:1", len, at);
        one->in_step = at[len] != '-';
    }
    return seen;
}

/* "a b0 c! d+": b has priority 0, c is called lost, d fit. By sentinels that agree, whose primary
 * is p. */
static replica_claims claims_of(const char *words)
{
    replica_claims claims = {
        .by = PROMOTER_SENTINEL, .told = true, .sure = true, .rule_ms = RULE_MS, .primary = "p:1"};
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
        replica_claim *one = &claims.of[claims.count++];
        int len = (int)strcspn(at, " 0!+");
        snprintf(one->name, sizeof(one->name), "%.*s:1", len, at);
        one->barred = at[len] == '0';
        one->lost = at[len] == '!';
        one->fit = at[len] == '+';
    }
    return claims;
}

static void look_by(const char *seen, const replica_claims *claims, int after_ms)
{
    replicas_seen all = seen_of(seen);
    now.us += (int64_t)after_ms * 1000;
    replica_set_note(&set, &all, claims, now, &changes);
}

/* After so many ms, a look at both. */
static void look(const char *seen, const char *claims, int after_ms)
{
    replica_claims told = claims_of(claims);
    look_by(seen, &told, after_ms);
}

static void assert_missing(const char *names)
{
    char said[512];
    replica_set_name_missing(&set, now, said, sizeof(said));
    assert_int_equal(atomic_load(&set.missing), names[0] != '\0');
    if (names[0] == '\0' ? said[0] != '\0' : !strstr(said, names))
        fail_msg("missing: %s; expected %s", said, names);
}

/* ---- the set --------------------------------------------------------------------------------- */

static void nothing_is_known_before_somebody_told(void **state)
{
    (void)state;
    replica_claims silent = {.by = PROMOTER_SENTINEL};
    replica_claims minority = claims_of("a"), denied = silent;
    minority.sure = false;
    denied.untold = true;
    assert_true(atomic_load(&set.missing));
    look_by("a", &silent, 0);
    assert_missing("it is not known yet");
    look_by("a", &denied, 250);
    assert_missing("it is not known yet");
    look_by("a", &minority, 250); /* others may list more */
    assert_missing("it is not known yet");
    look("a", "a b", 250);
    assert_missing("b:1 (away for 0 s; may be promoted until away for 10 s)");
    look("a b", "a b", 250);
    assert_missing("");
    assert_int_equal(atomic_load(&set.in_step), 2);
}

static void a_lost_one_leaves_after_the_rules_time(void **state)
{
    (void)state;
    look("a b", "a b", 0);
    look("a", "a b!", 250);
    assert_missing("b:1");
    look("a", "a b!", RULE_MS);
    assert_missing("b:1 (away for 10 s");
    look("a", "a b!", 500);
    assert_missing("");
    assert_int_equal(changes.count, 1);
    assert_false(changes.of[0].joined);
    look("a b-", "a b", 250); /* back, and behind */
    assert_missing("");
    look("a b", "a b", 250);
    assert_int_equal(changes.count, 1);
    assert_true(changes.of[0].joined);
    look("a", "a b!", 250);
    assert_missing("b:1");
}

static void without_a_majority_nobody_leaves(void **state)
{
    (void)state;
    replica_claims minority = claims_of("a b");
    replica_claims silent = {.by = PROMOTER_SENTINEL, .primary = "p:1"};
    minority.sure = false;
    look("a b", "a b", 0);
    look("a", "a b", 100 * RULE_MS); /* they see it */
    assert_missing("until most sentinels see it down or unlinked for 10 s");
    look_by("a", &minority, 100 * RULE_MS);
    assert_missing("b:1");
    look_by("a", &silent, 100 * RULE_MS);
    assert_missing("b:1");
    minority.untold = true;
    minority.count = 0;
    look_by("a", &minority, 100 * RULE_MS);
    assert_missing("b:1");
}

static void priority_0_leaves_at_once_and_still_counts(void **state)
{
    (void)state;
    look("a b", "a b", 0);
    look("a b", "a b0", 250);
    assert_int_equal(atomic_load(&set.in_step), 2);
    look("a", "a b0", 250);
    assert_missing("");
    look("a", "a b", 250); /* it has a priority again */
    assert_missing("b:1");
}

static void one_that_is_barred_and_lost_does_not_come_back(void **state)
{
    (void)state;
    look("a b", "a b", 0);
    look("a", "a b0", 250);
    look("a", "a b!", 2 * RULE_MS);
    assert_missing("");
}

/* A single sentinel is enough, which may be cut off with it. */
static void one_that_is_fit_again_is_required_at_once(void **state)
{
    (void)state;
    replica_claims minority = claims_of("a b+");
    minority.sure = false;
    look("a b", "a b", 0);
    look("a", "a b!", 2 * RULE_MS);
    assert_missing("");
    look_by("a", &minority, 250);
    assert_missing("b:1");
    look("a b-", "a b+", 100 * RULE_MS);
    assert_missing("b:1");
    look("a b", "a b+", 250);
    assert_missing("");
    look("a b n-", "a b+ n+", 250); /* also one that never was in step */
    assert_missing("n:1");
}

static void a_forgotten_one_leaves(void **state)
{
    (void)state;
    look("a b", "a b", 0);
    look("a", "a", 1000);
    assert_missing("b:1"); /* the list may be older than its absence */
    look("a", "a", 2500);
    assert_missing("");
}

static void one_that_nobody_lists_is_not_required(void **state)
{
    (void)state;
    replica_claims silent = {.by = PROMOTER_SENTINEL};
    look_by("a s", &silent, 0);
    look("a s", "a", 250);
    look("a s-", "a", 3500);
    assert_missing("");
    look("a s", "a", 250);
    look("a", "a", 250);
    assert_missing("");
}

static void other_names_are_told(void **state)
{
    (void)state;
    look("10.0.0.2", "r2", 0);
    assert_missing("names differ (set replica-announce-ip, or sentinel announce-hostnames): r2:1");
    look("10.0.0.2", "r2! r3!", 2 * RULE_MS); /* it is there, and could not be told apart */
    assert_missing("names differ (set replica-announce-ip");
    look("r2", "r2 r3!", 250);
    assert_missing("");
}

static void what_is_cut_is_marked(void **state)
{
    (void)state;
    char said[60];
    look("", "a b", 0);
    replica_set_name_missing(&set, now, said, sizeof(said));
    assert_int_equal(strlen(said), sizeof(said) - 1);
    assert_string_equal(said + sizeof(said) - 4, "...");
}

/* a and b are in step by their acknowledgements; b's offset is this. */
static void look_at_offsets(int64_t primary, int64_t b, int after_ms)
{
    replica_claims claims = claims_of("a b!");
    replicas_seen seen = seen_of("a b");
    seen.offset = seen.of[0].offset = primary;
    seen.of[1].offset = b;
    now.us += (int64_t)after_ms * 1000;
    replica_set_note(&set, &seen, &claims, now, &changes);
}

static void a_paused_one_is_not_in_step(void **state)
{
    (void)state;
    look_at_offsets(100, 100, 0);
    look_at_offsets(100, 100, 60000); /* nothing is written */
    look_at_offsets(200, 100, 60000);
    assert_missing("");
    look_at_offsets(300, 100, 3000);
    assert_missing("");
    look_at_offsets(300, 100, 250);
    assert_missing("b:1 (paused?");
    look_at_offsets(300, 100, 100 * RULE_MS); /* its link is up, so it may be promoted */
    assert_missing("b:1 (paused?");
    assert_int_equal(atomic_load(&set.in_step), 1);
    look_at_offsets(400, 200, 250); /* it is behind, and comes on */
    assert_missing("");
    look_at_offsets(500, -1, 60000); /* not told */
    assert_missing("");
}

static void a_new_one_joins_when_it_is_in_step(void **state)
{
    (void)state;
    look("a", "a", 0);
    look("a n-", "a", 250);
    look("a n-", "a n", 250);
    assert_missing("");
    look("a n", "a n", 250);
    look("a", "a n", 250);
    assert_missing("n:1");
}

/* All wait for the primary before, also sentinels that do not list it yet. */
static void after_a_failover_the_primary_before_is_required(void **state)
{
    (void)state;
    replica_claims claims = claims_of("b");
    look("a b", "a b", 0);
    snprintf(claims.primary, sizeof(claims.primary), "a:1");
    look_by("b", &claims, 250);
    assert_missing("p:1");
    claims = claims_of("b p!");
    snprintf(claims.primary, sizeof(claims.primary), "a:1");
    look_by("b", &claims, 5000);
    assert_missing("p:1");
    look_by("b p", &claims, 250);
    assert_missing("");
}

static void where_nobody_promotes_who_is_in_step_counts(void **state)
{
    (void)state;
    replica_claims none = {.by = PROMOTER_NONE};
    look_by("", &none, 0);
    assert_missing("");
    assert_int_equal(atomic_load(&set.in_step), 0);
    look_by("a b", &none, 250);
    look_by("a- b", &none, 250);
    assert_missing("");
    assert_int_equal(atomic_load(&set.in_step), 1);
}

static void too_many_are_missing(void **state)
{
    (void)state;
    replica_claims claims = claims_of("a");
    claims.more = true;
    look_by("a", &claims, 0);
    assert_missing("of more than 32 replicas");
    look("a", "a", 250);
    assert_missing("");
    replica_set_forget(&set);
    assert_true(atomic_load(&set.missing));
}

/* ---- ROLE ------------------------------------------------------------------------------------ */

static redisReply *parse(const char *wire)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static size_t put_text(char *to, size_t len, const char *text)
{
    return (size_t)snprintf(to, len, "$%zu\r\n%s\r\n", strlen(text), text);
}

/* "a=5 b=7": with these offsets. */
static bool followed(int acknowledged, const char *kind, const char *list)
{
    char wire[2048], rest[2048] = "";
    size_t len = 0;
    int count = 0;
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ', count++) {
        char host[64], offset[32];
        int host_len = (int)strcspn(at, "=");
        snprintf(host, sizeof(host), "%.*s", host_len, at);
        snprintf(offset, sizeof(offset), "%.*s", (int)strcspn(at + host_len + 1, " "),
                 at + host_len + 1);
        len += (size_t)snprintf(rest + len, sizeof(rest) - len, "*3\r\n");
        len += put_text(rest + len, sizeof(rest) - len, host);
        len += put_text(rest + len, sizeof(rest) - len, "1");
        len += put_text(rest + len, sizeof(rest) - len, offset);
    }
    snprintf(wire, sizeof(wire), "*3\r\n$%zu\r\n%s\r\n:9\r\n*%d\r\n%s", strlen(kind), kind, count,
             rest);
    redisReply *role = parse(wire);
    bool good = replica_set_followed(&set, acknowledged, role);
    freeReplyObject(role);
    return good;
}

static void only_the_required_ones_count(void **state)
{
    (void)state;
    look("a b", "a b", 0);
    assert_true(followed(2, "master", "a=9 b=9"));
    assert_true(followed(2, "master", "b=7 a=9"));
    assert_false(followed(2, "slave", "a=9 b=9"));
    assert_false(followed(1, "master", "b=9"));         /* a was promoted */
    assert_false(followed(2, "master", "b=9 n=9"));     /* n has come in its place */
    assert_false(followed(2, "master", "a=7 b=9 n=9")); /* n has acknowledged in a's place */
    assert_false(followed(2, "master", "a=9 b=9 n=7")); /* who is new may be promoted, too */
    assert_true(followed(3, "master", "a=9 b=9 n=7"));
    assert_true(followed(2, "master", "A=9 B=9"));
}

static void who_only_reads_the_stream_is_no_replica(void **state)
{
    (void)state;
    look("a", "a", 0);
    redisReply *role = parse("*3\r\n$6\r\nmaster\r\n:9\r\n*2\r\n"
                             "*3\r\n$1\r\ns\r\n$1\r\n0\r\n$1\r\n0\r\n"
                             "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n9\r\n");
    assert_true(replica_set_followed(&set, 1, role));
    freeReplyObject(role);
}

static void who_has_left_neither_counts_nor_hinders(void **state)
{
    (void)state;
    look("a b", "a b0", 0);
    assert_true(followed(1, "master", "a=9"));
    assert_true(followed(1, "master", "a=9 b=7"));
    assert_false(followed(1, "master", "a=7 b=9"));
    assert_true(followed(2, "master", "a=7 b=9"));
    assert_false(followed(1, "master", "b=9"));
}

static void nothing_is_followed_before_a_look(void **state)
{
    (void)state;
    assert_false(followed(0, "master", ""));
    assert_false(followed(1, "master", "a=9"));
}

static void what_is_no_role_is_refused(void **state)
{
    (void)state;
    static const char *const wires[] = {
        "*1\r\n$6\r\nmaster\r\n",
        "*3\r\n$6\r\nmaster\r\n:1\r\n:1\r\n",
        "*3\r\n$6\r\nmaster\r\n:1\r\n*1\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n",
        "*3\r\n$6\r\nmaster\r\n:1\r\n*1\r\n*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nx\r\n",
        "*3\r\n:1\r\n:1\r\n*0\r\n",
        "+OK\r\n",
    };
    look("", "", 0);
    assert_true(followed(0, "master", ""));
    for (size_t i = 0; i < COUNT(wires); i++) {
        redisReply *role = parse(wires[i]);
        assert_false(replica_set_followed(&set, 1, role));
        freeReplyObject(role);
    }
}

static void names_are_told_apart(void **state)
{
    (void)state;
    char name[REPLICA_NAME_LEN], host[300];
    assert_true(replica_name("::1", 6379, name));
    assert_string_equal(name, "[::1]:6379");
    assert_true(replica_name("redis-1.example", 6379, name));
    assert_string_equal(name, "redis-1.example:6379");
    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    assert_false(replica_name(host, 6379, name));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_known_before_somebody_told),
        CASE(a_lost_one_leaves_after_the_rules_time),
        CASE(without_a_majority_nobody_leaves),
        CASE(priority_0_leaves_at_once_and_still_counts),
        CASE(one_that_is_barred_and_lost_does_not_come_back),
        CASE(one_that_is_fit_again_is_required_at_once),
        CASE(a_forgotten_one_leaves),
        CASE(one_that_nobody_lists_is_not_required),
        CASE(other_names_are_told),
        CASE(what_is_cut_is_marked),
        CASE(a_paused_one_is_not_in_step),
        CASE(a_new_one_joins_when_it_is_in_step),
        CASE(after_a_failover_the_primary_before_is_required),
        CASE(where_nobody_promotes_who_is_in_step_counts),
        CASE(too_many_are_missing),
        CASE(only_the_required_ones_count),
        CASE(who_only_reads_the_stream_is_no_replica),
        CASE(who_has_left_neither_counts_nor_hinders),
        CASE(nothing_is_followed_before_a_look),
        CASE(what_is_no_role_is_refused),
        CASE(names_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
