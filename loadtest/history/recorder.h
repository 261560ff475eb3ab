/*
 * recorder.h - writes a history (format.h) while it happens.
 *
 * Each thread writes with a pen of its own, which collects whole lines and hands them to the file
 * in one write; nothing is kept that was written, so memory is bounded whatever the run's length.
 *
 *     lt_recorder *recorder = recorder_open("run.history", err, sizeof(err));
 *     lt_pen *pen = pen_new(recorder);             // a thread
 *     pen_word(pen, "stock");
 *     pen_number(pen, "at", 950);
 *     pen_number(pen, "remaining", 3);
 *     pen_line(pen);
 *     pen_free(pen);                               // hands over the rest
 *     recorder_end(recorder);                      // writes `end`
 *     ... judge_file(recorder_path(recorder)) ...
 *     recorder_free(recorder);
 *
 * A write that fails (a full disk) ends the recording: then there is no `end`, and the judge takes
 * no missing line for a fact.
 */
#ifndef LOADTEST_HISTORY_RECORDER_H
#define LOADTEST_HISTORY_RECORDER_H

#include "loadtest/base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lt_recorder lt_recorder;
typedef struct lt_pen lt_pen;

/* Begins a history in `path`; NULL: in an unnamed file that disappears with the recorder
 * ($TMPDIR, else /tmp). NULL, with a sentence, when it can not be written. */
lt_recorder *recorder_open(const char *path, char *err, size_t err_len);

/* The path by which the history can be read while the recorder lives. */
const char *recorder_path(const lt_recorder *recorder);

/* Writes the last line. All pens must be freed. */
void recorder_end(lt_recorder *recorder);

void recorder_free(lt_recorder *recorder); /* NULL is allowed */

/* A pen, for one thread at a time. NULL when memory is short. */
lt_pen *pen_new(lt_recorder *recorder);
void pen_free(lt_pen *pen); /* NULL is allowed */

/* Begins a line. */
void pen_word(lt_pen *pen, const char *word);

/* Adds a member. Texts are escaped; those beyond 512 bytes are cut. */
void pen_number(lt_pen *pen, const char *name, int64_t value);
void pen_text(lt_pen *pen, const char *name, const char *value);

/* An instant, in us. */
static inline void pen_time(lt_pen *pen, const char *name, mono_ns when)
{
    pen_number(pen, name, when / NS_PER_US);
}

/* A value that needs no escape: "-", "?", hexadecimal digits. */
void pen_raw(lt_pen *pen, const char *name, const char *value);

/* Ends the line. */
void pen_line(lt_pen *pen);

#endif
