/* streams.c - a list of sockets; every half second each gets the news of its item. */
#include "server/streams.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/ticker.h"

#define EVERY_MS    500
#define STREAMS_MAX 512

/* Of a socket, for what its client has not taken: some documents. Otherwise Linux lets it grow to
 * megabytes, and clients that take nothing would not be noticed for minutes. */
#define UNTAKEN_BYTES 65536

typedef struct stream {
    int fd;
    bool told; /* at this tick */
    char item[IDENT_MAX + 1];
} stream;

struct streams {
    fs_api *api;
    ticker *telling;
    pthread_mutex_t lock; /* guards the rest */
    int count;
    stream all[STREAMS_MAX];
};

/* Tells all who look at the same item as stream `first`, or ends them; under the lock. A client
 * that can not take a whole event at once is ended, and may come again. */
static void tell_all_of(streams *s, int first, bool last, const fs_text *event)
{
    for (int i = first; i < s->count; i++) {
        stream *one = &s->all[i];
        if (one->told || strcmp(one->item, s->all[first].item) != 0)
            continue;
        one->told = true;
        if (last || send(one->fd, text_bytes(event), event->len, MSG_DONTWAIT | MSG_NOSIGNAL) !=
                        (ssize_t)event->len) {
            close(one->fd);
            one->fd = -1;
        }
    }
}

static void tell_everybody(void *arg)
{
    streams *s = arg;
    fs_text event;
    text_init(&event);
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->count; i++)
        s->all[i].told = false;
    for (int i = 0; i < s->count; i++) {
        if (s->all[i].told)
            continue;
        text_clear(&event);
        dashboard_answer answer = api_stream_next(s->api, s->all[i].item, &event);
        if (answer != DASHBOARD_LATE)
            tell_all_of(s, i, answer == DASHBOARD_OVER, &event);
    }
    int left = 0;
    for (int i = 0; i < s->count; i++)
        if (s->all[i].fd >= 0)
            s->all[left++] = s->all[i];
    s->count = left;
    pthread_mutex_unlock(&s->lock);
    text_free(&event);
}

bool streams_add(streams *s, int fd, const char *item)
{
    const int untaken = UNTAKEN_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &untaken, sizeof(untaken));
    pthread_mutex_lock(&s->lock);
    bool room = s->count < STREAMS_MAX;
    if (room) {
        stream *one = &s->all[s->count++];
        one->fd = fd;
        snprintf(one->item, sizeof(one->item), "%s", item);
    }
    pthread_mutex_unlock(&s->lock);
    return room;
}

streams *streams_start(fs_api *api)
{
    streams *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->api = api;
    pthread_mutex_init(&s->lock, NULL);
    s->telling = ticker_start(tell_everybody, s, EVERY_MS);
    if (s->telling)
        return s;
    streams_stop(s);
    return NULL;
}

void streams_stop(streams *s)
{
    if (!s)
        return;
    ticker_stop(s->telling);
    for (int i = 0; i < s->count; i++)
        close(s->all[i].fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
