/* dashboard.c - GET /dashboard: the live document, and what this instance counts for it. */
#include "server/api/routes.h"

#include <stdio.h>

#define FIRST_MS 2000 /* for the first document of an item */

void api_count(void *arg, instance_record *ret)
{
    fs_api *api = arg;
    ret->draining = atomic_load(&api->draining);
    ret->in_flight = atomic_load(&api->in_flight);
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        ret->counts.outcomes[o] = 0;
        for (int i = 0; i <= METRICS_BUCKETS; i++)
            ret->counts.outcomes[o] += (int64_t)atomic_load(&api->metrics->buys[o].bucket[i]);
    }
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        ret->counts.latency[i] = (int64_t)atomic_load(&api->metrics->sold_latency[i]);
}

void api_dashboard(fs_api *api, const api_request *request, api_reply *reply)
{
    char item[IDENT_MAX + 1];
    fs_sale *sale;
    reply->close = true; /* a viewer comes again in half a second, and needs no thread meanwhile */
    query_status given = query_ident(request->query, "item", item);
    if (given == QUERY_ABSENT)
        snprintf(item, sizeof(item), "%s", api->item);
    else if (!api_param_ok(given, "bad_item", "item", IDENT_FORM, reply))
        return;
    sale_status status = sale_table_get(api->sales, item, dlock_in_ms(STORE_READ_MS), &sale);
    if (status != SALE_OK) {
        api_no_sale(api, reply, status, item);
        return;
    }
    sale_table_put(sale);
    fs_text *out = reply_json(reply, 200);
    text_add_all(out, "{\"instance\":\"", api->store->instance, "\",\"version\":\"",
                 FLASHSALE_VERSION, "\",\"admin\":\"", auth_needs(api->auth), "\",");
    if (!dashboard_read(api->dashboard, item, dlock_in_ms(FIRST_MS), out))
        problem_with(reply, 503, "store_unavailable", "the document was not made in time",
                     ",\"redis\":\"no_answer\"");
}
