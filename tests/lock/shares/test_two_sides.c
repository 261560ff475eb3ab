/* The two sides of a read/write lock in one process, each with a thread that listens for all of its
 * own: none may hear, and keep to itself, what the other side waits for. */
#include "tests/lock/rig.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 250 };

#define RECHECK_MS 1000  /* what a wake-up costs that its waiter does not see */
#define LIMIT_MS   10000 /* for a machine that runs other tests too */

typedef struct visitor {
    dlock_lock *lock;
    dlock_cancel *late;
    int done;
} visitor;

static void *visit(void *arg)
{
    visitor *self = arg;
    dlock_wait wait = {.wait_ms = DLOCK_FOREVER, .cancel = self->late};
    dlock_hold *hold;
    while (self->done < ROUNDS && dlock_acquire(self->lock, &wait, &hold) == DLOCK_OK) {
        dlock_release(hold);
        self->done++;
        fx_let_pass(1 + self->done % 3); /* or nobody would come to wait */
    }
    return NULL;
}

static void no_side_hears_what_is_for_the_other(void **state)
{
    rig *r = *state;
    dlock_client_options options = {.redis = r->redis, .recheck_ms = RECHECK_MS};
    dlock_client *client = rig_client(&options);
    dlock_lock *reading = rig_lock(client, "sides", (dlock_options){.kind = DLOCK_READ});
    dlock_lock *writing = rig_lock(client, "sides", (dlock_options){.kind = DLOCK_WRITE});
    dlock_cancel *late = dlock_cancel_new();
    pthread_t threads[THREADS];
    visitor visitors[THREADS];
    dlock_time limit = dlock_in_ms(fx_patient_ms(LIMIT_MS));
    for (int i = 0; i < THREADS; i++) {
        visitors[i] = (visitor){i % 2 ? reading : writing, late, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += dlock_left_ms(limit) / 1000;
        if (pthread_timedjoin_np(threads[i], NULL, &end) == 0)
            continue;
        dlock_cancel_now(late);
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(visitors[i].done, ROUNDS);
    dlock_cancel_free(late);
    dlock_lock_free(writing);
    dlock_lock_free(reading);
    dlock_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_side_hears_what_is_for_the_other),
    };
    return cmocka_run_group_tests_name("two sides", tests, rig_setup, rig_teardown);
}
