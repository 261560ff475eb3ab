/*
 * judge.h - what a cell's histories say, by loadtest verify, and the cell's verdict.
 */
#ifndef TESTS_CHAOS_JUDGE_H
#define TESTS_CHAOS_JUDGE_H

#include <cjson/cJSON.h>

#include "tests/chaos/cell.h"

/*
 * The verdict of one cell, as JSON: the worst of its histories, whose figures are added up.
 *
 *     {"row","strategy","durability","fault","seed","landed","counts","verdict","why","note",
 *      ... the judge's figures ..., "guarantees":[{"id","name","state", ...}]}
 *
 *   HELD          the fault landed, and every guarantee was checked and holds
 *   BROKEN        one was violated, and the row's durability covers the fault; or a guarded row
 *                 has orders beyond the stock or two for a request, which no loss excuses;
 *                 or orders were lost behind a failover, and no instance says so;
 *                 also in a cell that failed behind it; or an attack got through, or an instance
 *                 died
 *   NOT_COVERED   the row's durability does not cover the fault; the figures say what was lost
 *   INCONCLUSIVE  the fault did not land, or something could not be checked
 *   SKIPPED       the fault is none for this row, or can not be brought about here
 *
 * `failed`: what cell_run() returned. Free with cJSON_Delete().
 */
cJSON *judge_cell(const cell *c, int failed);

#endif
