/* endings.c - what never ended although nobody was killed, and locks that came back. */
#include "tests/tools/histcheck/checks.h"

static void check_ended(const hc_operation *operation, hc_report *report_to)
{
    const char *what = NULL;
    int64_t since_ns = operation->invoke_ns;
    if (operation->gone_ns != NEVER)
        return; /* its process was killed: it can not end any more */
    if (operation->outcome == OUTCOME_NONE) {
        what = "acquire never returned";
    } else if (operation->guarding_ns != NEVER) {
        what = "a guarded write never returned";
        since_ns = operation->guarding_ns;
    } else if (operation->releasing_ns != NEVER) {
        what = "release never returned";
        since_ns = operation->releasing_ns;
    } else if (operation->outcome == OUTCOME_OK && !operation->reentry &&
               operation->release == OUTCOME_NONE && operation->lost_ns == NEVER) {
        what = "the grant never ended";
        since_ns = operation->end_ns;
    }
    if (what)
        report(report_to, VIOLATION_UNENDED, operation->lock, "%s: %s since %.3f ms",
               report_name(operation), what, report_ms(report_to, since_ns));
}

/* Redis confirmed at the release that the lock was there, although it had been removed. */
static void check_stayed_away(const hc_operation *hold, hc_report *report_to)
{
    bool removed = hold->outcome == OUTCOME_OK && !hold->reentry && hold->end_ns < hold->void_ns &&
                   hold->void_end_ns != NEVER;
    if (removed && hold->release == OUTCOME_OK && !hold->passed_on &&
        hold->release_invoke_ns > hold->void_end_ns)
        report(report_to, VIOLATION_RECREATED, hold->lock,
               "%s had it since %.3f ms; it was removed at %.3f ms, and was there again at the "
               "release at %.3f ms",
               report_name(hold), report_ms(report_to, hold->end_ns),
               report_ms(report_to, hold->void_ns), report_ms(report_to, hold->release_invoke_ns));
}

void check_endings(const hc_history *history, hc_report *report_to)
{
    for (size_t i = 0; i < history->operations_len; i++) {
        check_ended(&history->operations[i], report_to);
        check_stayed_away(&history->operations[i], report_to);
    }
}
