/*
 * test_words.c - scripts/words finds the phrases of CONTRIBUTING.md's table wherever people read
 * them, and nothing else.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

static char tree[256];

static int setup(void **state)
{
    (void)state;
    fx_dir_make(tree, sizeof(tree));
    return 0;
}

/* A tree with a table of two rows, and a file of this name and text besides. */
static int check(const char *name, const char *text, char *said, size_t len)
{
    static const char *const lay =
        "rm -rf \"$1\" && mkdir -p \"$1/scripts\" && cp scripts/words scripts/usage.sh $1/scripts "
        "&&"
        "printf '%s\\n' '## Words' '' '| not | but |' '|---|---|'"
        "  '| `forsooth` | indeed |' '| `(thou\\|thee) and thine` | you |' '' '## More'"
        "  >$1/CONTRIBUTING.md";
    char path[512];
    assert_int_equal(fx_shell(lay, tree, 20000), 0);
    snprintf(path, sizeof(path), "%s/%s", tree, name);
    FILE *file = fopen(path, strcmp(name, "CONTRIBUTING.md") == 0 ? "a" : "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    if (!strchr(name, '.'))
        assert_int_equal(fx_shell("chmod +x \"$1\"", path, 5000), 0);
    snprintf(path, sizeof(path), "%s/scripts/words", tree);
    fx_process *p = fx_spawn((const char *const[]){path, NULL}, true);
    int code = fx_process_wait(p, 20000);
    snprintf(said, len, "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

static void a_phrase_is_found_and_told_with_its_replacement(void **state)
{
    (void)state;
    static const char first[] = "not \"forsooth\", but: indeed",
                      second[] = "not \"(thou|thee) and thine\", but: you";
    static const struct {
        const char *name, *text, *line, *says;
    } cases[] = {
        {"page.md", "one\n\nSo it is, Forsooth.\n", "./page.md:3:", first},
        {"CONTRIBUTING.md", "It is so, forsooth\n", "./CONTRIBUTING.md:9:", first},
        {"a.c", "int a; /* thee and thine */\n", "./a.c:1:", second},
        {"a.c", "/*\n * It is thou\n * and thine, too.\n */\n", "./a.c:3:", second},
        {"a.c", "puts(\"as thou and \"\n     \"thine is\");\n", "./a.c:2:", second},
        {"a.lua", "-- so it is,\n-- forsooth\n", "./a.lua:2:", first},
        {"tool", "#!/bin/sh\n# forsooth\n", "./tool:2:", first},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[4096];
        int code = check(cases[i].name, cases[i].text, said, sizeof(said));
        if (code != 1 || strncmp(said, cases[i].line, strlen(cases[i].line)) != 0 ||
            !strstr(said, cases[i].says) || strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("%s: exit code %d: %s", cases[i].text, code, said);
    }
}

static void what_only_looks_like_one_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"page.md", "forsoothly, unforsooth, for_forsooth; thou\n\nand thine; thou and mine\n"},
        {"a.c", "int forsooth_it, is.forsooth;\n"},
        {"data.txt", "forsooth\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[4096];
        int code = check(cases[i].name, cases[i].text, said, sizeof(said));
        if (code != 0 || said[0] != '\0')
            fail_msg("%s: exit code %d: %s", cases[i].text, code, said);
    }
}

/* Or a renamed section would let everything pass. */
static void without_a_table_nothing_passes(void **state)
{
    (void)state;
    char said[4096];
    assert_int_equal(check("page.md", "It is so.\n", said, sizeof(said)), 0);
    assert_int_equal(
        fx_shell("cd $1 && echo '# Words' >CONTRIBUTING.md && scripts/words", tree, 20000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phrase_is_found_and_told_with_its_replacement),
        cmocka_unit_test(what_only_looks_like_one_is_not),
        cmocka_unit_test(without_a_table_nothing_passes),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
