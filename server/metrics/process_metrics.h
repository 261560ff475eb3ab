/*
 * process_metrics.h - what the process takes of its machine, under the names that Prometheus's own
 * client libraries give to it.
 */
#ifndef FLASHSALE_PROCESS_METRICS_H
#define FLASHSALE_PROCESS_METRICS_H

#include "server/base/text.h"

/* What can not be found out is left out. */
void process_metrics_write(fs_text *out);

#endif
