/*
 * headers.h - the headers that endpoints look at: values as sent, NULL = not sent (borrowed).
 */
#ifndef FLASHSALE_HEADERS_H
#define FLASHSALE_HEADERS_H

typedef struct api_headers {
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *buyer_token;
    const char *idempotency_key;
    const char *proxy_request; /* Flashsale-Request-Id */
    const char *content_type;
    const char *accept; /* of several the last */
    const char *if_none_match;
} api_headers;

#endif
