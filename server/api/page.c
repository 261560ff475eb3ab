/*
 * page.c - GET / and GET /page/{name}: the live page; and GET /openapi.json: this API for tools.
 * The build embeds their files. The page loads nothing from elsewhere, so its policy can forbid
 * that.
 *
 * A browser caches the files, and revalidates them before each use.
 */
#include <string.h>

#include "server/api/openapi.json.h"
#include "server/api/routes.h"

typedef struct page_file {
    const char *name, *etag, *text;
    size_t len;
} page_file;

static const page_file files[] = {
#define ASSET(name, etag, text) {name, etag, text, sizeof(text) - 1},
#include "server/page/assets.h"
#undef ASSET
};

static const char *type_of(const char *name)
{
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(ending, types[i][0]) == 0)
            return types[i][1];
    return "text/plain; charset=utf-8";
}

static void send_file(const api_request *request, const char *name, api_reply *reply)
{
    const page_file *file = NULL;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].name, name) == 0)
            file = &files[i];
    reply->close = true; /* a viewer keeps no thread */
    if (!file) {
        problem(reply, 404, "not_found", "the page has no such part");
        return;
    }
    bool same =
        request->headers.if_none_match && strstr(request->headers.if_none_match, file->etag);
    reply->status = same ? 304 : 200;
    reply->content_type = type_of(name);
    reply->etag = file->etag;
    text_add_bytes(&reply->body, file->text, file->len);
}

void api_page(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api;
    send_file(request, "index.html", reply);
}

void api_page_part(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api;
    send_file(request, request->path + strlen(PAGE_PATH), reply);
}

void api_openapi(fs_api *api, const api_request *request, api_reply *reply)
{
    static const char document[] = OPENAPI_JSON;
    (void)api, (void)request;
    reply->status = 200;
    reply->content_type = "application/json";
    text_add_bytes(&reply->body, document, sizeof(document) - 1);
}
