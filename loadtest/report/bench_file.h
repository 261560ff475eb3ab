/*
 * bench_file.h - build/bench/bench.json, which `make bench` writes, read back and checked.
 *
 * {schema: 1, quick, machine | environment, rows[], ratios[], locks[], memory, growth[]}. A row is
 * a case under a strategy: {case, strategy, users, items, hold_ms, think_ms, rtt_ms, durability,
 * offered_rps, throughput_rps, range_rps [least, most], p50_ms, p99_ms, range_p99_ms, p999_ms,
 * fairness, redis_cmds_per_order, redis_round_trips_per_order, cpu_us_per_order, cpu_us{}}. A
 * ratio is {name, value, low, high, rounds, bar, state}: between low and high it is with 95 %
 * confidence, and its state is "reached", "missed" or "inconclusive". All but
 * `schema`, `rows`, and a row's `case` and `strategy` may be missing or null.
 */
#ifndef LOADTEST_BENCH_FILE_H
#define LOADTEST_BENCH_FILE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* Reads the file; every member named above has its type, every copy if it stands twice. NULL,
 * with a sentence in `err`, when the file is no bench file. The caller deletes it. */
cJSON *bench_file_read(const char *path, char *err, size_t err_len);

#endif
