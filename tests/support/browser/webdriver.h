/*
 * webdriver.h - a page in Debian's chromium, headless, worked as a person would: by WebDriver,
 * which chromedriver serves (https://www.w3.org/TR/webdriver2/), and a few commands of the
 * browser's own.
 *
 * Promises
 *   - The browser and its driver are this program's own, on ports that they chose themselves, with
 * a fresh profile. Both end with the program, however it ends; nothing else is signalled.
 *   - What is asked of the page is answered within BROWSER_MS, or the running test fails.
 *   - Whatever the browser complained about, and every address that it asked, can be read
 * afterwards.
 *
 *     fx_browser *b = fx_browser_start();
 *     fx_browser_open(b, "http://127.0.0.1:7000/");
 *     fx_browser_click(b, "#buy");
 *     fx_browser_await(b, "document.querySelector('#sold').textContent === '1'");
 *     fx_browser_stop(b);
 *
 * Elements are named by CSS selectors. A `script` is JavaScript, as for printf(), inside a
 * function: it says `return`; a `condition` is an expression. For the main thread.
 */
#ifndef TESTS_SUPPORT_BROWSER_WEBDRIVER_H
#define TESTS_SUPPORT_BROWSER_WEBDRIVER_H

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"

enum { BROWSER_MS = 30000 };

typedef struct fx_browser fx_browser;

/* Whether chromium and chromedriver are installed. */
bool fx_browser_is_there(void);

/* Ends the running case as skipped where they are not. */
#define fx_need_browser()                                                                          \
    do {                                                                                           \
        if (!fx_browser_is_there())                                                                \
            fx_skip("chromium and chromium-driver are not installed");                             \
    } while (0)

fx_browser *fx_browser_start(void);
void fx_browser_stop(fx_browser *b); /* NULL is allowed */

/* ---- the page -------------------------------------------------------------------------------- */

/* Opens a page, and waits until it and what it names has been loaded. */
void fx_browser_open(fx_browser *b, const char *url);

/* Runs a script in the page. What it returned; free with cJSON_Delete(). A script that throws fails
 * the test. */
cJSON *fx_browser_run(fx_browser *b, const char *script, ...) __attribute__((format(printf, 2, 3)));

/* The same for what it does alone. */
void fx_browser_do(fx_browser *b, const char *script, ...) __attribute__((format(printf, 2, 3)));

/* Likewise, as a text, a number or a truth; another type fails the test. The text is valid until
 * the next call. */
const char *fx_browser_text(fx_browser *b, const char *script, ...)
    __attribute__((format(printf, 2, 3)));
double fx_browser_number(fx_browser *b, const char *script, ...)
    __attribute__((format(printf, 2, 3)));
bool fx_browser_holds(fx_browser *b, const char *condition, ...)
    __attribute__((format(printf, 2, 3)));

/* Waits until a condition holds; fails the test, with what the page shows, when it does not. */
void fx_browser_await(fx_browser *b, const char *condition, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- as a person ----------------------------------------------------------------------------- */

/* Clicks in the middle of an element, which must be visible and covered by nothing. */
void fx_browser_click(fx_browser *b, const char *selector);

/* Types into an element what is to stand there instead of what does. */
void fx_browser_type(fx_browser *b, const char *selector, const char *text);

/* Waits until a select element has an option of that value, and chooses it. */
void fx_browser_choose(fx_browser *b, const char *selector, const char *value);

/* Presses keys, one after the other, wherever the focus is: letters, and the names below. */
void fx_browser_press(fx_browser *b, const char *keys);

#define KEY_TAB   "\xee\x80\x84" /* U+E004, and so on: as WebDriver numbers them */
#define KEY_ENTER "\xee\x80\x87"
#define KEY_SPACE " "

/* ---- how it looks ---------------------------------------------------------------------------- */

/* The size of the window's inside, as of a telephone of that width where it is below 500. */
void fx_browser_resize(fx_browser *b, int width, int height);

/* Colours: "light" or "dark". */
void fx_browser_prefer(fx_browser *b, const char *colours);

/* The whole page as a picture (PNG), also what is below the window's edge. */
void fx_browser_shoot(fx_browser *b, const char *path);

/* What the window shows of it. */
void fx_browser_clip(fx_browser *b, const char *path);

/* Has a script run in every page that is opened from now on, before its own; until it is let go.
 * The token is for that. */
cJSON *fx_browser_plant(fx_browser *b, const char *script);
void fx_browser_weed(fx_browser *b, cJSON *planted);

/* One command of the browser's own (Chrome DevTools Protocol); params may be NULL, and is taken
 * over. Free the answer with cJSON_Delete(). */
cJSON *fx_browser_command(fx_browser *b, const char *name, cJSON *params);

/* ---- what it said and asked ------------------------------------------------------------------ */

/* The console since the last call, with scripts' errors and violated policies: an array of objects
 * with "level", "source" and "message". Free with cJSON_Delete(). */
cJSON *fx_browser_console(fx_browser *b);

/* The addresses asked since the last call, one a line. Free it. */
char *fx_browser_asked(fx_browser *b);

#endif
