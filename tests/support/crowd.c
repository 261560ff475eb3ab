/* crowd.c - threads that buy until they are told to stop, and count what they were told. */
#include "tests/support/crowd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/fixture.h"
#include "tests/support/http.h"

/* Without a pause a crowd makes thousands of connections a second, and each is remembered for two
 * minutes after its end: the kernel's connection tracking is full before long, and drops packets.
 */
enum { BUYERS_MAX = 64, ANSWER_MS = 15000, PAUSE_MS = 20 };

struct fx_crowd {
    char url[128];
    pthread_t threads[BUYERS_MAX];
    int buyers;
    int number;      /* no two crowds of a test use the same request ids */
    atomic_int next; /* numbers the requests */
    atomic_bool over;
    pthread_mutex_t lock; /* guards what follows */
    fx_crowd_sum sum;
    int64_t last_sale_ms;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void count(fx_crowd *crowd, const fx_reply *reply)
{
    fx_crowd_sum *sum = &crowd->sum;
    int status = reply->status;
    pthread_mutex_lock(&crowd->lock);
    if (status == 201) {
        int gap = (int)(now_ms() - crowd->last_sale_ms);
        sum->longest_gap_ms = gap > sum->longest_gap_ms ? gap : sum->longest_gap_ms;
        crowd->last_sale_ms = now_ms();
        sum->bought++;
    } else {
        snprintf(sum->last_failure, sizeof(sum->last_failure), "%d %.200s", status,
                 status ? reply->body : reply->error);
        if (status == 409 || status == 429 || status == 503)
            sum->refused++;
        else if (status == 0 || status == 502 || status == 504)
            sum->unknown++;
        else
            sum->other++;
    }
    pthread_mutex_unlock(&crowd->lock);
}

static void *buy_on_and_on(void *arg)
{
    fx_crowd *crowd = arg;
    while (!atomic_load(&crowd->over)) {
        char url[256];
        fx_reply reply;
        int number = atomic_fetch_add(&crowd->next, 1);
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u%d&request=crowd%d-%d", crowd->url,
                 number, crowd->number, number);
        fx_http("POST", url, NULL, NULL, ANSWER_MS, &reply);
        count(crowd, &reply);
        fx_reply_free(&reply);
        fx_let_pass(PAUSE_MS);
    }
    return NULL;
}

fx_crowd *fx_crowd_start(const char *base_url, int buyers)
{
    static int crowds;
    fx_crowd *crowd = calloc(1, sizeof(*crowd));
    assert_non_null(crowd);
    assert_in_range(buyers, 1, BUYERS_MAX);
    snprintf(crowd->url, sizeof(crowd->url), "%s", base_url);
    pthread_mutex_init(&crowd->lock, NULL);
    crowd->last_sale_ms = now_ms();
    crowd->number = ++crowds;
    crowd->buyers = buyers;
    for (int i = 0; i < buyers; i++)
        assert_int_equal(pthread_create(&crowd->threads[i], NULL, buy_on_and_on, crowd), 0);
    return crowd;
}

fx_crowd_sum fx_crowd_look(fx_crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    fx_crowd_sum sum = crowd->sum;
    pthread_mutex_unlock(&crowd->lock);
    return sum;
}

typedef struct progress {
    fx_crowd *crowd;
    int goal;
} progress;

static bool has_reached_goal(void *arg)
{
    progress *p = arg;
    return fx_crowd_look(p->crowd).bought >= p->goal;
}

bool fx_crowd_sells(fx_crowd *crowd, int more, int deadline_ms)
{
    progress p = {crowd, fx_crowd_look(crowd).bought + more};
    return fx_wait_until(has_reached_goal, &p, deadline_ms);
}

fx_crowd_sum fx_crowd_stop(fx_crowd *crowd)
{
    atomic_store(&crowd->over, true);
    for (int i = 0; i < crowd->buyers; i++)
        pthread_join(crowd->threads[i], NULL);
    fx_crowd_sum sum = crowd->sum;
    pthread_mutex_destroy(&crowd->lock);
    free(crowd);
    return sum;
}
