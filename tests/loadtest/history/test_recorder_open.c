/*
 * Where a history can be written, and what is said of a place where it can not.
 */
#include "tests/support/fixture.h"

#include "loadtest/history/recorder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[256];

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    return 0;
}

static void what_is_no_file_is_refused(void **unused)
{
    (void)unused;
    char fifo[300], missing[300];
    snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
    snprintf(missing, sizeof(missing), "%s/none/history", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const struct {
        const char *path, *why;
    } cases[] = {
        {"/dev/null", "it is no regular file"},
        {dir, "Is a directory"},
        {missing, "No such file or directory"},
        {fifo, "No such device or address"}, /* nobody reads it */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512] = "", expected[512];
        if (recorder_open(cases[i].path, err, sizeof(err)))
            fail_msg("%s was opened", cases[i].path);
        snprintf(expected, sizeof(expected), "the history can not be written to %s: %s",
                 cases[i].path, cases[i].why);
        assert_string_equal(err, expected);
    }
}

/* What it had is gone; what is written is there before the end. */
static void a_file_is_begun_anew(void **unused)
{
    (void)unused;
    char path[300], err[256] = "", text[64];
    snprintf(path, sizeof(path), "%s/history", dir);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("old words that are longer than the first line\n", file) > 0);
    fclose(file);
    lt_recorder *recorder = recorder_open(path, err, sizeof(err));
    assert_non_null(recorder);
    assert_string_equal(recorder_path(recorder), path);
    file = fopen(path, "r");
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, "flashsale-history 2\n");
    recorder_free(recorder);
    recorder_free(NULL);
}

/* Nothing of it is left in the folder, not even while it is written. */
static void a_file_without_a_name_is_in_the_folder_for_such(void **unused)
{
    (void)unused;
    char before[256], err[512] = "", own[300], none[320];
    const char *tmpdir = getenv("TMPDIR");
    snprintf(before, sizeof(before), "%s", tmpdir ? tmpdir : "/tmp");
    snprintf(own, sizeof(own), "%s/own", dir);
    assert_int_equal(mkdir(own, 0700), 0);
    setenv("TMPDIR", own, 1);
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    assert_non_null(recorder);
    assert_int_equal(strncmp(recorder_path(recorder), "/proc/self/fd/", 14), 0);
    assert_int_equal(fx_shell("test -z \"$(ls -A $1)\"", own, 20000), 0);
    recorder_free(recorder);
    snprintf(none, sizeof(none), "%s/none", own);
    setenv("TMPDIR", none, 1);
    assert_null(recorder_open(NULL, err, sizeof(err)));
    assert_non_null(strstr(err, none)); /* the folder that was asked for */
    setenv("TMPDIR", "", 1);            /* as if it were not set */
    recorder = recorder_open(NULL, err, sizeof(err));
    assert_non_null(recorder);
    recorder_free(recorder);
    setenv("TMPDIR", before, 1);
}

/* Number 0 is as good as any other, and is closed again where the place will not do. */
static void the_first_descriptor_will_do(void **unused)
{
    (void)unused;
    char path[300], err[512] = "";
    int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
    snprintf(path, sizeof(path), "%s/first", dir);
    const char *const paths[] = {path, NULL, "/dev/null"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        close(0);
        lt_recorder *recorder = recorder_open(paths[i], err, sizeof(err));
        bool opened = recorder != NULL, is_first = fcntl(0, F_GETFD) >= 0;
        recorder_free(recorder);
        bool closed = fcntl(0, F_GETFD) < 0;
        dup2(kept, 0);
        assert_int_equal(opened, i < 2);
        assert_int_equal(is_first, i < 2);
        assert_true(closed);
    }
    assert_non_null(strstr(err, "it is no regular file"));
    close(kept);
}

static void others_may_read_and_write_it_as_the_mask_says(void **unused)
{
    (void)unused;
    char path[300], err[256];
    struct stat is;
    snprintf(path, sizeof(path), "%s/mode", dir);
    mode_t before = umask(0);
    lt_recorder *recorder = recorder_open(path, err, sizeof(err));
    umask(before);
    assert_non_null(recorder);
    recorder_free(recorder);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0666);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_file_is_begun_anew),
        cmocka_unit_test(a_file_without_a_name_is_in_the_folder_for_such),
        cmocka_unit_test(the_first_descriptor_will_do),
        cmocka_unit_test(others_may_read_and_write_it_as_the_mask_says),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
