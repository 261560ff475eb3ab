/*
 * response.h - a reply as the bytes of an HTTP response.
 */
#ifndef FLASHSALE_RESPONSE_H
#define FLASHSALE_RESPONSE_H

#include "server/api/reply.h"

/* Appends the whole response, or with `head_only` all but the body. */
void response_write(fs_text *out, const api_reply *reply, bool head_only);

#endif
