/*
 * judge.h - what a cell's history says, by buycheck, and the cell's verdict.
 */
#ifndef TESTS_CHAOS_JUDGE_H
#define TESTS_CHAOS_JUDGE_H

#include <cjson/cJSON.h>

#include "tests/chaos/cell.h"

/*
 * The verdict of one cell, as JSON:
 *
 *     {"row","strategy","durability","fault","seed","landed","counts","verdict","why","note",
 *      ... buycheck's figures ..., "invariants":[{"name","state","count","first"}]}
 *
 *   HELD          the fault landed, and every invariant was checked and holds
 *   BROKEN        one was violated, and the row's durability covers the fault; or a guarded row
 *                 has orders beyond the stock or two for a request, which no loss excuses;
 *                 also in a cell that failed behind it
 *   NOT_COVERED   the row's durability does not cover the fault; the figures say what was lost
 *   INCONCLUSIVE  the fault did not land, or something could not be checked
 *   SKIPPED       the fault is none for this row, or can not be brought about here
 *
 * `failed`: what cell_run() returned. Free with cJSON_Delete().
 */
cJSON *judge_cell(const cell *c, const char *history, int failed);

#endif
