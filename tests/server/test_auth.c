/* test_auth.c - the admin's token: where it comes from, and what it opens. */
#include "tests/support/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/api/auth.h"

/* Whether the header is refused with this code; NULL: it is admitted. */
static void assert_refused(const fs_auth *auth, const char *authorization, const char *code)
{
    api_reply reply;
    reply_init(&reply);
    bool admitted = auth_admit(auth, authorization, &reply);
    assert_int_equal(admitted, code == NULL);
    if (!admitted)
        assert_non_null(strstr(text_bytes(&reply.body), code));
    reply_free(&reply);
}

static void only_the_token_opens_what_is_the_admin_s(void **state)
{
    (void)state;
    fs_auth auth;
    char err[256];
    assert_int_equal(auth_init(&auth, NULL, NULL, true, err, sizeof(err)), 0);
    assert_refused(&auth, NULL, NULL);
    assert_int_equal(auth_init(&auth, NULL, NULL, false, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer x", "admin_disabled");

    assert_int_equal(auth_init(&auth, NULL, "correct-horse", true, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer correct-horse", NULL);
    assert_refused(&auth, "bearer correct-horse", NULL);
    assert_refused(&auth, "Bearer correct-hors", "token_wrong");
    assert_refused(&auth, "Bearer correct-horse1", "token_wrong");
    assert_refused(&auth, "Bearer ", "token_wrong");
    assert_refused(&auth, "Basic correct-horse", "token_missing");
    assert_refused(&auth, NULL, "token_missing");
    assert_int_equal(auth_init(&auth, NULL, "short", true, err, sizeof(err)), -1);
}

static void the_token_may_come_from_a_file(void **state)
{
    (void)state;
    fs_auth auth;
    char dir[256], path[300], err[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/token", dir);
    assert_int_equal(auth_init(&auth, path, NULL, true, err, sizeof(err)), -1);
    assert_non_null(strstr(err, path));
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "from-a-file\n", 12), 12);
    close(fd);
    assert_int_equal(auth_init(&auth, path, NULL, true, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer from-a-file", NULL);
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
