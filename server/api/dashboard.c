/* dashboard.c - GET /dashboard: the live document, once or again and again. */
#include "server/api/router.h"
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#define FIRST_MS 2000 /* for the first document of an item */

/* Whether there is something to show of the item that is asked for. Otherwise it is refused. */
static bool find_item(fs_api *api, const api_request *request, char ret[IDENT_MAX + 1],
                      api_reply *reply)
{
    query_status given = query_word(request->query, "item", ident_ok, ret);
    if (given == QUERY_ABSENT)
        snprintf(ret, IDENT_MAX + 1, "%s", api->item);
    else if (!api_param_ok(given, "bad_item", "item", IDENT_FORM, reply))
        return false;
    fs_sale *sale = api_find_sale(api, request, ret, reply);
    if (sale)
        sale_table_put(sale);
    return sale;
}

static dashboard_answer put_document(fs_api *api, const char *item, dlock_time deadline,
                                     fs_text *out)
{
    text_add_all(out, "{\"instance\":\"", api->store->instance, "\",\"version\":\"",
                 FLASHSALE_VERSION, "\",\"admin\":\"", auth_needs(api->auth), "\",");
    return dashboard_read(api->dashboard, item, deadline, out);
}

/* ---- as a stream of events ------------------------------------------------------------------- */

/* A document has one line. Who is cut off comes again in a second, by itself. */
#define STREAM        "text/event-stream"
#define STREAM_BEGINS "retry: 1000\n"
#define EVENT_BEGINS  "data: "
#define EVENT_ENDS    "\n"

static bool wants_stream(const api_request *request)
{
    return request->headers.accept && strncmp(request->headers.accept, STREAM, strlen(STREAM)) == 0;
}

api_piece api_stream_next(fs_api *api, const char *item, fs_text *out)
{
    text_add(out, EVENT_BEGINS);
    dashboard_answer answer = put_document(api, item, dlock_now(), out);
    text_add(out, EVENT_ENDS);
    if (answer == DASHBOARD_OVER)
        return PIECE_LAST;
    return answer == DASHBOARD_TOLD && !out->failed ? PIECE_NEXT : PIECE_NONE;
}

/* ---- GET /dashboard -------------------------------------------------------------------------- */

void api_dashboard(fs_api *api, const api_request *request, api_reply *reply)
{
    char item[IDENT_MAX + 1];
    bool stream = wants_stream(request);
    reply->close = true; /* who looks needs no thread until it looks again */
    if (!find_item(api, request, item, reply))
        return;
    fs_text *out = reply_json(reply, 200);
    if (stream)
        text_add(out, STREAM_BEGINS EVENT_BEGINS);
    dlock_time soon = dlock_sooner(request->deadline, dlock_in_ms(FIRST_MS));
    if (put_document(api, item, soon, out) != DASHBOARD_TOLD) {
        problem_with(reply, 503, "store_unavailable", "the document was not made in time",
                     ",\"redis\":\"no_answer\"");
    } else if (stream) {
        text_add(out, EVENT_ENDS);
        reply->content_type = STREAM;
        snprintf(reply->stream, sizeof(reply->stream), "%s", item);
    }
}
