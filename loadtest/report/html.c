/*
 * Copies the page and puts style, data and scripts where it has its marks, in this order.
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

bool report_html(FILE *out, const char *json)
{
    static const struct {
        const char *mark, *text; /* NULL: the data */
    } parts[] = {{"@STYLE@", STYLE_CSS}, {"@DATA@", NULL}, {"@SCRIPT@", CHARTS_JS REPORT_JS}};
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
