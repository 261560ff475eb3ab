/* dashboard.c - GET /dashboard: the live document, once or as a stream. */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#define FIRST_MS 2000 /* for the first document of an item */

/* Without the brace that ends it. */
static dashboard_answer put_document(fs_api *api, const char *item, dlock_time deadline,
                                     fs_text *out)
{
    text_put(out, STRING("instance", api->store->instance), STRING("version", FLASHSALE_VERSION),
             STRING("admin", auth_needs(api->auth)), FLAG("demo", api->demo));
    return dashboard_read(api->dashboard, item, deadline, out);
}

/* A document has one line. Who is cut off comes again in a second, by itself. */
#define STREAM        "text/event-stream"
#define STREAM_BEGINS "retry: 1000\n"
#define EVENT_BEGINS  "data: {"
#define EVENT_ENDS    "}\n\n"

dashboard_answer api_stream_next(fs_api *api, const char *item, fs_text *out)
{
    text_add(out, EVENT_BEGINS);
    dashboard_answer answer = put_document(api, item, dlock_now(), out);
    text_add(out, EVENT_ENDS);
    return answer == DASHBOARD_TOLD && out->failed ? DASHBOARD_LATE : answer;
}

void api_dashboard(fs_api *api, const api_request *request, api_reply *reply)
{
    char item[IDENT_MAX + 1];
    const char *accept = request->headers.accept;
    bool stream = accept && strncmp(accept, STREAM, strlen(STREAM)) == 0;
    reply->close = true; /* who looks needs no thread until it looks again */
    fs_sale *sale = api_find_sale(api, request, api->item, reply);
    if (!sale)
        return;
    snprintf(item, sizeof(item), "%s", sale->open_sale.terms.item);
    sale_table_put(sale);
    fs_text *out = reply_json(reply, 200);
    if (stream) {
        text_clear(out);
        text_add(out, STREAM_BEGINS EVENT_BEGINS);
    }
    dlock_time soon = dlock_sooner(request->deadline, dlock_in_ms(FIRST_MS));
    if (put_document(api, item, soon, out) != DASHBOARD_TOLD) {
        problem_outcome(reply, BUY_UNAVAILABLE, "the document was not made in time");
        text_put(&reply->body, STRING("redis", "no_answer"));
    } else if (stream) {
        text_add(out, EVENT_ENDS);
        reply->content_type = STREAM;
        reply->object = false;
        snprintf(reply->stream, sizeof(reply->stream), "%s", item);
    }
}
