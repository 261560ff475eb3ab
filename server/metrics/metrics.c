/* metrics.c - writing the counters by Prometheus's rules: base units, _total, _seconds. */
#include "server/metrics/metrics.h"

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

static uint64_t get(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void metrics_read_counts(fs_metrics *metrics, int64_t ret[METRICS_COUNTS])
{
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        ret[o] = 0;
        for (int i = 0; i <= METRICS_BUCKETS; i++)
            ret[o] += (int64_t)get(&metrics->buys[o].bucket[i]);
    }
    for (int b = 0; b < LATENCY_BUCKETS; b++)
        ret[BUY_OUTCOMES + b] = (int64_t)get(&metrics->sold_latency[b]);
}

static void write_buys(fs_metrics *metrics, fs_text *out)
{
    const char *name = "flashsale_buy_duration_seconds";
    metric_head(out, name, "histogram", "Time to answer a buyer, by outcome.");
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        const char *outcome = outcome_table[o].name;
        uint64_t count = 0;
        for (int i = 0; i < METRICS_BUCKETS; i++) {
            count += get(&metrics->buys[o].bucket[i]);
            text_printf(out, "%s_bucket{outcome=\"%s\",le=\"%g\"} %llu\n", name, outcome,
                        (double)metrics_bucket_us[i] / 1e6, (unsigned long long)count);
        }
        count += get(&metrics->buys[o].bucket[METRICS_BUCKETS]);
        text_printf(out,
                    "%s_bucket{outcome=\"%s\",le=\"+Inf\"} %llu\n%s_sum{outcome=\"%s\"} %.6f\n"
                    "%s_count{outcome=\"%s\"} %llu\n",
                    name, outcome, (unsigned long long)count, name, outcome,
                    (double)get(&metrics->buys[o].sum_us) / 1e6, name, outcome,
                    (unsigned long long)count);
    }
    metric_counter(out, "flashsale_buys_replayed_total", "Buys answered with an earlier order.",
                   get(&metrics->replayed));
    metric_counter(out, "flashsale_buys_told_directly_total",
                   "Orders that whoever sold for a batch sent to the client itself.",
                   get(&metrics->told_directly));
    metric_counter(out, "flashsale_rate_limited_total", "Requests refused by the rate limit.",
                   get(&metrics->rate_limited));
}

static void write_responses(fs_metrics *metrics, fs_text *out)
{
    metric_counter(out, "flashsale_connections_ended_total",
                   "Idle or slow connections that were ended because others needed their threads.",
                   get(&metrics->connections_ended));
    metric_head(out, "flashsale_http_responses_total", "counter", "Responses, by status code.");
    for (int status = 0; status < METRICS_CODES; status++) {
        uint64_t count = get(&metrics->responses[status]);
        if (count > 0)
            text_printf(out, "flashsale_http_responses_total{code=\"%d\"} %llu\n", status,
                        (unsigned long long)count);
    }
}

/* By number where there are several; those that serve keys. */
static void write_servers(fs_store *store, fs_text *out, const char *name, const char *help,
                          bool (*is)(const fs_node *node))
{
    bool cluster = dlock_redis_is_cluster(store->redis);
    metric_head(out, name, "gauge", help);
    for (int i = 0; i < dlock_redis_servers(store->redis); i++) {
        int value = is(store_node_at(store, i));
        if (!cluster)
            text_printf(out, "%s %d\n", name, value);
        else if (store_serves(store, i))
            text_printf(out, "%s{server=\"%d\"} %d\n", name, i, value);
    }
}

static bool is_paused(const fs_node *node)
{
    return node_reachable(node) && !node_takes_writes(node);
}

void metrics_write(fs_metrics *metrics, fs_store *store, fs_text *out)
{
    write_buys(metrics, out);
    write_responses(metrics, out);
    lock_metrics_write(store->locks, out);
    write_servers(store, out, "flashsale_redis_up",
                  "Whether Redis answered the last question for its time.", node_reachable);
    write_servers(
        store, out, "flashsale_redis_writes_paused",
        "Whether Redis answers, and has not answered a script that may write for a second.",
        is_paused);
    if (store->quorum.len > 0) {
        metric_gauge(out, "flashsale_redlock_servers", "Servers of --redlock.", store->quorum.len);
        metric_gauge(out, "flashsale_redlock_servers_up",
                     "Those of them that answered the last question.",
                     atomic_load(&store->quorum.answering));
    }
    metric_head(out, "flashsale_build_info", "gauge", "The version, as a label.");
    text_printf(out, "flashsale_build_info{version=\"%s\"} 1\n", FLASHSALE_VERSION);
}
