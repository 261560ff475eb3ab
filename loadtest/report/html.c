/*
 * Copies the page and fills its marks with title, style, data and scripts, in this order.
 *
 * The scripts are modules that import each other, which modules in one file cannot do. So they are
 * joined into one module, without imports and exports; no two of them may share a name, and each
 * import is one line.
 */
#include "loadtest/report/report.h"

#include "loadtest/report/page/bench.js.h"
#include "loadtest/report/page/lines.js.h"
#include "loadtest/report/page/page.html.h"
#include "loadtest/report/page/page.js.h"
#include "loadtest/report/page/report.css.h"
#include "loadtest/report/page/report.js.h"
#include "loadtest/report/page/spread.js.h"
#include "loadtest/report/parts/charts.js.h"
#include "loadtest/report/parts/numbers.js.h"
#include "loadtest/report/parts/style.css.h"
#include "loadtest/report/parts/svg.js.h"
#include "loadtest/report/parts/tables.js.h"

#include <string.h>

/* Writes JSON inside <script>: only "</" could end the element, so every "<" is escaped. */
static void write_data(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<')
            fputs("\\u003c", out);
        else
            fputc(*json, out);
    }
}

static void write_script(FILE *out, const char *script)
{
    static const char import_[] = "import ", export_[] = "export ";
    for (size_t len; *script != '\0'; script += len) {
        len = strcspn(script, "\n") + 1;
        if (strncmp(script, import_, sizeof(import_) - 1) == 0)
            continue;
        size_t cut = strncmp(script, export_, sizeof(export_) - 1) == 0 ? sizeof(export_) - 1 : 0;
        fwrite(script + cut, 1, len - cut, out);
    }
}

/* The page with its four parts where it has its marks. */
static bool write_page(FILE *out, const char *title, const char *script, const char *json)
{
    const struct {
        const char *mark, *text; /* NULL: the data */
    } parts[] = {{"@TITLE@", title},
                 {"@STYLE@", STYLE_CSS REPORT_CSS},
                 {"@DATA@", NULL},
                 {"@SCRIPT@", script}};
    const char *at = PAGE_HTML;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *mark = strstr(at, parts[i].mark);
        fwrite(at, 1, (size_t)(mark - at), out);
        if (!parts[i].text)
            write_data(out, json);
        else if (parts[i].text == script)
            write_script(out, script);
        else
            fputs(parts[i].text, out);
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, out);
    return fflush(out) == 0 && !ferror(out);
}

#define SHARED NUMBERS_JS SVG_JS TABLES_JS PAGE_JS

bool report_html(FILE *out, const char *json)
{
    return write_page(out, "flashsale load test", SHARED CHARTS_JS SPREAD_JS REPORT_JS, json);
}

bool report_chart(FILE *out, const char *json)
{
    return write_page(out, "flashsale bench", SHARED LINES_JS BENCH_JS, json);
}
