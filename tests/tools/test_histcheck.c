/* Each kind of violation in a history of a few lines, beside histories that are right. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fixture.h"
#include "tests/support/history.h"
#include "tests/tools/history_cases.h"

/* Process 1 has the lock under fence 5, and it is its own until it releases it. */
#define HELD_FROM_1 "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n"
#define LET_GO_AT_6 "6" MS "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-ok L 0 0 1\n"

static const struct history_case cases[] = {
    {"two holders in turn",
     {0},
     GRANT("1", "1", "5", "0", "10", "20") GRANT("2", "1", "6", "5", "21", "30"),
     NULL,
     {0}},
    {"two holders at a time",
     {0},
     GRANT("1", "1", "5", "0", "10", "20") GRANT("2", "7", "6", "5", "19", "30"),
     "overlap: L: ",
     {"1/1 (op 1, fence 5)", "2/1 (op 7, fence 6)"}},
    {"the longest holder is compared, not the last",
     {0},
     GRANT("1", "1", "5", "0", "10", "90") GRANT("2", "1", "6", "5", "20", "30")
         GRANT("3", "1", "7", "6", "40", "50"),
     "2 x overlap",
     {0}},
    {"other locks do not matter",
     {0},
     GRANT("1", "1", "5", "0", "10",
           "20") "1" MS "2 1 1 invoke M 0 0 0\n12" MS "2 1 1 ok M 5 1 1\n13" MS
                 "2 1 1 release-invoke M 0 0 1\n14" MS "2 1 1 release-ok M 0 0 1\n",
     NULL,
     {0}},
    {"a stopped holder is only believed until it last asked",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 1 held L 0 0 1\n3" MS
     "1 0 0 stopped * 0 0 0\n" GRANT(
         "2", "1", "6", "2", "40",
         "60") "50" MS "1 0 0 continued * 0 0 0\n51" MS "1 1 1 lost L 0 0 1\n52" MS
               "1 1 1 release-invoke L 0 0 1\n53" MS "1 1 1 release-fail L 0 0 1\n",
     NULL,
     {0}},
    {"the same, but it goes on believing",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n" GRANT(
         "2", "1", "6", "2", "40", "60") "50" MS "1 1 1 held L 0 0 1\n52" MS
                                         "1 1 1 release-invoke L 0 0 1\n53" MS
                                         "1 1 1 release-fail L 0 0 1\n",
     "overlap: L: ",
     {"1/1 (op 1", "2/1 (op 1"}},
    {"released what was another's by then",
     {0},
     GRANT("1", "1", "5", "0", "1", "50") GRANT("2", "1", "6", "2", "40", "60"),
     "overlap: L: ",
     {"1/1 (op 1", "2/1 (op 1"}},
    {"an unknown outcome is neither yes nor no",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n5" MS
     "1 1 1 unknown L 0 0 0\n" GRANT("2", "1", "6", "2", "3", "60"),
     NULL,
     {0}},
    {"a fence that falls",
     {0},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("2", "1", "6", "3", "4", "5"),
     "fence: L: ",
     {"2/1 (op 1, fence 6)", "1/1 (op 1, fence 9)"}},
    {"a fence that stays",
     {0},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("2", "1", "9", "3", "4", "5"),
     "fence: L: ",
     {"2/1 (op 1, fence 9)", "1/1 (op 1, fence 9)"}},
    {"a fence that falls while all wait",
     {0},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("2", "1", "6", "0", "3", "4"),
     "fence: L: ",
     {"2/1 (op 1, fence 6)", "1/1 (op 1, fence 9)"}},
    {"the same behind who was not sure of it",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 9 1 1\n2" MS
     "1 1 1 release-invoke L 0 0 1\n3" MS
     "1 1 1 release-fail L 0 0 1\n" GRANT("2", "1", "6", "0", "4", "5"),
     NULL,
     {0}},
    {"two grants under way at once share a fence",
     {0},
     GRANT("1", "1", "9", "0", "3", "4") GRANT("2", "1", "9", "1", "6", "7"),
     "fence: L: ",
     {"1/1 (op 1", "2/1 (op 1"}},
    {"a grant without a fence",
     {0},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("1", "2", "0", "3", "4", "5"),
     "fence: L: ",
     {"1/1 (op 2, fence 0)"}},
    {"a guest who knows of no fences",
     {0},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("2", "1", "0", "3", "4", "5"),
     NULL,
     {0}},
    {"a reader without a fence",
     {0},
     GRANT("1", "1", "9", "3", "4", "5") READER("2", "1", "0", "0", "1", "2"),
     NULL,
     {0}},
    {"a lock that issues no fences",
     {0},
     GRANT("1", "1", "0", "0", "1", "2") GRANT("2", "1", "0", "3", "4", "5"),
     NULL,
     {0}},
    {"a cohort passes its grant on",
     {"--cohort", "L"},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("1", "2", "9", "3", "4", "5"),
     NULL,
     {0}},
    {"a cohort passes a grant on that another's was behind",
     {"--cohort", "L"},
     GRANT("1", "1", "5", "0", "1",
           "2") "2" MS "9 0 0 void-invoke L 0 0 0\n3" MS
                "9 0 0 void-ok L 0 0 0\n" GRANT(
                    "2", "1", "9", "3", "4",
                    "50") "5" MS "1 2 2 invoke L 0 0 0\n6" MS "1 2 2 ok L 5 1 2\n7" MS
                          "1 2 2 held L 0 0 2\n8" MS "1 2 2 release-invoke L 0 0 2\n9" MS
                          "1 2 2 release-fail L 0 0 2\n",
     NULL,
     {0}},
    {"a cohort passes a grant on that may have been removed",
     {"--cohort", "L"},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "9 0 0 void-invoke L 0 0 0\n2" MS
     "9 0 0 void-ok L 0 0 0\n3" MS "1 1 1 ok L 5 1 1\n4" MS "1 1 1 release-invoke L 0 0 1\n5" MS
     "1 1 1 release-ok L 0 0 1\n" GRANT("2", "1", "9", "3", "5",
                                        "50") "5" MS "1 2 2 invoke L 0 0 0\n6" MS
                                              "1 2 2 ok L 5 1 2\n7" MS "1 2 2 held L 0 0 2\n8" MS
                                              "1 2 2 release-invoke L 0 0 2\n9" MS
                                              "1 2 2 release-fail L 0 0 2\n",
     NULL,
     {0}},
    {"a cohort is one process",
     {"--cohort", "L"},
     GRANT("1", "1", "9", "0", "1", "2") GRANT("2", "2", "9", "3", "4", "5"),
     "fence: L: ",
     {0}},
    {"a write with a stale fence",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n" GRANT(
         "2", "1", "6", "2", "40",
         "60") "61" MS "1 1 1 guard-invoke L 5 0 1\n62" MS "1 1 1 guard-ok L 5 0 1\n63" MS
               "1 1 1 release-invoke L 0 0 1\n64" MS "1 1 1 release-fail L 0 0 1\n",
     "stale write: L: ",
     {"1/1 (op 1, fence 5)", "2/1 (op 1, fence 6)"}},
    {"a write that may have come first",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n39" MS
     "1 1 1 guard-invoke L 5 0 1\n" GRANT("2", "1", "6", "2", "40",
                                          "60") "62" MS "1 1 1 guard-ok L 5 0 1\n63" MS
                                                "1 1 1 release-invoke L 0 0 1\n64" MS
                                                "1 1 1 release-fail L 0 0 1\n",
     NULL,
     {0}},
    {"a write behind a fence set from outside",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n3" MS "9 0 0 fence-set L 8 0 0\n"
     "4" MS "1 1 1 guard-invoke L 5 0 1\n5" MS "1 1 1 guard-ok L 5 0 1\n6" MS
     "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-fail L 0 0 1\n",
     "stale write: L: ",
     {"1/1 (op 1, fence 5)", "someone outside"}},
    {"a write of the holder's own that is refused as stale",
     {0},
     HELD_FROM_1 "3" MS "1 1 1 guard-invoke L 5 0 1\n4" MS
                 "1 1 1 guard-stale L 5 0 1\n" LET_GO_AT_6,
     "stale write: L: ",
     {"1/1 (op 1, fence 5)", "refused"}},
    {"the same, when a fence was set from outside",
     {0},
     HELD_FROM_1 "3" MS "1 1 1 guard-invoke L 5 0 1\n4" MS "1 1 1 guard-stale L 5 0 1\n5" MS
                 "9 0 0 fence-set L 8 0 0\n" LET_GO_AT_6,
     NULL,
     {0}},
    {"the same, when the lock was removed",
     {0},
     HELD_FROM_1 "2" MS "9 0 0 void-invoke L 0 0 0\n3" MS "1 1 1 guard-invoke L 5 0 1\n4" MS
                 "1 1 1 guard-stale L 5 0 1\n4" MS "9 0 0 void-ok L 0 0 0\n5" MS
                 "1 1 1 held L 0 0 1\n6" MS "1 1 1 release-invoke L 0 0 1\n7" MS
                 "1 1 1 release-fail L 0 0 1\n",
     NULL,
     {0}},
    {"the same, when nobody knows whether the lock was still his",
     {0},
     HELD_FROM_1 "2" MS "1 1 1 held L 0 0 1\n3" MS "1 1 1 guard-invoke L 5 0 1\n4" MS
                 "1 1 1 guard-stale L 5 0 1\n6" MS "1 1 1 release-invoke L 0 0 1\n7" MS
                 "1 1 1 release-fail L 0 0 1\n",
     NULL,
     {0}},
    {"a deleted lock comes back",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "9 0 0 void-invoke L 0 0 0\n3" MS
     "9 0 0 void-ok L 0 0 0\n6" MS "1 1 1 release-invoke L 0 0 1\n7" MS
     "1 1 1 release-ok L 0 0 1\n",
     "re-created: L: ",
     {"1/1 (op 1, fence 5)"}},
    {"a deleted lock is another's at once",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "9 0 0 void-invoke L 0 0 0\n3" MS
     "9 0 0 void-ok L 0 0 0\n" GRANT("2", "1", "6", "0", "4",
                                     "60") "5" MS "1 1 1 held L 0 0 1\n6" MS
                                           "1 1 1 release-invoke L 0 0 1\n7" MS
                                           "1 1 1 release-fail L 0 0 1\n",
     NULL,
     {0}},
    {"re-entry, counted right",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 2 invoke L 0 0 0\n3" MS
     "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 1 1\n6" MS
     "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-ok L 0 0 1\n",
     NULL,
     {0}},
    {"re-entry counted twice",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 2 invoke L 0 0 0\n3" MS
     "1 1 2 ok L 5 3 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 1 1\n6" MS
     "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-ok L 0 0 1\n",
     "depth: L: ",
     {"1/1 (op 2, fence 5)"}},
    {"re-entry by another thread",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 2 2 invoke L 0 0 0\n3" MS
     "1 2 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 1 1\n" LET_GO_AT_6,
     "depth: L: ",
     {"1/2 (op 2, fence 5)", "1/1 (op 1, fence 5)"}},
    {"re-entry with another fence",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 2 invoke L 0 0 0\n3" MS
     "1 1 2 ok L 6 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 1 1\n" LET_GO_AT_6,
     "depth: L: ",
     {"1/1 (op 2, fence 6)", "1/1 (op 1, fence 5)"}},
    {"a release that tells another depth than it leaves",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 2 invoke L 0 0 0\n3" MS
     "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 0 1\n" LET_GO_AT_6,
     "depth: L: ",
     {"1/1 (op 1, fence 5)", "depth 0"}},
    {"re-entry into a lost hold",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n1" MS "1 1 1 lost L 0 0 1\n2" MS
     "1 1 2 invoke L 0 0 0\n3" MS "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-fail L 0 1 1\n6" MS
     "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-fail L 0 0 1\n",
     "depth: L: ",
     {"1/1 (op 2, fence 5)", "lost"}},
    {"held after it was lost",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 1 lost L 0 0 1\n3" MS
     "1 1 1 held L 0 0 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-fail L 0 0 1\n",
     "depth: L: ",
     {"1/1 (op 1", "lost"}},
    {"held after it was released",
     {0},
     GRANT("1", "1", "5", "0", "1", "2") "3" MS "1 1 1 held L 0 0 1\n",
     "depth: L: ",
     {"1/1 (op 1", "release"}},
    {"held when its release was under way",
     {0},
     HELD_FROM_1 "6" MS "1 1 1 release-invoke L 0 0 1\n6" MS "1 1 1 held L 0 0 1\n7" MS
                 "1 1 1 release-ok L 0 0 1\n",
     NULL,
     {0}},
    {"held after a release of which nobody knows",
     {0},
     HELD_FROM_1 "6" MS "1 1 1 release-invoke L 0 0 1\n7" MS "1 1 1 release-unknown L 0 0 1\n8" MS
                 "1 1 1 held L 0 0 1\n",
     NULL,
     {0}},
    {"held after a level of it was released",
     {0},
     HELD_FROM_1 "2" MS "1 1 2 invoke L 0 0 0\n3" MS "1 1 2 ok L 5 2 1\n4" MS
                 "1 1 1 release-invoke L 0 1 1\n5" MS "1 1 1 release-ok L 0 1 1\n5" MS
                 "1 1 1 held L 0 0 1\n" LET_GO_AT_6,
     NULL,
     {0}},
    {"a grant without an end",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n",
     "unended: L: ",
     {"1/1 (op 1", "grant"}},
    {"a call without an end",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n",
     "unended: L: ",
     {"1/1 (op 1", "acquire"}},
    {"a release without an end",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n2" MS "1 1 1 release-invoke L 0 0 1\n",
     "unended: L: ",
     {"1/1 (op 1", "release"}},
    {"the killed end nothing",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n1" MS "1 2 2 invoke L 0 0 0\n2" MS
     "1 0 0 killed * 0 0 0\n",
     NULL,
     {0}},
    {"nobody takes a free lock",
     {"--idle-ms", "50"},
     GRANT("1", "1", "5", "0", "1", "10") GRANT("2", "1", "6", "2", "80", "90"),
     "idle: L: ",
     {"2/1 (op 1, fence 6)"}},
    {"a lock is taken in time",
     {"--idle-ms", "50"},
     GRANT("1", "1", "5", "0", "1", "10") GRANT("2", "1", "6", "2", "55", "90"),
     NULL,
     {0}},
    {"a waiter gives up before a free lock",
     {"--idle-ms", "50"},
     GRANT("1", "1", "5", "0", "1", "10") "2" MS "2 1 1 invoke L 0 0 0\n80" MS
                                          "2 1 1 fail L 0 0 0\n",
     "idle: L: ",
     {"2/1 (op 1"}},
    {"what may hold the lock excuses the wait",
     {"--idle-ms", "50", "--lease-ms", "100"},
     "0" MS "1 1 1 invoke L 0 0 0\n5" MS
     "1 1 1 unknown L 0 0 0\n" GRANT("2", "1", "6", "2", "140", "150"),
     NULL,
     {0}},
    {"but no longer than its lease",
     {"--idle-ms", "50", "--lease-ms", "100"},
     "0" MS "1 1 1 invoke L 0 0 0\n5" MS
     "1 1 1 unknown L 0 0 0\n" GRANT("2", "1", "6", "2", "160", "170"),
     "idle: L: ",
     {"2/1 (op 1"}},
    {"a killed holder excuses the wait for a lease",
     {"--idle-ms", "50", "--lease-ms", "100"},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n10" MS
     "1 0 0 killed * 0 0 0\n" GRANT("2", "1", "6", "2", "150", "160"),
     NULL,
     {0}},
    {"an outage excuses the wait",
     {"--idle-ms", "50"},
     GRANT("1", "1", "5", "0", "1",
           "10") "11" MS "9 0 0 outage-begin * 0 0 0\n"
                 "90" MS "9 0 0 outage-end * 0 0 0\n" GRANT("2", "1", "6", "2", "130", "140"),
     NULL,
     {0}},
    {"overtaken",
     {"--fifo-ms", "20"},
     GRANT("1", "1", "5", "0", "1", "50") GRANT("3", "1", "6", "30", "51", "60")
         GRANT("2", "1", "7", "5", "61", "70"),
     "fifo: L: ",
     {"3/1 (op 1, fence 6)", "2/1 (op 1, fence 7)"}},
    {"overtaken at a lock that is not fair",
     {"--fifo-ms", "20", "--fair", "M"},
     GRANT("1", "1", "5", "0", "1", "50") GRANT("3", "1", "6", "30", "51", "60")
         GRANT("2", "1", "7", "5", "61", "70"),
     NULL,
     {0}},
    {"overtaken within the tolerance",
     {"--fifo-ms", "30"},
     GRANT("1", "1", "5", "0", "1", "50") GRANT("3", "1", "6", "30", "51", "60")
         GRANT("2", "1", "7", "5", "61", "70"),
     NULL,
     {0}},
    {"who is stopped may be passed over",
     {"--fifo-ms", "20"},
     GRANT("1", "1", "5", "0", "1", "50") "40" MS "2 0 0 stopped * 0 0 0\n" GRANT(
         "3", "1", "6", "30", "51", "60") GRANT("2", "1", "7", "5", "61", "70"),
     NULL,
     {0}},
    {"an outcome of nothing", {0}, "1" MS "1 1 1 ok L 5 1 1\n", "protocol: L: ", {0}},
    {"a second outcome",
     {0},
     GRANT("1", "1", "5", "0", "1", "2") "9" MS "1 1 1 fail L 0 0 0\n",
     "protocol: L: ",
     {0}},
};

static void violations_are_found_and_nothing_else(void **state)
{
    (void)state;
    hc_check_cases(cases, COUNT(cases));
}

static void nonsense_is_unreadable(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "hello\n",
                                        "1 1 1 1 dance L 0 0 0\n",
                                        "1 1 1 1 ok L 0\n",
                                        "1 1 1 1 ok L 0 0 0 0\n",
                                        "1 1 1 1 invoke L 0 0 0 1\n",
                                        "1 1 1 1 invoke L 0 0 0 0/1\n",
                                        "1 1 1 1 invoke L 0 0 0 3/2\n",
                                        "1 1 1 1 invoke L 0 0 0 1/2 3\n",
                                        "1 1 1 1 ok L 0 0 0 1/2\n",
                                        "99999999999999999999 1 1 1 ok L 0 0 0\n",
                                        "1 1 1 1 ok L 0 9999999999 0\n"};
    char dir[128], path[160];
    int status;
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/history", dir);
    for (size_t i = 0; i < COUNT(texts); i++) {
        hc_write_file(path, texts[i], 0);
        fx_process_free(
            hc_judge((const char *const[]){NULL}, (const char *const[]){path, NULL}, &status));
        assert_int_equal(status, 2);
    }
    fx_dir_remove(dir);
}

/* A line that has lost its end is left out at the end of a file only. */
static void nothing_goes_unread(void **state)
{
    (void)state;
    static const struct {
        const char *text, *behind;
        int status;
    } torn[] = {
        {"1 1 1 1 invoke L 0 0 0\n2 1 1 1 fail L 0 0 0\n3 1 1 2 inv", "", 0},
        {"1 1 1 1 invoke L 0 0 0\n2 1 1 1 fail L 0 0 0\n3 1 1 2 inv", "4 1 1 2 fail L 0 0 0\n", 2},
        {"1 1 1 1 invoke L 0 0 0\n2 1 1 1 fail L 0 0 0\n", "\n", 2},
    };
    char dir[128], path[160];
    int status;
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/history", dir);
    for (size_t i = 0; i < COUNT(torn); i++) {
        hc_write_file(path, torn[i].text, 8);
        FILE *file = fopen(path, "a");
        assert_non_null(file);
        fputs(torn[i].behind, file);
        fclose(file);
        fx_process_free(
            hc_judge((const char *const[]){NULL}, (const char *const[]){path, NULL}, &status));
        assert_int_equal(status, torn[i].status);
    }
    fx_dir_remove(dir);
}

/* ---- the logger ------------------------------------------------------------------------------ */

enum { THREADS = 4, GRANTS_EACH = 6000 }; /* more than one window's worth each */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static uint64_t fence;

/* A mutex is a lock that is right. */
static void *holder(void *arg)
{
    (void)arg;
    for (int i = 0; i < GRANTS_EACH; i++) {
        hist_event event = {.kind = EVENT_INVOKE, .op = hist_op(), .lock = "L"};
        hist_write(&event);
        pthread_mutex_lock(&one_at_a_time);
        event.fence = ++fence;
        event.hold = event.op;
        event.depth = 1;
        event.kind = EVENT_OK;
        hist_write(&event);
        event.depth = 0;
        event.kind = EVENT_RELEASE_INVOKE;
        hist_write(&event);
        pthread_mutex_unlock(&one_at_a_time);
        event.kind = EVENT_RELEASE_OK;
        hist_write(&event);
    }
    return NULL;
}

static void hold_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, holder, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* The last event of a process that is killed at once has been written all the same. */
static void hold_and_be_killed(const char *dir)
{
    pid_t child = fork();
    if (child == 0) {
        hist_open(dir);
        hist_write(&(hist_event){.kind = EVENT_INVOKE, .op = 1, .lock = "M"});
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
}

static void logger_writes_what_the_checker_reads(void **state)
{
    (void)state;
    char dir[128], command[512], program[256], answer[512];
    fx_dir_make(dir, sizeof(dir));
    assert_int_equal(hist_open(dir), 0);
    hold_in_threads();
    hold_and_be_killed(dir);
    snprintf(command, sizeof(command), "%s --idle-ms 5000 %s/*.hist",
             fx_build_path("tests/histcheck", program, sizeof(program)), dir);
    fx_shell_output(command, answer, sizeof(answer));
    char expected[128];
    snprintf(expected, sizeof(expected), "%d events, 2 locks, %d operations: %d grants",
             4 * THREADS * GRANTS_EACH + 1, THREADS * GRANTS_EACH + 1, THREADS * GRANTS_EACH);
    assert_non_null(strstr(answer, "unended: M: "));
    assert_non_null(strstr(answer, "1 x unended\nVIOLATED\n"));
    if (!strstr(answer, expected))
        fail_msg("%s", answer);
    fx_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violations_are_found_and_nothing_else),
        cmocka_unit_test(nonsense_is_unreadable),
        cmocka_unit_test(nothing_goes_unread),
        cmocka_unit_test(logger_writes_what_the_checker_reads),
    };
    return cmocka_run_group_tests_name("histcheck", tests, NULL, NULL);
}
