/*
 * live.h - the live page of a service, opened in a browser: service.h with a page before it.
 *
 *     static void it_shows_the_stock(void **state)
 *     {
 *         live_open(fx.server[0], "/");
 *         live_await_number("sold", 0);
 *         live_clean(NULL);
 *     }
 *
 *     return live_run(tests, .instances = 3);
 *
 * A case begins with live_open(), which skips it where there is no browser, and ends with
 * live_clean(): whatever the browser complained about, or asked of anybody else, fails it.
 */
#ifndef TESTS_SUPPORT_BROWSER_LIVE_H
#define TESTS_SUPPORT_BROWSER_LIVE_H

#include "tests/support/browser/webdriver.h"
#include "tests/support/service.h"

extern fx_browser *live_browser;

/* As fx_run(). */
#define live_run(tests, ...)                                                                       \
    (fx.plan = (fx_plan){__VA_ARGS__}, cmocka_run_group_tests(tests, live_start, live_stop))

int live_start(void **state);
int live_stop(void **state);

/* Opens an instance's page, at the size of a desk and by day, and waits until it shows something.
 */
void live_open(fx_server *server, const char *path);

/* Opens what is folded on the page, by the id of its <details>, as a person does. */
void live_unfold(const char *id);

/* What the browser complained about since the page was opened, but what contains one of `forgiven`
 * (NULL, or ending with NULL), and the addresses elsewhere that it asked; "" when there is nothing.
 * A buy that is refused (409, 503) is an error to the browser, not to us. Free it. */
char *live_complaints(const char *const *forgiven);

/* Fails unless there is nothing. */
void live_clean(const char *const *forgiven);

/* The number that an element shows, by its id; and waits until it is so. */
int live_number(const char *id);
void live_await_number(const char *id, int number);

/* Waits until initial, sold, remaining and oversold are those of GET /stock?item=ITEM. */
void live_await_agreement(const char *item);

#endif
