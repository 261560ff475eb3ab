/* test_replication.c - INFO replication and CLUSTER NODES, as servers write them and as they do
 * not. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/store/replication.h"

static replicas_seen seen_in(char *text)
{
    replicas_seen seen;
    redisReply reply = {.type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
    replication_read_info(&reply, &seen);
    return seen;
}

static void each_replica_of_info_is_read(void **state)
{
    (void)state;
    char text[] = "# Replication\r\nrole:master\r\nconnected_slaves:5\r\n"
                  "slave0:ip=127.0.0.1,port=6380,state=online,offset=9,lag=0\r\n"
                  "slave1:ip=::1,port=6381,state=online,offset=9,lag=4\r\n"
                  "slave2:ip=r.example,port=6382,state=wait_bgsave,offset=0,lag=0,type=x\r\n"
                  "slave3:ip=::1,port=6383,state=online,offset=9,lag=3\r\n"
                  "slave4:ip=127.0.0.1,port=0,state=online,offset=0,lag=0\r\n" /* --replica */
                  "master_failover_state:no-failover\r\nmaster_repl_offset:12\r\n"
                  "slave_read_only:1\r\n";
    replicas_seen seen = seen_in(text);
    static const struct {
        const char *name;
        bool in_step;
    } expected[] = {{"127.0.0.1:6380", true},
                    {"[::1]:6381", false},
                    {"r.example:6382", false},
                    {"[::1]:6383", true}};
    assert_int_equal(seen.count, 4);
    assert_false(seen.more);
    assert_int_equal(seen.in_step, 2);
    assert_int_equal(seen.offset, 12);
    assert_int_equal(seen.of[0].offset, 9);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(seen.of[i].name, expected[i].name);
        assert_int_equal(seen.of[i].in_step, expected[i].in_step);
    }
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    char text[8192] = "role:master\r\n", host[301];
    size_t len = strlen(text);
    for (int i = 0; i <= REPLICA_SET_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "slave%d:ip=h,port=%d,state=online,offset=1,lag=0\r\n", i, i + 1);
    replicas_seen seen = seen_in(text);
    assert_true(seen.more);
    assert_int_equal(seen.count, REPLICA_SET_MAX);
    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    snprintf(text, sizeof(text), "x\r\nslave0:ip=%s,port=1,state=online,offset=1,lag=0\r\n", host);
    seen = seen_in(text);
    assert_true(seen.more);
    assert_int_equal(seen.count, 0);
}

static replica_claims claims_in(char *text, const redisReply *settings)
{
    replica_claims claims;
    redisReply reply = {.type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
    replication_read_nodes(&reply, settings, &claims);
    return claims;
}

static void my_replicas_are_found_in_a_cluster(void **state)
{
    (void)state;
    char text[] = "aa 127.0.0.1:7003@17003,r3.example slave me 0 1 1 connected\n"
                  "bb ::1:7004@17004 slave,fail me 0 1 1 disconnected\n"
                  "cc 127.0.0.1:7005@17005 slave,nofailover me 0 1 1 connected\n"
                  "dd 127.0.0.1:7006@17006 slave other 0 1 1 connected\n"
                  "ee :0@0 slave,noaddr me 0 1 1 disconnected\n"
                  "me 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460\n"
                  "other 127.0.0.1:7001@17001 master - 0 0 1 connected 5461-10922\n";
    replica_claims claims = claims_in(text, NULL);
    assert_true(claims.told);
    assert_int_equal(claims.by, PROMOTER_CLUSTER);
    assert_string_equal(claims.primary, "127.0.0.1:7000");
    assert_int_equal(claims.count, 3);
    assert_string_equal(claims.of[0].name, "127.0.0.1:7003");
    assert_string_equal(claims.of[1].name, "[::1]:7004");
    assert_string_equal(claims.of[2].name, "127.0.0.1:7005");
    assert_false(claims.of[0].barred || claims.of[1].barred);
    assert_true(claims.of[2].barred);
    assert_int_equal(claims.rule_ms, 0); /* the settings are not told: it may be any time */
}

static void ports_are_from_1_to_65535(void **state)
{
    (void)state;
    char text[] = "a h:1@1 slave me 0 1 1 connected\nb h:65535@1 slave me 0 1 1 connected\n"
                  "c h:0@1 slave me 0 1 1 connected\nd h:65536@1 slave me 0 1 1 connected\n"
                  "e h:-1@1 slave me 0 1 1 connected\n"
                  "me h:7000@1 myself,master - 0 0 1 connected";
    replica_claims claims = claims_in(text, NULL);
    assert_true(claims.told);
    assert_false(claims.more);
    assert_int_equal(claims.count, 2);
    assert_string_equal(claims.of[0].name, "h:1");
    assert_string_equal(claims.of[1].name, "h:65535");
}

static void as_many_claims_are_kept_as_there_is_room_for(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char text[8192] = "me h:7000@1 myself,master - 0 0 1 connected\n";
        size_t len = strlen(text);
        for (int i = 1; i <= REPLICA_SET_MAX + more; i++)
            len += (size_t)snprintf(text + len, sizeof(text) - len,
                                    "r%d h:%d@1 slave me 0 1 1 connected\n", i, i);
        replica_claims claims = claims_in(text, NULL);
        assert_int_equal(claims.count, REPLICA_SET_MAX);
        assert_int_equal(claims.more, more);
    }
}

static redisReply word(char *text)
{
    return (redisReply){.type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
}

static void the_settings_give_the_rule(void **state)
{
    (void)state;
    char text[] = "me 127.0.0.1:7000@17000 myself,master - 0 0 1 connected\n";
    char factor[] = "cluster-replica-validity-factor", timeout[] = "cluster-node-timeout";
    char two[] = "2", thousand[] = "1000", zero[] = "0";
    redisReply words[] = {word(factor), word(two), word(timeout), word(thousand)};
    redisReply *elements[] = {&words[0], &words[1], &words[2], &words[3]};
    redisReply settings = {.type = REDIS_REPLY_ARRAY, .elements = 4, .element = elements};
    assert_int_equal(claims_in(text, &settings).rule_ms, 60000 + 10000 + 3000);
    words[1] = word(zero);
    assert_int_equal(claims_in(text, &settings).rule_ms, 0);
    char link[] = "repl-timeout", five[] = "5";
    words[0] = word(link);
    words[1] = word(five);
    assert_int_equal(claims_in(text, &settings).rule_ms, 5000 + 10000 + 11000);
    settings.elements = 0; /* Redis's defaults */
    assert_int_equal(claims_in(text, &settings).rule_ms, 235000);
}

static void who_may_not_ask_is_told_nothing(void **state)
{
    (void)state;
    char refusal[] = "NOPERM", strange[] = "no nodes";
    replica_claims claims;
    redisReply error = {.type = REDIS_REPLY_ERROR, .str = refusal, .len = strlen(refusal)};
    replication_read_nodes(&error, NULL, &claims);
    assert_true(claims.untold && !claims.told);
    replication_read_nodes(NULL, NULL, &claims);
    assert_true(claims.untold && !claims.told);
    claims = claims_in(strange, NULL);
    assert_false(claims.untold || claims.told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replica_of_info_is_read),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(my_replicas_are_found_in_a_cluster),
        cmocka_unit_test(ports_are_from_1_to_65535),
        cmocka_unit_test(as_many_claims_are_kept_as_there_is_room_for),
        cmocka_unit_test(the_settings_give_the_rule),
        cmocka_unit_test(who_may_not_ask_is_told_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
