/*
 * Copies the page and puts title, style, data and scripts where it has its marks, in this order.
 */
#include "loadtest/report/report.h"

#include "loadtest/report/page/bench.js.h"
#include "loadtest/report/page/charts.js.h"
#include "loadtest/report/page/lines.js.h"
#include "loadtest/report/page/page.html.h"
#include "loadtest/report/page/page.js.h"
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

/* The page with its four parts where it has its marks. */
static bool write_page(FILE *out, const char *title, const char *script, const char *json)
{
    const struct {
        const char *mark, *text; /* NULL: the data */
    } parts[] = {
        {"@TITLE@", title}, {"@STYLE@", STYLE_CSS}, {"@DATA@", NULL}, {"@SCRIPT@", script}};
    const char *at = PAGE_HTML;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *mark = strstr(at, parts[i].mark);
        fwrite(at, 1, (size_t)(mark - at), out);
        if (parts[i].text)
            fputs(parts[i].text, out);
        else
            write_data(out, json);
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, out);
    return fflush(out) == 0 && !ferror(out);
}

bool report_html(FILE *out, const char *json)
{
    return write_page(out, "flashsale load test", CHARTS_JS PAGE_JS REPORT_JS, json);
}

bool report_chart(FILE *out, const char *json)
{
    return write_page(out, "flashsale bench", CHARTS_JS PAGE_JS LINES_JS BENCH_JS, json);
}
