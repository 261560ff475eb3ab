/*
 * report_md.c - matrix.md: a line for each fault, a column for each strategy; then the faults that
 * a sale in Redis's memory does not bear, with the durability that does.
 */
#include "tests/chaos/matrix/matrix.h"

static bool is_plain(const char *name)
{
    return strchr(name, ':') == NULL;
}

/* One table: the rows that are plain, or those that are not. */
static void table(const matrix *m, FILE *out, bool plain)
{
    char text[128];
    fputs("| |", out);
    for (int i = 0; plan_row(i); i++) {
        if (matrix_has_row(m, plan_row(i)) && is_plain(plan_row(i)) == plain)
            fprintf(out, " %s |", plan_row(i));
    }
    fputs("\n|---|", out);
    for (int i = 0; plan_row(i); i++) {
        if (matrix_has_row(m, plan_row(i)) && is_plain(plan_row(i)) == plain)
            fputs("---|", out);
    }
    fputc('\n', out);
    for (int f = 0; faults[f]; f++) {
        bool any = plain && matrix_has_fault(m, faults[f]);
        for (int i = 0; !any && plan_row(i); i++)
            any = is_plain(plan_row(i)) == plain && matrix_find(m, plan_row(i), faults[f]->name);
        if (!any)
            continue;
        fprintf(out, "| %s |", faults[f]->name);
        for (int i = 0; plan_row(i); i++) {
            if (matrix_has_row(m, plan_row(i)) && is_plain(plan_row(i)) == plain)
                fprintf(
                    out, " %s |",
                    matrix_text(matrix_find(m, plan_row(i), faults[f]->name), text, sizeof(text)));
        }
        fputc('\n', out);
    }
}

bool matrix_markdown(const matrix *m, FILE *out)
{
    bool others = false;
    for (int i = 0; i < m->len; i++)
        others = others || !is_plain(m->cells[i].row.name);
    table(m, out, true);
    if (others) {
        fputs("\nThe faults that a sale in Redis's memory does not bear, with another "
              "durability:\n\n",
              out);
        table(m, out, false);
    }
    fprintf(
        out,
        "\nUnits, of all runs of a cell: *oversold*, in orders beyond the stock; *lost updates*, "
        "sold and not taken from the stock; *unordered*, taken from it and in no order; *lost*, "
        "in acknowledged orders that are gone. In parentheses: the row's durability does not cover "
        "the fault. ?: inconclusive. –: not for this row.\n\nSeed %llu, %.0f s.\n",
        (unsigned long long)m->seed, m->seconds);
    return !ferror(out);
}
