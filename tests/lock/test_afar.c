/* Locks over a long way: a grant that is handed on is taken up in its window, without a question.
 */
#include "tests/lock/rig.h"
#include "tests/support/proxy.h"

#include <pthread.h>

enum { CLIENTS = 3, TURNS = 4, ROUND_TRIP_MS = 200 };

typedef struct client_far {
    pthread_t thread;
    const char *url;
    int grants;
    dlock_stats stats;
} client_far;

static void *take_turns(void *arg)
{
    client_far *c = arg;
    dlock_hold *hold;
    dlock_redis *redis = rig_redis(c->url);
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis, .io_ms = 5000});
    dlock_lock *lock = rig_lock(client, "afar", (dlock_options){.kind = DLOCK_FAIR});
    for (int i = 0; i < TURNS; i++) {
        if (dlock_acquire(lock, &(dlock_wait){.wait_ms = 60000}, &hold) != DLOCK_OK)
            break;
        c->grants++;
        if (dlock_release(hold) != DLOCK_OK)
            break;
    }
    dlock_client_stats(client, &c->stats);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    return NULL;
}

/* Who is handed the lock renews its window to a lease; nobody else renews within so short a time.
 */
static void windows_last_for_the_way(void **state)
{
    rig *r = *state;
    client_far all[CLIENTS];
    int grants = 0;
    uint64_t taken_up = 0;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    fx_proxy_say(proxy, "delay %dms", ROUND_TRIP_MS);
    for (int i = 0; i < CLIENTS; i++) {
        all[i] = (client_far){.url = fx_proxy_url(proxy)};
        pthread_create(&all[i].thread, NULL, take_turns, &all[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(all[i].thread, NULL);
        grants += all[i].grants;
        taken_up += all[i].stats.renewals + all[i].stats.renewals_failed;
    }
    print_message("%d grants, %d taken up\n", grants, (int)taken_up);
    assert_int_equal(grants, CLIENTS * TURNS);
    assert_true(taken_up >= CLIENTS * TURNS / 2);
    fx_proxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_last_for_the_way)};
    return cmocka_run_group_tests(tests, rig_setup_single, rig_teardown);
}
