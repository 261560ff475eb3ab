/* session.h - what webdriver.c and page.c share. */
#ifndef TESTS_SUPPORT_BROWSER_SESSION_H
#define TESTS_SUPPORT_BROWSER_SESSION_H

#include "tests/support/browser/webdriver.h"

struct fx_browser {
    fx_process *browser, *driver;
    int browser_port, driver_port;
    char profile[256]; /* directory */
    char session[64];  /* "" = none yet */
    char *text;        /* what fx_browser_text() returned last */
};

/* One command of WebDriver: what it answered as "value"; free with cJSON_Delete(). A refusal fails
 * the test. `body` is taken over; NULL: none. */
cJSON *session_command(fx_browser *b, const char *method, const char *path, cJSON *body);

/* A POST whose answer is of no interest. */
void session_order(fx_browser *b, const char *path, cJSON *body);

#endif
