/* live.c - see live.h. */
#include "tests/support/browser/live.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/patience.h"

#define NUMBER_OF "Number(document.getElementById('%s').textContent.replace(/[^0-9]/g, '') || NaN)"

fx_browser *live_browser;

static char origin[128]; /* of the page that is open, with the "/" behind it */

int live_start(void **state)
{
    if (fx_browser_is_there())
        live_browser = fx_browser_start();
    return fx_service_start(state);
}

int live_stop(void **state)
{
    fx_browser_stop(live_browser);
    return fx_service_stop(state);
}

void live_open(fx_server *server, const char *path)
{
    char url[512];
    fx_need_browser();
    fx_browser_resize(live_browser, 1280, 900);
    fx_browser_prefer(live_browser, "light");
    snprintf(origin, sizeof(origin), "%s/", fx_server_url(server));
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    fx_browser_open(live_browser, "about:blank");
    cJSON_Delete(fx_browser_console(live_browser)); /* of a case before */
    free(fx_browser_asked(live_browser));
    fx_browser_open(live_browser, url);
    fx_browser_await(live_browser, "document.documentElement.dataset.ready === 'yes'");
}

void live_unfold(const char *id)
{
    char summary[64];
    snprintf(summary, sizeof(summary), "#%s > summary", id);
    if (!fx_browser_holds(live_browser, "document.getElementById('%s').open", id))
        fx_browser_click(live_browser, summary);
    fx_browser_await(live_browser, "document.getElementById('%s').open", id);
}

/* ---- complaints ------------------------------------------------------------------------------ */

static bool has_one_of(const char *text, const char *const *words)
{
    for (; words && *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

static void put_complaints(FILE *out, const char *const *forgiven)
{
    static const char *const refusals[] = {"status of 409", "status of 503", NULL};
    const cJSON *entry;
    cJSON *console = fx_browser_console(live_browser);
    cJSON_ArrayForEach(entry, console) {
        const char *message = fx_json_text(entry, "message");
        bool refused = strstr(message, "/buy?") && has_one_of(message, refusals);
        bool late = fx_is_crowded() && strstr(message, " 503 (");
        if (!refused && !late && !has_one_of(message, forgiven))
            fprintf(out, "%s: %s\n", fx_json_text(entry, "source"), message);
    }
    cJSON_Delete(console);
}

static void put_strangers(FILE *out)
{
    char *rest = NULL, *asked = fx_browser_asked(live_browser);
    for (char *url = strtok_r(asked, "\n", &rest); url; url = strtok_r(NULL, "\n", &rest))
        if (strncmp(url, origin, strlen(origin)) != 0)
            fprintf(out, "asked elsewhere: %s\n", url);
    free(asked);
}

char *live_complaints(const char *const *forgiven)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    put_complaints(out, forgiven);
    put_strangers(out);
    fclose(out);
    return text;
}

void live_clean(const char *const *forgiven)
{
    char *complaints = live_complaints(forgiven);
    if (complaints[0] != '\0')
        fail_msg("%s", complaints);
    free(complaints);
}

/* ---- numbers --------------------------------------------------------------------------------- */

int live_number(const char *id)
{
    return (int)fx_browser_number(live_browser, "return " NUMBER_OF " || 0;", id);
}

void live_await_number(const char *id, int number)
{
    fx_browser_await(live_browser, NUMBER_OF " === %d", id, number);
}

void live_await_agreement(const char *item)
{
    cJSON *stock = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /stock?item=%s", item));
    live_await_number("initial", (int)fx_json_number(stock, "initial"));
    live_await_number("remaining", (int)fx_json_number(stock, "remaining"));
    live_await_number("oversold", (int)fx_json_number(stock, "oversold"));
    live_await_number("sold", (int)fx_json_number(stock, "units"));
    cJSON_Delete(stock);
}
