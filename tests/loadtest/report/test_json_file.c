/*
 * Files of JSON that are read back: which are refused, and what is said of them.
 */
#include "tests/support/fixture.h"

#include "loadtest/report/json_file.h"

#include <stdio.h>
#include <unistd.h>

#define TEXT(text) text, sizeof(text) - 1

static const struct {
    const char *text;
    size_t len;
    const char *said; /* NULL: it is one */
} files[] = {
    {TEXT("{\"schema\":1}"), NULL},
    {TEXT("{\"schema\":1}\n \t\r\n"), NULL},
    {TEXT("{\"a\":[],\"schema\":1.0,\"schema\":1}"), NULL},
    {TEXT("{\"schema\":1}x"), "is not a bench: no JSON from byte 13 on"},
    {TEXT("{\"schema\":1} {}"), "is not a bench: no JSON from byte 14 on"},
    {TEXT("{\"schema\":1}\0"), "is not a bench: no JSON from byte 13 on"},
    {TEXT("\0{\"schema\":1}"), "is not a bench: no JSON from byte 1 on"},
    {TEXT("{\"schema\":}"), "is not a bench: no JSON from byte 11 on"},
    {TEXT(""), "is not a bench: no JSON from byte 1 on"},
    {TEXT("{}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("[1]"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("1"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"schema\":2}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"schema\":\"1\"}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"schema\":null}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"schema\":1,\"schema\":2}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"Schema\":1}"), "is not a bench: its \"schema\" is not 1"},
    {TEXT("{\"a\":{\"schema\":1}}"), "is not a bench: its \"schema\" is not 1"},
};

static void only_one_object_of_schema_1_is_read(void **unused)
{
    (void)unused;
    char dir[256], path[300], err[512], expected[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/file.json", dir);
    for (size_t i = 0; i < COUNT(files); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(files[i].text, 1, files[i].len, file), files[i].len);
        assert_int_equal(fclose(file), 0);
        cJSON *json = json_file_read(path, "a bench", err, sizeof(err));
        bool read = json != NULL;
        cJSON_Delete(json);
        snprintf(expected, sizeof(expected), "%s %s", path, files[i].said ? files[i].said : "");
        if (read != !files[i].said || (!read && strcmp(err, expected) != 0))
            fail_msg("\"%s\": %s", files[i].text, read ? "read" : err);
    }
    assert_int_equal(unlink(path), 0);
    assert_null(json_file_read(path, "a bench", err, sizeof(err)));
    snprintf(expected, sizeof(expected), "%s can not be read", path);
    assert_string_equal(err, expected);
    fx_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_one_object_of_schema_1_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
