/*
 * Copies the page and puts style, data and scripts where it has its marks.
 */
#include "loadtest/report/report.h"

#include "loadtest/report/page/charts.js.h"
#include "loadtest/report/page/page.html.h"
#include "loadtest/report/page/report.js.h"
#include "loadtest/report/page/style.css.h"

#include <string.h>

/* JSON inside of <script>: the only thing that could end the element is "</", so no "<" is left. */
static void write_data(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<')
            fputs("\\u003c", out);
        else
            fputc(*json, out);
    }
}

static bool starts_with(const char *text, const char *mark)
{
    return strncmp(text, mark, strlen(mark)) == 0;
}

bool report_html(FILE *out, const char *json)
{
    for (const char *at = PAGE_HTML; *at != '\0';) {
        if (starts_with(at, "@STYLE@")) {
            fputs(STYLE_CSS, out);
        } else if (starts_with(at, "@DATA@")) {
            write_data(out, json);
        } else if (starts_with(at, "@SCRIPT@")) {
            fputs(CHARTS_JS, out);
            fputs(REPORT_JS, out);
        } else {
            fputc(*at++, out);
            continue;
        }
        at = strchr(at + 1, '@') + 1;
    }
    return fflush(out) == 0 && !ferror(out);
}
