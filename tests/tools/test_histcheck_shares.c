/* Histories of locks that several may hold: read/write locks and semaphores. */
#include "tests/tools/history_cases.h"

static const struct history_case cases[] = {
    {"readers at a time, and a writer then",
     {0},
     READER("1", "1", "5", "0", "10", "30") READER("2", "1", "5", "1", "20", "40")
         GRANT("3", "1", "6", "2", "41", "50"),
     NULL,
     {0}},
    {"a writer beside a reader",
     {0},
     READER("1", "1", "5", "0", "10", "30") READER("2", "1", "5", "1", "20", "40")
         GRANT("3", "1", "6", "2", "35", "50"),
     "overlap: L: ",
     {"2/1 (op 1, fence 5)", "3/1 (op 1, fence 6)"}},
    {"a reader beside a writer",
     {0},
     GRANT("1", "1", "5", "0", "10", "30") READER("2", "1", "5", "1", "20", "40"),
     "overlap: L: ",
     {"1/1 (op 1, fence 5)", "2/1 (op 1, fence 5)"}},
    {"as many permits as there are",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "10", "30") PERMITS("2", "1", "6", "1/3", "1", "20", "40")
         PERMITS("3", "1", "7", "2/3", "2", "31", "50"),
     NULL,
     {0}},
    {"a permit twice",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "10", "30") PERMITS("2", "1", "6", "1/3", "1", "20", "40")
         PERMITS("3", "1", "7", "1/3", "2", "29", "50"),
     "overlap: L: ",
     {"3/1 (op 1, fence 7)", "3 were taken, 1 more"}},
    {"who asked of fewer permits counts",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "10", "30") PERMITS("2", "1", "6", "1/2", "1", "20", "40"),
     "overlap: L: ",
     {"2 were taken, 1 more"}},
    {"a reader told of an old writer",
     {0},
     GRANT("1", "1", "5", "0", "1", "2") GRANT("1", "2", "6", "3", "4", "5")
         READER("2", "1", "5", "6", "7", "8"),
     "fence: L: ",
     {"2/1 (op 1, fence 5)", "1/1 (op 2, fence 6)"}},
    {"the same, who had waited all the time",
     {0},
     GRANT("1", "1", "5", "0", "1", "2") GRANT("1", "2", "6", "0", "3", "4")
         READER("2", "1", "5", "0", "6", "7"),
     "fence: L: ",
     {"2/1 (op 1, fence 5)", "1/1 (op 2, fence 6)"}},
    {"a writer told its reader's fence",
     {0},
     READER("1", "1", "5", "0", "1", "2") GRANT("2", "1", "5", "3", "4", "5"),
     "fence: L: ",
     {"2/1 (op 1, fence 5)", "1/1 (op 1, fence 5)"}},
    {"permits that share a fence",
     {0},
     PERMITS("1", "1", "5", "1/2", "0", "3", "9") PERMITS("2", "1", "5", "1/2", "1", "4", "8"),
     "fence: L: ",
     {0}},
    {"readers after a removal are judged again",
     {0},
     GRANT("1", "1", "5", "0", "1", "2") "3" MS "9 0 0 void-invoke L 0 0 0\n4" MS
                                         "9 0 0 void-ok L 0 0 0\n" READER("2", "1", "5", "5", "6",
                                                                          "60")
                                             GRANT("3", "1", "6", "7", "20", "40"),
     "overlap: L: ",
     {"2/1 (op 1, fence 5)", "3/1 (op 1, fence 6)"}},
    {"readers that come in together do so in any order",
     {"--fifo-ms", "20"},
     GRANT("1", "1", "5", "0", "1", "50") READER("3", "1", "5", "30", "51", "80")
         READER("2", "1", "5", "5", "60", "80"),
     NULL,
     {0}},
    {"a reader overtakes a writer",
     {"--fifo-ms", "20"},
     READER("1", "1", "5", "0", "1", "50") READER("3", "1", "5", "30", "31", "40")
         GRANT("2", "1", "6", "5", "51", "60"),
     "fifo: L: ",
     {"3/1 (op 1, fence 5)", "2/1 (op 1, fence 6)"}},
    {"a reader overtakes a writer beside another reader",
     {"--fifo-ms", "20"},
     GRANT("1", "1", "5", "0", "1", "50") READER("2", "1", "5", "5", "52", "60")
         GRANT("3", "1", "6", "6", "61", "70") READER("4", "1", "5", "30", "51", "60"),
     "fifo: L: ",
     {"4/1 (op 1, fence 5)", "3/1 (op 1, fence 6)"}},
    {"a reader is forgotten while another comes in",
     {"--fifo-ms", "20"},
     GRANT("1", "1", "5", "0", "1", "50") READER("3", "1", "5", "30", "51", "80")
         READER("2", "1", "5", "5", "90", "95"),
     "fifo: L: ",
     {"3/1 (op 1, fence 5)", "2/1 (op 1, fence 5)"}},
    {"who wants fewer permits overtakes",
     {"--fifo-ms", "20"},
     PERMITS("1", "1", "5", "1/2", "0", "1", "50") PERMITS("3", "1", "6", "1/2", "30", "31", "45")
         PERMITS("2", "1", "7", "2/2", "5", "51", "60"),
     "fifo: L: ",
     {"3/1 (op 1, fence 6)", "2/1 (op 1, fence 7)"}},
    {"overtaken at one of two fair locks",
     {"--fifo-ms", "20", "--fair=M", "--fair=L"},
     GRANT("1", "1", "5", "0", "1", "50") GRANT("3", "1", "6", "30", "51", "60")
         GRANT("2", "1", "7", "5", "61", "70"),
     "fifo: L: ",
     {0}},
    {"a reader waits although only readers hold",
     {"--idle-ms", "150"},
     READER("1", "1", "5", "0", "1", "400") READER("2", "1", "5", "2", "200", "210"),
     "idle: L: ",
     {"2/1 (op 1, fence 5)"}},
    {"a reader waits for the writer before it",
     {"--idle-ms", "150"},
     READER("1", "1", "5", "0", "1", "400") GRANT("3", "1", "6", "2", "401", "410")
         READER("2", "1", "6", "5", "411", "420"),
     NULL,
     {0}},
    {"but not for a writer that came later",
     {"--idle-ms", "150"},
     READER("1", "1", "5", "0", "1", "500") READER("2", "1", "5", "5", "400", "420")
         GRANT("3", "1", "6", "300", "501", "510"),
     "idle: L: ",
     {"2/1 (op 1, fence 5)"}},
    {"a writer that gave up keeps nobody",
     {"--idle-ms", "150"},
     READER("1", "1", "5", "0", "1", "500") "2" MS "3 1 1 invoke L 0 0 0\n100" MS
                                            "3 1 1 fail L 0 0 0\n" READER("2", "1", "5", "5", "300",
                                                                          "420"),
     "idle: L: ",
     {"2/1 (op 1, fence 5)"}},
    {"a writer waits for the last of the readers",
     {"--idle-ms", "150"},
     READER("1", "1", "5", "0", "1", "400") READER("2", "1", "5", "2", "3", "10")
         GRANT("3", "1", "6", "4", "500", "510"),
     NULL,
     {0}},
    {"permits are left, and nobody gets them",
     {"--idle-ms", "150"},
     PERMITS("1", "1", "5", "2/3", "0", "1", "400") PERMITS("2", "1", "6", "1/3", "2", "3", "40")
         PERMITS("3", "1", "7", "1/3", "10", "300", "310"),
     "idle: L: ",
     {"3/1 (op 1, fence 7)"}},
    {"too few permits are left",
     {"--idle-ms", "150"},
     PERMITS("1", "1", "5", "2/3", "0", "1", "400") PERMITS("2", "1", "6", "1/3", "2", "3", "40")
         PERMITS("3", "1", "7", "2/3", "10", "500", "510"),
     NULL,
     {0}},
};

static void violations_are_found_and_nothing_else(void **state)
{
    (void)state;
    hc_check_cases(cases, COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(violations_are_found_and_nothing_else),
    };
    return cmocka_run_group_tests_name("histcheck of shares", tests, NULL, NULL);
}
