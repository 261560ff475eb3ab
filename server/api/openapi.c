/* openapi.c - GET /openapi.json: what this API is, for tools; openapi.json as it stands. */
#include "server/api/routes.h"

#include "server/api/openapi.json.h"

static const char document[] = OPENAPI_JSON;

void api_openapi(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api, (void)request;
    reply->status = 200;
    reply->content_type = "application/json";
    text_add_bytes(&reply->body, document, sizeof(document) - 1);
}
