/*
 * test_mutate.c - scripts/mutate, on a tree of two functions and two tests: what it changes, that
 * it tells a change that a test notices from one that none does, and which tests a change meets.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

enum { DEADLINE_MS = 120000 };

static char dir[256]; /* the tree, and beside it a place for copies */

static const char product[] = "/* a == b, and so on */\n"
                              "static const int start = 1;\n"
                              "int larger(int a, int b)\n"
                              "{\n"
                              "    log_event(\"a == b\", a == b);\n"
                              "    if (a > b) /* a + b */\n"
                              "        return a;\n"
                              "    return b;\n"
                              "}\n"
                              "int sum(int a, int b)\n"
                              "{\n"
                              "    return a + b;\n"
                              "}\n";

/* Never comes to the second return, and does not look at the sum. */
static const char test[] =
    "#include <stdio.h>\n"
    "#define log_event(text, value) puts(text)\n"
    "#include \"server/larger.c\"\n"
    "int main(void)\n"
    "{\n"
    "    puts(\"[ RUN      ] the_larger_one\");\n"
    "    int right = larger(3, 2) == 3 && (sum(1, 2), 1);\n"
    "    puts(right ? \"[       OK ] the_larger_one\" : \"[  FAILED  ] the_larger_one\");\n"
    "    return !right;\n"
    "}\n";

/* Has all of it, and executes nothing. */
static const char idle_test[] = "#include <stdio.h>\n"
                                "#define log_event(text, value) puts(text)\n"
                                "#include \"server/larger.c\"\n"
                                "int main(void)\n"
                                "{\n"
                                "    puts(\"[ RUN      ] nothing\");\n"
                                "    puts(\"[       OK ] nothing\");\n"
                                "}\n";

/* Once it has failed, and left the file that is to be named, it does so always. */
static const char sticky_test[] = "#include <stdio.h>\n"
                                  "#define log_event(text, value) puts(text)\n"
                                  "#include \"server/larger.c\"\n"
                                  "int main(void)\n"
                                  "{\n"
                                  "    puts(\"[ RUN      ] the_larger_one\");\n"
                                  "    int right = !fopen(\"%s\", \"r\") && larger(3, 2) == 3;\n"
                                  "    puts(right || !fopen(\"%s\", \"w\")\n"
                                  "        ? \"[       OK ] the_larger_one\"\n"
                                  "        : \"[  FAILED  ] the_larger_one\");\n"
                                  "    return !right;\n"
                                  "}\n";

/* When it fails, it kills what runs it, as far up as scripts/mutate lets it run by. */
static const char killing_test[] =
    "#include <signal.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include <unistd.h>\n"
    "#define log_event(text, value) puts(text)\n"
    "#include \"server/larger.c\"\n"
    "int main(void)\n"
    "{\n"
    "    puts(\"[ RUN      ] the_larger_one\");\n"
    "    int above = getppid(), right = larger(3, 2) == 3;\n"
    "    while (!right && above > 1) {\n"
    "        char path[64], name[32] = \"\";\n"
    "        int parent = 0;\n"
    "        snprintf(path, sizeof(path), \"/proc/%d/stat\", above);\n"
    "        FILE *file = fopen(path, \"r\");\n"
    "        if (!file || fscanf(file, \"%*d (%31[^)]) %*c %d\", name, &parent) != 2)\n"
    "            return 1;\n"
    "        if (strcmp(name, \"xargs\") == 0)\n"
    "            return kill(above, SIGKILL);\n"
    "        fclose(file);\n"
    "        above = parent;\n"
    "    }\n"
    "    puts(\"[       OK ] the_larger_one\");\n"
    "}\n";

static const char makefile[] = "tested:\n"
                               "build/tests/%: tests/%.c server/larger.c\n"
                               "\t@mkdir -p $(@D) && cc $(CFLAGS) -I. -o $@ $<\n";

static const char equivalents[] = "# as in the real one\n"
                                  "server/larger.c\n"
                                  "- if (a > b) /* a + b */\n"
                                  "+ if (a >= b) /* a + b */\n"
                                  "  The same number is the same number.\n";

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/tree/%s", dir, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    if (fx_shell("mkdir -p $1/copies $1/tree; cp scripts/mutate scripts/mutations.awk "
                 "scripts/usage.sh $1;"
                 "cp tests/run $1/run; cd $1/tree;"
                 "mkdir -p docker lock loadtest scripts server tests/server tests/tools;"
                 "mv ../mutate ../mutations.awk ../usage.sh scripts; mv ../run tests",
                 dir, 20000) != 0)
        return -1;
    put("server/larger.c", product);
    put("tests/server/test_larger.c", test);
    put("tests/server/test_idle.c", idle_test);
    put("tests/equivalent-mutants", equivalents);
    put("Makefile", makefile);
    return 0;
}

/* What it says of the tree; it must leave no copy behind. */
static void mutate(const char *settings, int expected, char *said, size_t len)
{
    char script[1024];
    snprintf(script, sizeof(script),
             "cd %s/copies && unset FLASHSALE_BUILD ONLY AREA AT SEED N JOBS &&"
             " TMPDIR=$PWD %s ../tree/scripts/mutate &&"
             "test -z \"$(ls -A)\"",
             dir, settings);
    fx_process *p = fx_spawn((const char *const[]){"sh", "-c", script, NULL}, true);
    int code = fx_process_wait(p, DEADLINE_MS);
    snprintf(said, len, "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    if (code != expected)
        fail_msg("exit code %d: %s", code, said);
}

static void what_the_test_notices_is_told_from_what_it_does_not(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "equivalent server/larger.c:6  >  ->  >=\n",
        "killed     server/larger.c:6  a > b  ->  !(a > b)  by server/test_larger: the_larger_one",
        "killed     server/larger.c:7  a  ->  !(a)  by server/test_larger: the_larger_one\n",
        "SURVIVED   server/larger.c:8  b  ->  !(b)  met 2 programs, none known to execute it\n",
        "SURVIVED   server/larger.c:12  +  ->  -  met 1 programs\n",
        "mutate: server: 2 of 5 killed (40 %), 1 equivalent and 0 unsure ones left out\n",
        "survivors:\n  server/larger.c:12  +  ->  -\n  server/larger.c:8  b  ->  !(b)\n",
    };
    char said[4096];
    mutate("AT=server/larger.c", 0, said, sizeof(said));
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (!strstr(said, lines[i]))
            fail_msg("\"%s\" is not in: %s", lines[i], said);
    }
}

static void a_seed_draws_the_same_again(void **state)
{
    (void)state;
    char first[4096], second[4096];
    mutate("SEED=3 N=1 AREA=server", 0, first, sizeof(first));
    mutate("SEED=3 N=1 AREA=server", 0, second, sizeof(second));
    const char *again = strstr(first, "mutate: first the tests");
    assert_null(again); /* the tree is the one that passed in the case before */
    assert_string_equal(first, second);
    assert_non_null(strstr(first, " of 1 killed"));
}

/* Which of two is taken that are the same makes no difference; all else may. */
static void a_choice_of_two_that_are_the_same_is_no_change(void **state)
{
    (void)state;
    static const char text[] = "int f(int a, int b)\n{\n"
                               "    g(a + 1 < b ? a + 1 : b);\n"
                               "    h(x && a > b ? b : a);\n"
                               "    return (a > b) - (a < b);\n"
                               "    return a < b ? a : c;\n"
                               "    return a <= b ? c : b;\n"
                               "    return a < b ? 1 : 0;\n"
                               "    return aa < b ? a : b;\n"
                               "}\n";
    static const char *const lines[] = {"3\t+\t-\n",  "4\t&&\t||\n", "5\t-\t+\n", "6\t<\t<=\n",
                                        "7\t<=\t<\n", "8\t<\t<=\n",  "9\t<\t<=\n"};
    char command[512], said[4096], *at = said;
    put("server/choices.c", text);
    snprintf(command, sizeof(command),
             "awk -f scripts/mutations.awk %s/tree/server/choices.c | cut -f 3-5 | "
             "grep -E '\t([<>]=?|[-+]|&&)\t' | sort -u",
             dir);
    fx_shell_output(command, said, sizeof(said));
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (strncmp(at, lines[i], strlen(lines[i])) != 0)
            fail_msg("not \"%s\" at \"%s\" of: %s", lines[i], at, said);
        at += strlen(lines[i]);
    }
    assert_string_equal(at, "");
    assert_int_equal(fx_shell("rm $1/tree/server/choices.c", dir, 20000), 0);
}

/* The machine may be to blame for it, or a change before. */
static void a_test_that_goes_on_failing_has_noticed_nothing(void **state)
{
    (void)state;
    char said[4096], failed[300], text[2048];
    snprintf(failed, sizeof(failed), "%s/failed", dir);
    snprintf(text, sizeof(text), sticky_test, failed, failed);
    put("tests/server/test_larger.c", text);
    mutate("AT=server/larger.c:6", 0, said, sizeof(said));
    assert_non_null(strstr(said, "unsure     server/larger.c:6  a > b"));
    assert_null(strstr(said, "killed     "));
    put("tests/server/test_larger.c", test);
}

/* A change in a program that signals may reach whatever it sees. */
static void a_change_that_kills_what_runs_it_is_noticed(void **state)
{
    (void)state;
    char said[4096];
    put("tests/server/test_larger.c", killing_test);
    mutate("AT=server/larger.c:6", 0, said, sizeof(said));
    if (!strstr(said,
                "killed     server/larger.c:6  a > b  ->  !(a > b)  by server/test_larger: all"))
        fail_msg("%s", said);
    put("tests/server/test_larger.c", test);
}

static void unknown_words_are_refused_and_help_is_given(void **state)
{
    (void)state;
    char output[4096];
    assert_int_equal(fx_shell_output("scripts/mutate --help", output, sizeof(output)), 0);
    assert_non_null(strstr(output, "SEED=7"));
    assert_null(strstr(output, "set -u"));
    assert_int_equal(fx_shell_output("scripts/mutate 60 2>&1", output, sizeof(output)), 64);
    assert_non_null(strstr(output, "what is '60'?"));
}

static void a_tree_that_fails_as_it_is_is_not_measured(void **state)
{
    (void)state;
    char said[4096];
    put("server/larger.c", "int larger(int a, int b)\n{\n    return a < b ? a : b;\n}\n"
                           "int sum(int a, int b)\n{\n    return a + b;\n}\n");
    mutate("AT=server/larger.c", 1, said, sizeof(said));
    assert_non_null(strstr(said, "fails as it is: server/test_larger: the_larger_one"));
    assert_null(strstr(said, "SURVIVED"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_test_notices_is_told_from_what_it_does_not),
        cmocka_unit_test(a_seed_draws_the_same_again),
        cmocka_unit_test(a_choice_of_two_that_are_the_same_is_no_change),
        cmocka_unit_test(a_test_that_goes_on_failing_has_noticed_nothing),
        cmocka_unit_test(a_change_that_kills_what_runs_it_is_noticed),
        cmocka_unit_test(unknown_words_are_refused_and_help_is_given),
        cmocka_unit_test(a_tree_that_fails_as_it_is_is_not_measured),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
