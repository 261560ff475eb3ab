/* items.c - GET /items: lists the items. */
#include "server/store/items.h"

#include "server/api/routes.h"

void api_items(fs_api *api, const api_request *request, api_reply *reply)
{
    char after[IDENT_MAX + 1];
    if (!api_read_ident(request->query, "after", "bad_after", false, after, reply))
        return;
    redisReply *names = items_read(api->store, after, request->deadline);
    if (!names) {
        problem_redis(reply, dlock_redis_said(), "ask again");
        return;
    }
    bool more = names->elements > ITEMS_PAGE;
    size_t count = more ? ITEMS_PAGE : names->elements;
    fs_text *out = reply_json(reply, 200);
    text_put(out, AS_IS("items", "["));
    for (size_t i = 0; i < count; i++) {
        text_next(out, "{");
        text_put(out, STRING("item", names->element[i]->str));
        text_add(out, "}");
    }
    text_add(out, "]");
    if (more)
        text_put(out, STRING("after", names->element[count - 1]->str));
    else
        text_put(out, AS_IS("after", "null"));
    freeReplyObject(names);
}
