/* response.c - status line, headers, body. */
#include "server/response.h"

#include <string.h>

/* What a browser may do with a page of ours, and with anything else: nothing. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
#define DATA_POLICY "default-src 'none'; frame-ancestors 'none'"

static void write_optional(fs_text *out, const api_reply *reply)
{
    if (reply->retry_after_s > 0) {
        text_add(out, "Retry-After: ");
        text_add_int(out, reply->retry_after_s);
        text_add(out, "\r\n");
    }
    if (reply->location.len > 0)
        text_add_all(out, "Location: ", text_bytes(&reply->location), "\r\n");
    if (reply->allow)
        text_add_all(out, "Allow: ", reply->allow, "\r\n");
    if (reply->etag)
        text_add_all(out, "ETag: \"", reply->etag, "\"\r\n");
    if (reply->challenge)
        text_add_all(out, "WWW-Authenticate: ", reply->challenge, "\r\n");
    if (reply->replayed)
        text_add(out, "Idempotency-Replayed: true\r\n");
}

void response_write(fs_text *out, const api_reply *reply, bool head_only)
{
    bool page = strncmp(reply->content_type, "text/html", 9) == 0;
    text_add(out, "HTTP/1.1 ");
    text_add_int(out, reply->status);
    text_add_all(out, " ", status_title(reply->status), "\r\nContent-Type: ", reply->content_type);
    if (reply->stream[0] == '\0') { /* else it ends with its connection */
        text_add(out, "\r\nContent-Length: ");
        text_add_int(out, (int64_t)reply->body.len);
    }
    text_add_all(out, "\r\nCache-Control: ", reply->etag ? "no-cache" : "no-store", "\r\n");
    text_add_all(out,
                 "X-Content-Type-Options: nosniff\r\n"
                 "Referrer-Policy: no-referrer\r\nContent-Security-Policy: ",
                 page ? PAGE_POLICY : DATA_POLICY, "\r\n");
    write_optional(out, reply);
    text_add_all(out, "Connection: ", reply->close ? "close" : "keep-alive", "\r\n\r\n");
    out->failed = out->failed || reply->location.failed;
    if (!head_only && reply->status != 304)
        text_add_bytes(out, text_bytes(&reply->body), reply->body.len);
}
