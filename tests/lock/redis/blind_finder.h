/* A finder of a cluster's servers that knows nothing but what the test tells. */
#ifndef TESTS_LOCK_REDIS_BLIND_FINDER_H
#define TESTS_LOCK_REDIS_BLIND_FINDER_H

#include <stdlib.h>

#include "lock/redis/topology.h"

static void *blind_start(topology *t)
{
    (void)t;
    return malloc(1);
}

static int64_t blind_look(topology *t, void *state)
{
    (void)t, (void)state;
    return 60000;
}

static int blind_news_fd(const topology *t, void *state)
{
    (void)t, (void)state;
    return -1;
}

static const finder blind = {.cluster = true,
                             .start = blind_start,
                             .look = blind_look,
                             .news_fd = blind_news_fd,
                             .stop = free};

#endif
