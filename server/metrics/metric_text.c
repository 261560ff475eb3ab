/* metric_text.c - metrics of one sample each, and the head of the others. */
#include "server/metrics/metric_text.h"

void metric_head(fs_text *out, const char *name, const char *type, const char *help)
{
    text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_counter(fs_text *out, const char *name, const char *help, uint64_t value)
{
    metric_head(out, name, "counter", help);
    text_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

void metric_gauge(fs_text *out, const char *name, const char *help, double value)
{
    metric_head(out, name, "gauge", help);
    text_printf(out, "%s %.15g\n", name, value);
}
