/* reply.c - replies and problems: one place that knows their form, so that all refusals have it. */
#include "server/api/reply.h"

void reply_init(api_reply *reply)
{
    reply->status = 500;
    reply->content_type = "text/plain; charset=utf-8";
    reply->allow = NULL;
    reply->location[0] = '\0';
    reply->retry_after_s = 0;
    reply->replayed = false;
    reply->close = false;
    text_init(&reply->body);
}

void reply_free(api_reply *reply)
{
    text_free(&reply->body);
}

fs_text *reply_json(api_reply *reply, int status)
{
    reply->status = status;
    reply->content_type = "application/json";
    text_clear(&reply->body);
    return &reply->body;
}

const char *status_title(int status)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {200, "OK"},
        {201, "Created"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Unknown";
}

void problem_with(api_reply *reply, int status, const char *code, const char *detail,
                  const char *members)
{
    reply->status = status;
    reply->retry_after_s = status == 503 || status == 429;
    reply->content_type = "application/problem+json";
    text_clear(&reply->body);
    text_printf(&reply->body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,",
                status_title(status), status);
    text_printf(&reply->body, "\"code\":\"%s\",\"detail\":", code);
    text_json(&reply->body, detail);
    text_add(&reply->body, members);
    text_add(&reply->body, "}\n");
}

void problem(api_reply *reply, int status, const char *code, const char *detail)
{
    problem_with(reply, status, code, detail, "");
}

void problem_later(api_reply *reply, const char *code, const char *detail)
{
    problem(reply, 503, code, detail);
}

void problem_store_unavailable(api_reply *reply)
{
    problem_later(reply, "store_unavailable", "Redis did not answer; nothing was done");
}

void problem_sale_damaged(api_reply *reply)
{
    problem_later(reply, "sale_damaged", "the sale's data in Redis are damaged; nothing was done");
}
