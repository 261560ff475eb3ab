/* test_auth.c - the admin's token: where it comes from, and what it opens. */
#include "tests/support/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/api/auth.h"

static void only_the_token_opens_what_is_the_admin_s(void **state)
{
    (void)state;
    fs_admin admin;
    char err[256];
    assert_int_equal(admin_init(&admin, NULL, NULL, true, err, sizeof(err)), 0);
    assert_int_equal(admin_check(&admin, NULL), ADMIN_YES);
    assert_int_equal(admin_init(&admin, NULL, NULL, false, err, sizeof(err)), 0);
    assert_int_equal(admin_check(&admin, "Bearer x"), ADMIN_DISABLED);

    assert_int_equal(admin_init(&admin, NULL, "correct-horse", true, err, sizeof(err)), 0);
    assert_int_equal(admin_check(&admin, "Bearer correct-horse"), ADMIN_YES);
    assert_int_equal(admin_check(&admin, "bearer correct-horse"), ADMIN_YES);
    assert_int_equal(admin_check(&admin, "Bearer correct-hors"), ADMIN_TOKEN_WRONG);
    assert_int_equal(admin_check(&admin, "Bearer correct-horse1"), ADMIN_TOKEN_WRONG);
    assert_int_equal(admin_check(&admin, "Bearer "), ADMIN_TOKEN_WRONG);
    assert_int_equal(admin_check(&admin, "Basic correct-horse"), ADMIN_TOKEN_MISSING);
    assert_int_equal(admin_check(&admin, NULL), ADMIN_TOKEN_MISSING);
    assert_int_equal(admin_init(&admin, NULL, "short", true, err, sizeof(err)), -1);
}

static void the_token_may_come_from_a_file(void **state)
{
    (void)state;
    fs_admin admin;
    char dir[256], path[300], err[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/token", dir);
    assert_int_equal(admin_init(&admin, path, NULL, true, err, sizeof(err)), -1);
    assert_non_null(strstr(err, path));
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "from-a-file\n", 12), 12);
    close(fd);
    assert_int_equal(admin_init(&admin, path, NULL, true, err, sizeof(err)), 0);
    assert_int_equal(admin_check(&admin, "Bearer from-a-file"), ADMIN_YES);
    fx_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_token_opens_what_is_the_admin_s),
        cmocka_unit_test(the_token_may_come_from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
