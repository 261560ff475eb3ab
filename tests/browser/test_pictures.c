/*
 * test_pictures.c - pictures of the live page and of the load test's report, as a browser shows
 * them; kept under the build, in pictures/. `make pictures` sets FX_PICTURES, so that the sale goes
 * on until the charts of a minute are full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/support/browser/live.h"

enum { README_MOST = 200 * 1024, LEAST = 10 * 1024, WIDTH = 1280 };

static char dir[256], pictures[256];
static bool with_care; /* not only to see that it can be done */

static const char *path_of(const char *name, char *buf, size_t len)
{
    snprintf(buf, len, "%s/%s", pictures, name);
    return buf;
}

static long size_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? (long)file.st_size : 0;
}

/* The whole page. */
static void shoot(const char *name)
{
    char path[512];
    fx_browser_do(live_browser, "scrollTo(0, 0)");
    fx_browser_shoot(live_browser, path_of(name, path, sizeof(path)));
    assert_true(size_of(path) > LEAST);
}

/* For README.md: what one sees first, so many pixels high. */
static void shoot_top(const char *name, int height)
{
    char path[512];
    fx_browser_resize(live_browser, WIDTH, height);
    fx_browser_clip(live_browser, path_of(name, path, sizeof(path)));
    assert_in_range(size_of(path), LEAST, README_MOST);
}

/* A crowd that goes on buying in the background. */
static fx_process *start_crowd(const char *duration)
{
    char program[512];
    const char *const words[] = {fx_build_path("loadtest", program, sizeof(program)),
                                 "run",
                                 "--strategy",
                                 "combined",
                                 "--stock",
                                 "40000",
                                 "--hold-ms",
                                 "20",
                                 "--rate",
                                 "450",
                                 "--arrivals",
                                 "poisson",
                                 "--duration",
                                 duration,
                                 "--target",
                                 fx_server_url(fx.server[0]),
                                 "--target",
                                 fx_server_url(fx.server[1]),
                                 "--target",
                                 fx_server_url(fx.server[2]),
                                 NULL};
    return fx_spawn(words, true);
}

static bool is_compared(void *arg)
{
    (void)arg;
    return fx_browser_holds(live_browser,
                            "document.querySelector('#verdict').dataset.oversoldLocked");
}

/* An unlocked and a locked sale, on the books of one page. */
static void compare(void)
{
    fx_browser_click(live_browser, "#compare");
    assert_true(fx_wait_until(is_compared, NULL, 3 * BROWSER_MS)); /* a crowd takes its time */
}

static void of_the_live_page(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    if (with_care)
        compare();
    fx_process *crowd = start_crowd(with_care ? "75s" : "20s");
    live_await_number("initial", 40000);
    fx_browser_await(live_browser, "document.querySelectorAll('#latest tbody tr').length === 10");
    if (with_care) /* until the charts of the last minute are full */
        fx_let_pass(62000);
    fx_browser_await(live_browser, "document.querySelector('#instances .holds:not([hidden])')");
    int end = (int)fx_browser_number(
        live_browser,
        "return document.querySelector('#live').getBoundingClientRect().top + scrollY");
    shoot_top("page.png", end); /* the two experiments: what tells it from others */
    live_open(fx.server[0], "/");
    shoot("desktop.png");
    fx_browser_prefer(live_browser, "dark");
    shoot("dark.png");
    fx_browser_resize(live_browser, 375, 812);
    shoot("phone-dark.png");
    fx_browser_prefer(live_browser, "light");
    shoot("phone.png");
    fx_process_free(crowd);
    live_clean(NULL);
}

static void of_a_comparison(void **state)
{
    (void)state;
    live_open(fx.server[0], "/?item=P0001");
    compare();
    live_unfold("orders");
    live_unfold("try");
    shoot("compared.png");
    live_clean(NULL);
}

static void of_a_report(void **state)
{
    (void)state;
    int code;
    char page[300], url[320];
    fx_need_browser();
    snprintf(page, sizeof(page), "%s/report.html", dir);
    cJSON_Delete(
        fx_loadtest(FX_ARGS("compare", "--strategies", "none,setnx,fair,combined,atomic", "--stock",
                            with_care ? "1000" : "100", "--requests", with_care ? "5000" : "1000",
                            "--users", "100", "--runs", with_care ? "3" : "1", "--redis-info",
                            fx_redis_url(fx.redis), "--html", page),
                    300000, &code));
    assert_int_equal(code, 0);
    snprintf(url, sizeof(url), "file://%s", page);
    fx_browser_prefer(live_browser, "light");
    fx_browser_resize(live_browser, WIDTH, 900);
    fx_browser_open(live_browser, url);
    fx_browser_await(live_browser, "document.documentElement.dataset.view");
    shoot("report-whole.png");
    shoot_top("report.png", 1016);
}

static void of_the_readme_are_there_and_small(void **state)
{
    (void)state;
    static const char *const names[] = {"server/page/pictures/page.png",
                                        "loadtest/report/pictures/report.png"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fx_shell("grep -qF \"($1)\" README.md", names[i], 10000), 0);
        assert_in_range(size_of(names[i]), LEAST, README_MOST);
    }
}

static int setup(void **state)
{
    with_care = getenv("FX_PICTURES") != NULL;
    mkdir(fx_build_path("pictures", pictures, sizeof(pictures)), 0755);
    fx.plan = (fx_plan){.instances = 3, .args = FX_ARGS(FX_P0001)};
    fx_dir_make(dir, sizeof(dir));
    return live_start(state);
}

static int teardown(void **state)
{
    fx_dir_remove(dir);
    return live_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_live_page),
        cmocka_unit_test(of_a_comparison),
        cmocka_unit_test(of_a_report),
        cmocka_unit_test(of_the_readme_are_there_and_small),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
