/*
 * resp.h - where one RESP message ends, and what its words are.
 *
 * Just enough of the Redis protocol (RESP2 and RESP3, requests and replies) for a proxy that has to
 * act on whole messages. It checks nothing that it does not need.
 */
#ifndef FAULTPROXY_RESP_H
#define FAULTPROXY_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Progress within one message that arrives in pieces. All-zero before its first byte. */
typedef struct resp_frame {
    size_t done;   /* bytes of the message understood so far */
    int64_t items; /* values still to come before it is whole */
    bool started;
} resp_frame;

/* Looks at the `len` bytes of a message received so far. Its length once it is whole (the frame is
 * then all-zero again, ready for the next one); 0 when more bytes are needed; -1: not RESP. */
ssize_t resp_frame_end(resp_frame *frame, const char *message, size_t len);

/* Word `index` of a whole request. False when it has none such. */
bool resp_word(const char *request, size_t len, int index, const char **ret_word, size_t *ret_len);

/* The number of words of a whole request. */
int resp_words(const char *request, size_t len);

/* Whether word `index` of a request is `word`, in upper or lower case. */
bool resp_word_is(const char *request, size_t len, int index, const char *word);

/* Whether a whole reply is a message of a subscription, which answers no request. */
bool resp_is_push(const char *reply, size_t len);

#endif
