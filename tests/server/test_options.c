/* test_options.c - options and their environment. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/options.h"
#include "server/strategies/registry.h"

/* Reads options as main() would, with what it says on that stream in `said`. */
static options_answer read_hearing(FILE *stream, fs_options *options, char *said, size_t said_len,
                                   char **argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stream);
    int copy = dup(fileno(stream));
    dup2(fileno(file), fileno(stream));
    options_answer answer = options_read(options, argc, argv);
    fflush(stream);
    dup2(copy, fileno(stream));
    close(copy);
    rewind(file);
    said[fread(said, 1, said_len - 1, file)] = '\0';
    fclose(file);
    return answer;
}

#define READ(...)                                                                                  \
    read_hearing(stderr, &options, said, sizeof(said),                                             \
                 (char *[]){(char *)"flashsale", __VA_ARGS__, NULL})

#define LETTERS_8  "abcdefgh"
#define LETTERS_64 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8

static fs_options options;
static char said[8192];

static void the_command_line_wins_over_the_environment(void **state)
{
    (void)state;
    setenv("FLASHSALE_THREADS", "64", 1);
    setenv("FLASHSALE_LEASE_MS", "1234", 1);
    assert_int_equal(READ((char *)"--threads", (char *)"32", (char *)"--listen=127.0.0.1:0",
                          (char *)"--item=P1", (char *)"--stock=5"),
                     OPTIONS_RUN);
    assert_int_equal(options.threads, 32);
    assert_int_equal(options.sale.lease_ms, 1234);
    assert_string_equal(options.listen, "127.0.0.1:0");
    assert_string_equal(said, "");
    unsetenv("FLASHSALE_THREADS");
    unsetenv("FLASHSALE_LEASE_MS");
}

static const struct {
    const char *args[4];
    const char *says[2];
} wrong[] = {
    {{"--threads", "many"}, {"--threads", "from 4 to 16384"}},
    {{"--threads", "-1"}, {"--threads", "from 4 to 16384"}},
    {{"--threads"}, {"--threads", "needs a value"}},
    {{"--thread", "8"}, {"--thread", "--help"}},
    {{"--listen", "7000"}, {"--listen", "HOST:PORT"}},
    {{"--listen", "127.0.0.1:70000"}, {"--listen", "65535"}},
    {{"--listen", "127.0.0.1:65536"}, {"--listen", "65535"}},
    {{"--listen", "127.0.0.1:000001"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "127.0.0.1:"}, {"--listen", "one HOST:PORT"}},
    {{"--threads", "16385"}, {"--threads", "from 4 to 16384"}},
    {{"--threads", "0000000000000000016"}, {"--threads", "from 4 to 16384"}},
    {{"--threads", ":"}, {"--threads", "from 4 to 16384"}},
    {{"--name", LETTERS_64 "x"}, {"--name", "must be at most 64 characters\n"}},
    {{"--listen", "127.0.0.1:1,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "127.0.0.1:1 ,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "127.0.0.1,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "127.0.0.1:1s"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "127.0.0.1: 1"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", ":7000"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "[::1:7000"}, {"--listen", "one HOST:PORT"}},
    {{"--listen", "::1:7000"}, {"--listen", "one HOST:PORT"}},
    {{"--admin-token-file="}, {"--admin-token-file", "the name of a file"}},
    {{"--buyer-key-file="}, {"--buyer-key-file", "the name of a file"}},
    {{"--require-token", "on"}, {"--require-token", "yes or no"}},
    {{"--demo", "1"}, {"--demo", "yes or no"}},
    {{"--max-quantity", "0"}, {"--max-quantity", "from 1 to 1000"}},
    {{"--max-quantity", "1001"}, {"--max-quantity", "from 1 to 1000"}},
    {{"--name", "a b"}, {"--name", "[A-Za-z0-9_-]"}},
    {{"--redis="}, {"--redis", "a URL"}},
    {{"--item", "P1"}, {"--item", "--stock"}},
    {{"--stock", "5"}, {"--stock", "--item"}},
    {{"--strategy", "none"}, {"--strategy", "--item"}},
    {{"--per-user-limit", "0"}, {"--per-user-limit", "--item"}},
    {{"--lease-ms", "3000"}, {"--lease-ms", "--item"}},
    {{"--wait-ms", "5"}, {"--wait-ms", "--item"}},
    {{"--hold-ms", "5"}, {"--hold-ms", "--item"}},
    {{"--durability", "disk"}, {"--durability", "--item"}},
    {{"--segments", "2"}, {"--segments", "--item"}},
    {{"--min-replicas", "2"}, {"--min-replicas", "--item"}},
    {{"--item=P1", "--stock=5", "--strategy=hope"}, {"strategy", "combined"}},
    {{"--item=P1", "--stock=5", "--durability=stone"}, {"durability", "replicated or disk"}},
    {{"--item=P1", "--stock=5", "--min-replicas=2"}, {"min_replicas", "'replicated'"}},
};

static void errors_name_the_option_and_what_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char *const *a = (char *const *)wrong[i].args;
        assert_int_equal(READ(a[0], a[1], a[2]), OPTIONS_BAD);
        if (!strstr(said, wrong[i].says[0]) || !strstr(said, wrong[i].says[1]))
            fail_msg("%s: %s", a[0], said);
    }
    setenv("FLASHSALE_WAIT_MS", "soon", 1);
    assert_int_equal(READ(NULL), OPTIONS_BAD);
    assert_non_null(strstr(said, "FLASHSALE_WAIT_MS"));
    unsetenv("FLASHSALE_WAIT_MS");
    setenv("FLASHSALE_STOCK", "5", 1);
    assert_int_equal(READ(NULL), OPTIONS_BAD);
    assert_non_null(strstr(said, "--item"));
    unsetenv("FLASHSALE_STOCK");
    setenv("FLASHSALE_ADMIN_TOKEN", "", 1);
    assert_int_equal(READ(NULL), OPTIONS_BAD);
    assert_non_null(strstr(said, "FLASHSALE_ADMIN_TOKEN"));
    unsetenv("FLASHSALE_ADMIN_TOKEN");
}

/* The first and the last of what is accepted. */
static void limits_are_accepted(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--listen=127.0.0.1:65535"},
        {"--listen=127.0.0.1:00001"},
        {"--listen=127.0.0.1:0"},
        {"--threads=4"},
        {"--threads=16384"},
        {"--threads=9"},
        {"--threads=000000000000000016"},
        {"--max-quantity=1"},
        {"--max-quantity=1000"},
        {"--require-token=yes"},
        {"--require-token=no"},
        {"--demo=yes"},
        {"--name=" LETTERS_64},
        {"--item=P1", "--stock=0"},
        {"--item=P1", "--stock=1000000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *const *a = (char *const *)cases[i];
        if (READ(a[0], a[1]) != OPTIONS_RUN)
            fail_msg("%s: %s", a[0], said);
        assert_string_equal(said, "");
    }
    assert_int_equal(options.sale.stock, 1000000000);
    assert_int_equal(READ((char *)"--name=" LETTERS_64), OPTIONS_RUN);
    assert_string_equal(options.name, LETTERS_64);
}

/* A value that is too long, or an option that is misspelt, may hold a password. */
static void errors_show_no_password(void **state)
{
    (void)state;
    char url[2200];
    snprintf(url, sizeof(url), "redis://flashsale:hush@%02100d", 1);
    assert_int_equal(READ((char *)"--redis", url), OPTIONS_BAD);
    assert_non_null(strstr(said, "--redis"));
    assert_null(strstr(said, "hush"));
    assert_int_equal(READ((char *)"--rediss=redis://flashsale:hush@host"), OPTIONS_BAD);
    assert_non_null(strstr(said, "--rediss"));
    assert_null(strstr(said, "hush"));
    assert_int_equal(READ((char *)"redis://flashsale:hush@host"), OPTIONS_BAD);
    assert_non_null(strstr(said, "redis://flashsale:****@host"));
    assert_int_equal(READ((char *)"--stock", (char *)"redis://hush@host"), OPTIONS_BAD);
    assert_non_null(strstr(said, "redis://****@host"));
}

static void loopback_is_told_from_the_rest(void **state)
{
    (void)state;
    assert_true(options_is_loopback("127.0.0.1:7000"));
    assert_true(options_is_loopback("127.8.8.8:1"));
    assert_true(options_is_loopback("localhost:1"));
    assert_true(options_is_loopback("[::1]:1"));
    assert_int_equal(READ((char *)"--listen=[::1]:0"), OPTIONS_RUN);
    assert_int_equal(READ((char *)"--listen=some-host.example:80"), OPTIONS_RUN);
    assert_int_equal(READ((char *)"--listen=*:80"), OPTIONS_RUN);
    assert_false(options_is_loopback("127.0.0.1:7000,0.0.0.0:7001"));
    assert_false(options_is_loopback("127.example.org:7000"));
    assert_false(options_is_loopback("0.0.0.0:7000"));
    assert_false(options_is_loopback("*:7000"));
    assert_false(options_is_loopback("192.168.1.1:7000"));
}

/* The paragraph about one option: its line and the ones indented below it. */
static void find_option(const char *help, const char *name, char *ret, size_t ret_len)
{
    char head[64];
    int len = snprintf(head, sizeof(head), "\n  --%s ", name);
    const char *at = strstr(help, head);
    if (!at)
        fail_msg("--help does not name --%s", name);
    const char *end = at + len;
    while (strncmp(end = strchr(end, '\n'), "\n    ", 5) == 0)
        end++;
    snprintf(ret, ret_len, "%.*s", (int)(end - at), at);
}

static void help_tells_units_limits_and_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *option, *says[3];
    } cases[] = {
        {"listen", {"HOST:PORT", "default: 127.0.0.1:7000"}},
        {"redis", {"redis://", "unix://", "default: redis://127.0.0.1:6379"}},
        {"redlock", {"URL,URL", "16 at most", "default: --redis alone"}},
        {"name", {"default: "}},
        {"threads", {"4 to 16384", "default: 512"}},
        {"drain-delay", {"SECONDS", "0 to 600", "default: 2"}},
        {"admin-token-file", {"FILE", "FLASHSALE_ADMIN_TOKEN", "default: none"}},
        {"require-token", {" yes|no", "default: no"}},
        {"demo", {" yes|no", "15 s", "default: no"}},
        {"buyer-key-file", {"FILE", "32 to 256 characters", "default: none"}},
        {"max-quantity", {"1 to 1000", "default: 1000"}},
        {"rate-user", {"a second", "default: 0"}},
        {"rate-address", {"a second", "default: 0"}},
        {"rate-question", {"a second", "default: 1000"}},
        {"rate-burst", {"1 to", "default: 10"}},
        {"item", {"default: no sale"}},
        {"stock", {"UNITS", "0 to 1000000000"}},
        {"strategy", {"--list-strategies", "default: "}},
        {"per-user-limit", {"UNITS", "default: 0"}},
        {"lease-ms", {"MS", "10 to 86400000", "default: "}},
        {"wait-ms", {"MS", "0 to 60000", "default: "}},
        {"hold-ms", {"MS", "0 to 60000", "default: 0"}},
        {"durability", {" memory|replicated|disk\n", "default: memory"}},
        {"min-replicas", {"1 to 16", "default: 1"}},
        {"segments", {"1 to 16", "default: 4"}},
    };
    static char *const words[] = {(char *)"--help", (char *)"-h"};
    for (size_t w = 0; w < 2; w++) {
        char *argv[] = {(char *)"flashsale", words[w], NULL}, option[512];
        assert_int_equal(read_hearing(stdout, &options, said, sizeof(said), argv), OPTIONS_DONE);
        for (size_t i = 0; i < COUNT(cases); i++) {
            find_option(said, cases[i].option, option, sizeof(option));
            for (size_t s = 0; s < 3 && cases[i].says[s]; s++)
                if (!strstr(option, cases[i].says[s]))
                    fail_msg("%s says: %s", cases[i].option, option);
        }
        find_option(said, "strategy", option, sizeof(option));
        assert_non_null(strstr(option, strategy_standard()->name));
        assert_non_null(strstr(said, "curl ")); /* the example */
        assert_non_null(strstr(said, "Exit codes:\n  0 "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_wins_over_the_environment),
        cmocka_unit_test(errors_name_the_option_and_what_is_accepted),
        cmocka_unit_test(limits_are_accepted),
        cmocka_unit_test(errors_show_no_password),
        cmocka_unit_test(help_tells_units_limits_and_defaults),
        cmocka_unit_test(loopback_is_told_from_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
