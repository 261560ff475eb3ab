/*
 * browser.h - looking at a page of the load test in Debian's chromium, headless.
 *
 * chromium's window is never narrower than 500 pixels; a frame can be, so a page is also looked at
 * inside of one, by a script that leaves what it saw in attributes of its own page.
 */
#ifndef TESTS_LOADTEST_REPORT_BROWSER_H
#define TESTS_LOADTEST_REPORT_BROWSER_H

#include "tests/support/fixture.h"

#include <stdlib.h>
#include <string.h>

#define BROWSER_MS 60000

struct look {
    char *dom;     /* after all scripts ran */
    char *console; /* what scripts and the browser complained about */
};

static inline bool browser_is_there(void)
{
    return fx_shell("command -v chromium >/dev/null", "", 10000) == 0;
}

/*
 * Writes a page to `file` that has `page`, a file beside it, in a frame of that width. When it is
 * there, `script` looks at it as `report`; `own` is the element of its own page.
 */
static inline void browser_frame(const char *file, const char *page, int width, const char *script)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fprintf(out,
            "<!DOCTYPE html><script>function look(report) { const own = document.documentElement;\n"
            "%s }</script><iframe src=\"%s\" width=\"%d\" height=\"800\" "
            "style=\"border:0\" onload=\"look(this.contentDocument)\"></iframe>\n",
            script, page, width);
    fclose(out);
}

/* Opens a file with dark ("0") or light ("1") colours; `dir` keeps the browser's profile. */
static inline struct look look_at(const char *dir, const char *file, const char *colours)
{
    char url[512], profile[512], scheme[64];
    snprintf(url, sizeof(url), "file://%s", file);
    snprintf(profile, sizeof(profile), "--user-data-dir=%s/profile", dir);
    snprintf(scheme, sizeof(scheme), "--blink-settings=preferredColorScheme=%s", colours);
    const char *const words[] = {"chromium",
                                 "--headless",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--disable-dev-shm-usage",
                                 "--hide-scrollbars",
                                 "--enable-logging=stderr",
                                 "--allow-file-access-from-files",
                                 "--window-size=1200,900",
                                 "--dump-dom",
                                 scheme,
                                 profile,
                                 url,
                                 NULL};
    fx_process *browser = fx_spawn(words, true);
    if (fx_process_wait(browser, BROWSER_MS) != 0)
        fail_msg("chromium did not end well: %s", fx_process_stderr(browser));
    struct look look = {.dom = strdup(fx_process_stdout(browser)),
                        .console = strdup(fx_process_stderr(browser))};
    fx_process_free(browser);
    return look;
}

static inline void look_away(struct look *look)
{
    free(look->dom);
    free(look->console);
}

/* Whether a script, or the browser about the page, had to complain. */
static inline bool look_is_clean(const struct look *look)
{
    return !strstr(look->console, ":CONSOLE:") && !strstr(look->console, ":CONSOLE(") &&
           !strstr(look->console, "Uncaught");
}

#endif
