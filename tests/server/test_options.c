/* test_options.c - options and their environment. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/options.h"

/* Reads options as main() would, with what it says on stderr in `said`. */
static options_answer read_with(fs_options *options, char *said, size_t said_len, char **argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int stderr_copy = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    options_answer answer = options_read(options, argc, argv);
    fflush(stderr);
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    rewind(file);
    said[fread(said, 1, said_len - 1, file)] = '\0';
    fclose(file);
    return answer;
}

#define READ(...)                                                                                  \
    read_with(&options, said, sizeof(said), (char *[]){(char *)"flashsale", __VA_ARGS__, NULL})

static fs_options options;
static char said[1024];

static void the_command_line_wins_over_the_environment(void **state)
{
    (void)state;
    setenv("FLASHSALE_THREADS", "64", 1);
    setenv("FLASHSALE_LEASE_MS", "1234", 1);
    assert_int_equal(READ((char *)"--threads", (char *)"32", (char *)"--listen=127.0.0.1:0"),
                     OPTIONS_RUN);
    assert_int_equal(options.threads, 32);
    assert_int_equal(options.sale.lease_ms, 1234);
    assert_string_equal(options.listen, "127.0.0.1:0");
    assert_string_equal(said, "");
    unsetenv("FLASHSALE_THREADS");
    unsetenv("FLASHSALE_LEASE_MS");
}

static void errors_name_the_option_and_what_is_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *args[4];
        const char *says[2];
    } cases[] = {
        {{"--threads", "many"}, {"--threads", "from 4 to 16384"}},
        {{"--threads", "-1"}, {"--threads", "from 4 to 16384"}},
        {{"--threads"}, {"--threads", "needs a value"}},
        {{"--thread", "8"}, {"--thread", "--help"}},
        {{"--listen", "7000"}, {"--listen", "HOST:PORT"}},
        {{"--listen", "127.0.0.1:70000"}, {"--listen", "65535"}},
        {{"--listen", "127.0.0.1:1,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "127.0.0.1:1 ,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "127.0.0.1,0.0.0.0:2"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "127.0.0.1:1s"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "127.0.0.1: 1"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", ":7000"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "[::1:7000"}, {"--listen", "one HOST:PORT"}},
        {{"--listen", "::1:7000"}, {"--listen", "one HOST:PORT"}},
        {{"--admin-token-file="}, {"--admin-token-file", "the name of a file"}},
        {{"--name", "a b"}, {"--name", "[A-Za-z0-9_-]"}},
        {{"--item", "P1"}, {"--item", "--stock"}},
        {{"--item=P1", "--stock=5", "--strategy=hope"}, {"strategy", "combined"}},
        {{"--item=P1", "--stock=5", "--durability=stone"}, {"durability", "disk"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *const *a = (char *const *)cases[i].args;
        assert_int_equal(READ(a[0], a[1], a[2]), OPTIONS_BAD);
        if (!strstr(said, cases[i].says[0]) || !strstr(said, cases[i].says[1]))
            fail_msg("%s: %s", a[0], said);
    }
    setenv("FLASHSALE_WAIT_MS", "soon", 1);
    assert_int_equal(READ(NULL), OPTIONS_BAD);
    assert_non_null(strstr(said, "FLASHSALE_WAIT_MS"));
    unsetenv("FLASHSALE_WAIT_MS");
    setenv("FLASHSALE_ADMIN_TOKEN", "", 1);
    assert_int_equal(READ(NULL), OPTIONS_BAD);
    assert_non_null(strstr(said, "FLASHSALE_ADMIN_TOKEN"));
    unsetenv("FLASHSALE_ADMIN_TOKEN");
}

/* A value that is too long, or an option that is misspelt, may hold a password. */
static void errors_show_no_password(void **state)
{
    (void)state;
    char url[800];
    snprintf(url, sizeof(url), "redis://flashsale:hush@%0700d", 1);
    assert_int_equal(READ((char *)"--redis", url), OPTIONS_BAD);
    assert_non_null(strstr(said, "--redis"));
    assert_null(strstr(said, "hush"));
    assert_int_equal(READ((char *)"--rediss=redis://flashsale:hush@host"), OPTIONS_BAD);
    assert_non_null(strstr(said, "--rediss"));
    assert_null(strstr(said, "hush"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_wins_over_the_environment),
        cmocka_unit_test(errors_name_the_option_and_what_is_accepted),
        cmocka_unit_test(errors_show_no_password),
        cmocka_unit_test(loopback_is_told_from_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
