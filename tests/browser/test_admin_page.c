/*
 * test_admin_page.c - who may start a sale from the live page: everybody, who has the token,
 * nobody.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/browser/live.h"

#define TOKEN "correct-horse-battery"

static char dir[256];

static int setup(void **state)
{
    fx_dir_make(dir, sizeof(dir));
    return live_start(state);
}

static int teardown(void **state)
{
    fx_dir_remove(dir);
    return live_stop(state);
}

/* A case has an instance of its own. */
static int stop_instance(void **state)
{
    (void)state;
    fx_server_kill(fx.server[0]);
    fx.server[0] = NULL;
    return 0;
}

static void start_with_token(void)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/token", dir);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(TOKEN "\n", out);
    fclose(out);
    fx.server[0] =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001, "--admin-token-file", path));
}

static void await_saying(const char *id, const char *words)
{
    fx_browser_await(live_browser, "document.getElementById('%s').textContent.includes('%s')", id,
                     words);
}

/* The sale has stock left: the button asks once. */
static void press_start(const char *answer)
{
    live_unfold("try");
    fx_browser_click(live_browser, "#start-sale");
    await_saying("sale-said", "Press again");
    fx_browser_await(live_browser, "!document.querySelector('#start-sale').disabled");
    fx_browser_click(live_browser, "#start-sale");
    await_saying("sale-said", answer);
}

static void the_token_starts_a_sale_and_no_other_does(void **state)
{
    (void)state;
    char before[64];
    start_with_token();
    snprintf(before, sizeof(before), "%s", fx_current_sale("P0001"));
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "document.querySelector('#admin-token').checkVisibility()");
    press_start("token_missing");
    fx_browser_type(live_browser, "#admin-token", "wrong-horse-battery");
    press_start("token_wrong");
    assert_string_equal(fx_current_sale("P0001"), before);
    fx_browser_type(live_browser, "#admin-token", TOKEN);
    press_start("Started");
    assert_string_not_equal(fx_current_sale("P0001"), before);
    live_clean((const char *const[]){"/sales", NULL}); /* 401, 403 */
}

/* It is kept in its tab, and stands in no address. */
static void the_token_is_kept_where_nobody_looks(void **state)
{
    (void)state;
    start_with_token();
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "document.querySelector('#admin-token').checkVisibility()");
    fx_browser_type(live_browser, "#admin-token", TOKEN);
    press_start("Started");
    char *asked = fx_browser_asked(live_browser);
    assert_null(strstr(asked, TOKEN));
    free(asked);
    assert_true(fx_browser_holds(live_browser, "localStorage.length === 0 && document.cookie === ''"
                                               "&& !location.href.includes('" TOKEN "')"
                                               "&& !document.body.innerText.includes('" TOKEN "')"
                                               "&& document.querySelector('#admin-token').type"
                                               "  === 'password'"));
    fx_browser_do(live_browser, "location.reload()");
    fx_browser_await(live_browser, "document.querySelector('#admin-token')?.value === '" TOKEN "'");
    live_clean(NULL);
}

static void nobody_may_where_there_is_no_token_beyond_loopback(void **state)
{
    (void)state;
    fx.server[0] =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001, "--listen", "0.0.0.0:0"));
    live_open(fx.server[0], "/");
    await_saying("admin-said", "--admin-token-file");
    fx_browser_await(live_browser, "document.querySelector('#start-sale').disabled");
    fx_browser_await(live_browser, "document.querySelector('#compare').disabled");
    fx_browser_click(live_browser, "#buy"); /* may everybody */
    await_saying("said", "Bought");
    live_clean(NULL);
}

static void everybody_may_on_loopback_without_one(void **state)
{
    (void)state;
    fx.server[0] = fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001));
    live_open(fx.server[0], "/");
    assert_true(fx_browser_holds(live_browser,
                                 "!document.querySelector('#admin-token').checkVisibility() &&"
                                 "!document.querySelector('#stop-holder').checkVisibility() &&"
                                 "!document.querySelector('#start-sale').disabled"));
    press_start("Started");
    live_clean(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_token_starts_a_sale_and_no_other_does, stop_instance),
        cmocka_unit_test_teardown(the_token_is_kept_where_nobody_looks, stop_instance),
        cmocka_unit_test_teardown(nobody_may_where_there_is_no_token_beyond_loopback,
                                  stop_instance),
        cmocka_unit_test_teardown(everybody_may_on_loopback_without_one, stop_instance),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
