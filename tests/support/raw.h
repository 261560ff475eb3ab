/*
 * raw.h - bytes to a TCP port of 127.0.0.1 and back, for what no HTTP client would send.
 */
#ifndef TESTS_SUPPORT_RAW_H
#define TESTS_SUPPORT_RAW_H

#include <stdbool.h>
#include <stddef.h>

/* Connects from an address of 127.0.0.0/8 (NULL: the usual one). The socket, or -1. */
int fx_raw_connect(int port, const char *from);

/* Likewise, with so little room for what is not read that the peer soon can send no more. */
int fx_raw_connect_small(int port, const char *from);

/* Sends all of it; false when the peer does not take it any more. */
bool fx_raw_send(int fd, const char *bytes, size_t len);

/* Reads until the peer closes, or deadline_ms passes, or buf is full; NUL-terminates. The length;
 * *closed tells whether the peer closed (NULL: of no interest). */
size_t fx_raw_read(int fd, char *buf, size_t len, int deadline_ms, bool *closed);

#endif
