/*
 * metric_text.h - the lines of Prometheus's text format.
 *
 * A metric is its head and, right behind it, all of its samples. Numbers are written so that no
 * digit of a count is lost.
 */
#ifndef FLASHSALE_METRIC_TEXT_H
#define FLASHSALE_METRIC_TEXT_H

#include "server/base/text.h"

/* HELP and TYPE; `type` is counter, gauge or histogram. */
void metric_head(fs_text *out, const char *name, const char *type, const char *help);

/* Head and sample of a metric without labels. */
void metric_counter(fs_text *out, const char *name, const char *help, uint64_t value);
void metric_gauge(fs_text *out, const char *name, const char *help, double value);

#endif
