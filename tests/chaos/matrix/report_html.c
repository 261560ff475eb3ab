/*
 * report_html.c - matrix.html, in the style of the load test's report: the table, in which a cell
 * is a colour, a figure and a link; below, each cell with the command that repeats it alone.
 */
#include "loadtest/report/parts/style.css.h"
#include "tests/chaos/matrix/matrix.h"

static const char own_style[] =
    "main { max-width: none; }\n"
    ".matrix { overflow-x: auto; }\n"
    ".matrix table { border-collapse: collapse; font-size: .8rem; }\n"
    ".matrix th, .matrix td { border: 1px solid var(--line); padding: .15rem .4rem; "
    "text-align: center; white-space: nowrap; }\n"
    ".matrix tbody th { text-align: left; position: sticky; left: 0; background: var(--paper); }\n"
    ".matrix a { color: inherit; text-decoration: none; display: block; }\n"
    ".HELD { color: var(--good); }\n"
    ".BROKEN { color: var(--paper); background: var(--bad); font-weight: 600; }\n"
    ".NOT_COVERED { color: var(--doubt); }\n"
    ".INCONCLUSIVE { background: var(--panel); font-style: italic; }\n"
    ".SKIPPED { color: var(--soft); }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }\n"
    "dd { margin: 0; }\n"
    "@media (max-width: 40rem) { dl { display: block; } }\n"
    ".cell { border-top: 1px solid var(--line); padding: .4rem 0; }\n"
    ".cell:target { background: var(--panel); }\n";

static void escape(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

static int number_of(const matrix *m, const matrix_cell *c)
{
    return (int)(c - m->cells);
}

static void table_line(const matrix *m, const fault *f, FILE *out)
{
    char text[128];
    fputs("<tr><th scope=\"row\" title=\"", out);
    escape(out, f->says);
    fprintf(out, "\">%s</th>", f->name);
    for (int i = 0; plan_row(i); i++) {
        const matrix_cell *c = matrix_find(m, plan_row(i), f->name);
        if (!matrix_has_row(m, plan_row(i)))
            continue;
        if (!c) {
            fputs("<td></td>", out);
            continue;
        }
        fprintf(out, "<td class=\"%s\"><a href=\"#c%d\">", verdict_word(c->verdict),
                number_of(m, c));
        escape(out, matrix_text(c, text, sizeof(text)));
        fputs("</a></td>", out);
    }
    fputs("</tr>\n", out);
}

static void table(const matrix *m, FILE *out)
{
    fputs("<div class=\"matrix\"><table><thead><tr><td></td>", out);
    for (int i = 0; plan_row(i); i++) {
        if (matrix_has_row(m, plan_row(i)))
            fprintf(out, "<th scope=\"col\">%s</th>", plan_row(i));
    }
    fputs("</tr></thead><tbody>\n", out);
    for (int f = 0; faults[f]; f++) {
        if (matrix_has_fault(m, faults[f]))
            table_line(m, faults[f], out);
    }
    fputs("</tbody></table></div>\n", out);
}

static void details(const matrix *m, const matrix_cell *c, FILE *out)
{
    fprintf(out,
            "<div class=\"cell\" id=\"c%d\"><strong>%s</strong> under <strong>%s</strong>: "
            "<span class=\"%s\">%s</span>",
            number_of(m, c), c->row.name, c->fault->name, verdict_word(c->verdict),
            verdict_word(c->verdict));
    fprintf(out, "<br>Runs: %d", c->runs);
    if (c->tries > c->runs)
        fprintf(out, " (%d more were inconclusive, and made again)", c->tries - c->runs);
    fprintf(out, ". Landed: %lld (%s)", c->landed, c->fault->counts);
    for (int i = 0; i < FIGURES; i++) {
        if (c->figures[i] > 0)
            fprintf(out, "; %s %lld%s", figure_names[i], c->figures[i],
                    c->untold[i] ? " at least" : "");
        else if (c->untold[i] && c->verdict != SKIPPED)
            fprintf(out, "; %s not known", figure_names[i]);
    }
    if (c->violated[0] != '\0')
        fprintf(out, "; violated: %s", c->violated);
    if (c->why[0] != '\0') {
        fputs("<br>", out);
        escape(out, c->why);
    }
    fprintf(out, "<br><code>%s</code></div>\n", matrix_command(c));
}

static void legend(const matrix *m, FILE *out)
{
    fputs("<section><h2>Faults</h2><dl>\n", out);
    for (int f = 0; faults[f]; f++) {
        if (!matrix_has_fault(m, faults[f]))
            continue;
        fprintf(out, "<dt><code>%s</code></dt><dd>", faults[f]->name);
        escape(out, faults[f]->says);
        fputs("</dd>\n", out);
    }
    fputs("</dl></section>\n", out);
}

bool matrix_html(const matrix *m, FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<title>flashsale: strategies and faults</title>\n<style>\n%s%s</style>\n</head>\n"
            "<body>\n<main>\n<h1>Strategies × faults</h1>\n",
            STYLE_CSS, own_style);
    fprintf(out,
            "<p>Three instances on a real Redis; seed %llu. %d cells: %d held, %d broken, %d not "
            "covered by the row's durability (in parentheses: what was lost), %d inconclusive, %d "
            "not for their row.</p>\n",
            (unsigned long long)m->seed, m->len, m->counts[HELD], m->counts[BROKEN],
            m->counts[NOT_COVERED], m->counts[INCONCLUSIVE], m->counts[SKIPPED]);
    if (m->planted > 0)
        fprintf(out,
                "<p>Defects planted into copies of the lock and the sale: %d of %d caught.</p>\n",
                m->caught, m->planted);
    table(m, out);
    legend(m, out);
    fputs("<section><h2>Cells</h2>\n", out);
    for (int i = 0; i < m->len; i++)
        details(m, &m->cells[i], out);
    fputs("</section>\n</main>\n</body>\n</html>\n", out);
    return !ferror(out);
}
