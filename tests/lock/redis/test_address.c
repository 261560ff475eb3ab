/* Redis addresses: what each form means, and that no error shows what it holds of secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "lock/redis/address.h"

#ifdef DLOCK_TLS
enum { HAS_TLS = true };
#else
enum { HAS_TLS = false };
#endif

/* "host:port,host:port", in brackets where that is needed to tell them apart */
static void write_hosts(const address *a, char *ret, size_t ret_len)
{
    size_t len = 0;
    ret[0] = '\0';
    for (int i = 0; i < a->hosts_len; i++)
        len += (size_t)snprintf(ret + len, ret_len - len, "%s%s|%d", i ? "," : "", a->hosts[i].host,
                                a->hosts[i].port);
    assert_true(len < ret_len);
}

static void each_form_is_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        address_kind kind;
        const char *hosts, *service, *user, *password, *sentinel_user, *sentinel_password;
        int db;
    } cases[] = {
        {"redis://h", ADDRESS_ONE, "h|6379", "", "", "", "", "", 0},
        {"redis://h/", ADDRESS_ONE, "h|6379", "", "", "", "", "", 0},
        {"redis://u:p%40%2fw@[::1]:7000/3", ADDRESS_ONE, "::1|7000", "", "u", "p@/w", "", "", 3},
        {"redis://%41:%7a%5A%6F%09%aF@h", ADDRESS_ONE, "h|6379", "", "A", "zZo\t\xaf", "", "", 0},
        {"redis://:a@b@h:1", ADDRESS_ONE, "h|1", "", "", "a@b", "", "", 0},
        {"redis://u:a,b@h", ADDRESS_ONE, "h|6379", "", "u", "a,b", "", "", 0},
        {"redis://pw@h", ADDRESS_ONE, "h|6379", "", "", "pw", "", "", 0},
        {"redis://u:@h", ADDRESS_ONE, "h|6379", "", "u", "", "", "", 0},
        {"redis://h/0", ADDRESS_ONE, "h|6379", "", "", "", "", "", 0},
        {"redis://h/65535", ADDRESS_ONE, "h|6379", "", "", "", "", "", 65535},
        {"unix:///s.sock?db=0", ADDRESS_ONE, "", "", "", "", "", "", 0},
        {"unix://u:p%2f@/s.sock?db=2", ADDRESS_ONE, "", "", "u", "p/", "", "", 2},
        {"redis+sentinel://a,b:1,[::2]/shop", ADDRESS_SENTINEL, "a|26379,b|1,::2|26379", "shop", "",
         "", "", "", 0},
        {"redis+sentinel://u:p@a/shop/2", ADDRESS_SENTINEL, "a|26379", "shop", "u", "p", "", "", 2},
        {"redis+sentinel://a/my%2Fshop/?sentinel_password=q%26r", ADDRESS_SENTINEL, "a|26379",
         "my/shop", "", "", "", "q&r", 0},
        {"redis+sentinel://u:p@a:1,b:2/s/7?sentinel_user=w&sentinel_password=x", ADDRESS_SENTINEL,
         "a|1,b|2", "s", "u", "p", "w", "x", 7},
        {"redis+sentinel://a/s?sentinel_password=x&sentinel_user=w", ADDRESS_SENTINEL, "a|26379",
         "s", "", "", "w", "x", 0},
        {"redis+cluster://a,b:7001", ADDRESS_CLUSTER, "a|6379,b|7001", "", "", "", "", "", 0},
        {"redis+cluster://u:p@[::1]:1,[::1]:2/", ADDRESS_CLUSTER, "::1|1,::1|2", "", "u", "p", "",
         "", 0},
        {"redis+cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", ADDRESS_CLUSTER,
         "1|6379,2|6379,3|6379,4|6379,5|6379,6|6379,7|6379,8|6379,9|6379,10|6379,11|6379,"
         "12|6379,13|6379,14|6379,15|6379,16|6379",
         "", "", "", "", "", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char err[256] = "", hosts[512];
        address a;
        if (dlock_address_parse(cases[i].url, &a, err, sizeof(err)) != 0)
            fail_msg("%s: %s", cases[i].url, err);
        write_hosts(&a, hosts, sizeof(hosts));
        assert_int_equal(a.kind, cases[i].kind);
        assert_string_equal(hosts, cases[i].hosts);
        assert_string_equal(a.service, cases[i].service);
        assert_string_equal(a.user, cases[i].user);
        assert_string_equal(a.password, cases[i].password);
        assert_string_equal(a.sentinel_user, cases[i].sentinel_user);
        assert_string_equal(a.sentinel_password, cases[i].sentinel_password);
        assert_int_equal(a.db, cases[i].db);
        assert_false(a.tls);
        bool one_tcp = a.kind == ADDRESS_ONE && a.hosts_len == 1;
        assert_string_equal(a.host, one_tcp ? a.hosts[0].host : "");
        if (one_tcp)
            assert_int_equal(a.port, a.hosts[0].port);
    }
}

static void others_are_refused_without_showing_them(void **state)
{
    (void)state;
    static const struct {
        const char *url, *says;
    } cases[] = {
        {"", "must begin with"},
        {"http://s3cret@h", "must begin with"},
        {"redis+other://s3cret@h", "must begin with"},
        {"redis://", "host is missing"},
        {"redis://s3cret@", "host is missing"},
        {"redis://u:s3cret%zz@h", "bad %XX"},
        {"redis://u:s3cret%00@h", "bad %XX"},
        {"redis://u:s3cret%@h", "bad %XX"},
        {"redis://u:s3cret%4@h", "bad %XX"},
        {"redis://u:s3cret%z4@h", "bad %XX"},
        {"redis://u:s3cret%4z@h", "bad %XX"},
        {"redis://u:s3cret%4g@h", "bad %XX"},
        {"redis://u:s3cret%4G@h", "bad %XX"},
        {"redis://u:s3cret%:0@h", "bad %XX"},
        {"redis://s3cret@h:0", "port"},
        {"redis://s3cret@h:70000", "port"},
        {"redis://s3cret@h: 1", "port"},
        {"redis://s3cret@[::1", "']'"},
        {"redis://s3cret@h/x", "/DB"},
        {"redis://s3cret@h/+1", "/DB"},
        {"redis://s3cret@h/1?a=b", "/DB"},
        {"redis://s3cret@a,b", "redis+sentinel://"},
        {"unix://u:s3cret@relative", "absolute path"},
        {"redis://s3cret@h/65536", "/DB"},
        {"unix:///s?db=-1", "?db=N"},
        {"redis+sentinel://s3cret@a,b", "master's name"},
        {"redis+sentinel://s3cret@a,b/", "master's name"},
        {"redis+sentinel://s3cret@a,b//1", "master's name"},
        {"redis+sentinel://s3cret@a,/n", "host is missing"},
        {"redis+sentinel://s3cret@a/n/x", "/DB"},
        {"redis+sentinel://a/n?sentinel_pass=s3cret", "sentinel_password="},
        {"redis+sentinel://a/n?", "sentinel_password="},
        {"redis+sentinel://a/n?sentinel_password=s3cret&", "sentinel_password="},
        {"redis+sentinel://a/n?sentinel_password=s3cret&sentinel_password=b", "sentinel_password="},
        {"redis+sentinel://a/n?sentinel_password=s3cret%zz", "bad %XX"},
        {"redis+cluster://s3cret@a,b/1", "no databases"},
        {"redis+cluster://s3cret@a,b/n?sentinel_user=a", "no databases"},
        {"redis+cluster://s3cret@,", "host is missing"},
        {"redis+cluster://s3cret@1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char err[256] = "";
        address a;
        if (dlock_address_parse(cases[i].url, &a, err, sizeof(err)) == 0)
            fail_msg("%s was taken", cases[i].url);
        if (!strstr(err, cases[i].says) || strstr(err, "s3cret"))
            fail_msg("%s: %s", cases[i].url, err);
    }
    char err[256] = "";
    address a;
    assert_int_equal(dlock_address_parse(NULL, &a, err, sizeof(err)), -1);
}

/* What does not fit is refused, never cut. */
static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    static address a;
    static const struct {
        const char *form;
        const char *taken;
        size_t most;
    } cases[] = {
        {"redis://%s", a.host, sizeof(a.host) - 1},
        {"redis://[%s]:1", a.host, sizeof(a.host) - 1},
        {"redis+cluster://h,%s", a.hosts[1].host, sizeof(a.hosts[1].host) - 1},
        {"redis://%s:p@h", a.user, sizeof(a.user) - 1},
        {"redis://u:%s@h", a.password, sizeof(a.password) - 1},
        {"redis://%s@h", a.password, sizeof(a.password) - 1},
        {"unix://%s", a.path, sizeof(a.path) - 1},
        {"redis+sentinel://a/%s", a.service, sizeof(a.service) - 1},
        {"redis+sentinel://a/n?sentinel_user=%s", a.sentinel_user, sizeof(a.sentinel_user) - 1},
        {"redis+sentinel://a/n?sentinel_password=%s", a.sentinel_password,
         sizeof(a.sentinel_password) - 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *form = cases[i].form;
        size_t before = strcspn(form, "%");
        for (size_t len = cases[i].most; len <= cases[i].most + 2; len++) {
            char many[300], url[400], err[256];
            memset(many, 'x', len);
            many[len] = '\0';
            many[0] = cases[i].taken == a.path ? '/' : 'x';
            snprintf(url, sizeof(url), "%.*s%s%s", (int)before, form, many, form + before + 2);
            int answer = dlock_address_parse(url, &a, err, sizeof(err));
            if (answer != (len == cases[i].most ? 0 : -1))
                fail_msg("%s of %zu: %d", form, len, answer);
            if (answer == 0)
                assert_string_equal(cases[i].taken, many);
            else
                assert_true(strstr(err, "too long") || strstr(err, "master's name"));
        }
    }
}

/* The last character may be an escape, and no digit may be missing. */
static void numbers_have_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        int port, db; /* -1: refused */
    } cases[] = {
        {"redis://h:1", 1, 0},
        {"redis://h:65535", 65535, 0},
        {"redis://h:0", -1, 0},
        {"redis://h:65536", -1, 0},
        {"redis://h:0000001", 1, 0},
        {"redis://h:00000001", -1, 0},
        {"redis://h:", -1, 0},
        {"redis://[::1]:", -1, 0},
        {"redis://[::1]x", -1, 0},
        {"redis://[::1]:9", 9, 0},
        {"redis://[]:9", -1, 0},
        {"redis://h:1x", -1, 0},
        {"redis://h:%31%32", 12, 0},
        {"redis://h:1%3", -1, 0},
        {"redis://h/0065535", 6379, 65535},
        {"redis://h/00000001", -1, 0},
        {"redis://h/%31", 6379, 1},
        {"redis://h/1/", -1, 0},
        {"redis://h/-1", -1, 0},
        {"redis://h//", -1, 0},
        {"redis://h?1", -1, 0},
        {"redis://h#1", -1, 0},
        {"unix:///s?db=65535", 6379, 65535},
        {"unix:///s?db=65536", -1, 0},
        {"unix:///s?db=", -1, 0},
        {"unix:///s?dc=1", -1, 0},
        {"unix:///s?", -1, 0},
        {"unix://", -1, 0},
        {"unix://?db=1", -1, 0},
        {"unix://u:p@", -1, 0},
        {"redis+sentinel://h/n/65535", 6379, 65535},
        {"redis+sentinel://h/n/65536", -1, 0},
        {"redis+sentinel://h:0/n", -1, 0},
        {"redis+cluster://h:1,i:65536", -1, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char err[256];
        address a;
        int answer = dlock_address_parse(cases[i].url, &a, err, sizeof(err));
        bool good = cases[i].port >= 0
                        ? answer == 0 && a.port == cases[i].port && a.db == cases[i].db
                        : answer == -1;
        if (!good)
            fail_msg("%s: %d, port %d, db %d", cases[i].url, answer, a.port, a.db);
    }
}

static void the_same_host_has_the_same_name_and_port(void **state)
{
    (void)state;
    const address_host a = {"h", 1}, same = {"h", 1}, other = {"i", 1}, port = {"h", 2};
    assert_true(dlock_address_same(&a, &same));
    assert_false(dlock_address_same(&a, &other));
    assert_false(dlock_address_same(&a, &port));
}

/* In place where they are secret, and only there. */
static void words_of_a_command_line_are_hidden(void **state)
{
    (void)state;
    char first[] = "redis://u:pw@h", second[] = "--redis", third[] = "unix:///s", fourth[] = "a@b";
    char *words[] = {first, second, third, fourth};
    dlock_redis_hide_words(4, words);
    assert_string_equal(first, "redis://u:**@h");
    assert_string_equal(words[0], "redis://u:pw@h");
    assert_ptr_not_equal(words[0], first);
    assert_ptr_equal(words[1], second);
    assert_ptr_equal(words[2], third);
    assert_ptr_equal(words[3], fourth);
    assert_string_equal(third, "unix:///s");
    free(words[0]);
}

static void tls_is_said_or_refused(void **state)
{
    (void)state;
    static const char *const urls[] = {"rediss://h", "rediss+sentinel://a,b/n",
                                       "rediss+cluster://a,b"};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        char err[256] = "";
        address a;
        int answer = dlock_address_parse(urls[i], &a, err, sizeof(err));
        if (HAS_TLS) {
            assert_int_equal(answer, 0);
            assert_true(a.tls);
        } else {
            assert_int_equal(answer, -1);
            assert_non_null(strstr(err, "libhiredis_ssl"));
        }
    }
}

static void passwords_are_hidden_in_a_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hidden;
    } cases[] = {
        {"redis://h:6379/0", "redis://h:6379/0"},
        {"at redis://u:pw@h:6379/0, or so", "at redis://u:**@h:6379/0, or so"},
        {"redis://:p/w@h:6379", "redis://:***@h:6379"},
        {"redis://u:p@w/x@h/0 me@home", "redis://u:*****@h/0 me@home"},
        {"unix:///tmp/a@b", "unix:///tmp/a@b"},
        {"redis://a:1,redis://:pw@b:2", "redis://a:1,redis://:**@b:2"},
        {"redis+sentinel://:pw@h/m?sentinel_password=x@y", "redis+sentinel://:**@h/m?"
                                                           "sentinel_password=***"},
        {"redis+sentinel://pw@h:1/m?sentinel_user=u@x", "redis+sentinel://"
                                                        "************************@x"},
        {"redis://sentinel_password=@h:1", "redis://******************@h:1"},
        {"unix://#u:pw@/run/s", "unix://#u:**@/run/s"},
        {"unix://pw@/run/a:b@c", "unix://***********@c"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s", cases[i].text);
        dlock_redis_hide(text);
        assert_string_equal(text, cases[i].hidden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_taken_apart),
        cmocka_unit_test(others_are_refused_without_showing_them),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(numbers_have_their_limits),
        cmocka_unit_test(the_same_host_has_the_same_name_and_port),
        cmocka_unit_test(words_of_a_command_line_are_hidden),
        cmocka_unit_test(tls_is_said_or_refused),
        cmocka_unit_test(passwords_are_hidden_in_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
