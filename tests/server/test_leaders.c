/* test_leaders.c - leaders come with the buyers and go after them: an item on sale that nobody buys
 * costs an instance no thread. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "server/selling/leaders.h"
#include "tests/support/service.h"

enum { TASKS = 50, WAIT_MS = 60000 };

/* Threads of the instance that come and go with its connections. */
enum { OTHERS = 20 };

static int threads_of(int pid)
{
    char path[64], line[128];
    int threads = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    assert_non_null(status);
    while (threads == 0 && fgets(line, sizeof(line), status))
        sscanf(line, "Threads: %d", &threads);
    fclose(status);
    assert_true(threads > 0);
    return threads;
}

/* ---- alone ----------------------------------------------------------------------------------- */

/* Tasks that all wait for each other. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int there, done;
} meeting;

static void meet(void *arg)
{
    meeting *all = arg;
    pthread_mutex_lock(&all->lock);
    all->there++;
    pthread_cond_broadcast(&all->changed);
    while (all->there < TASKS)
        pthread_cond_wait(&all->changed, &all->lock);
    all->done++;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

/* But for one: ThreadSanitizer has a thread of its own. */
static bool are_alone(void *others)
{
    return threads_of(getpid()) <= *(int *)others + 1;
}

/* No task waits for another's end. Twice at once: the second time most leaders are there. */
static void each_task_has_a_leader_of_its_own(void **state)
{
    (void)state;
    static leader_task tasks[TASKS];
    int before = threads_of(getpid());
    for (int round = 0; round < 2; round++) {
        meeting all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = (leader_task){.run = meet, .arg = &all};
            assert_true(leaders_run(&tasks[i]));
        }
        pthread_mutex_lock(&all.lock);
        while (all.done < TASKS)
            pthread_cond_wait(&all.changed, &all.lock);
        pthread_mutex_unlock(&all.lock);
    }
    assert_true(fx_wait_until(are_alone, &before, WAIT_MS));
}

/* ---- in an instance -------------------------------------------------------------------------- */

static bool are_few(void *most)
{
    return threads_of(fx_process_pid(fx_server_process(fx.server[0]))) <= *(int *)most;
}

/* A busy machine may make Redis late: then nothing was done, and it is asked again. */
static bool is_done(void *request)
{
    return fx_status(fx.server[0], "%s", (const char *)request) == 201;
}

/* Puts so many items on sale and buys one of each. */
static void sell_items(int items, const char *terms, int most)
{
    char start[256], buy[64];
    for (int i = 0; i < items; i++) {
        snprintf(start, sizeof(start), "POST /sales {'item':'I%d','stock':40,%s}", i, terms);
        snprintf(buy, sizeof(buy), "POST /buy?item=I%d&user=u1", i);
        assert_true(fx_wait_until(is_done, start, WAIT_MS));
        assert_true(fx_wait_until(is_done, buy, WAIT_MS));
    }
    if (!fx_wait_until(are_few, &most, WAIT_MS))
        fail_msg("%d items with %s: more than %d threads", items, terms, most);
}

static void four_hundred_items_on_sale_cost_no_thread(void **state)
{
    (void)state;
    int most = threads_of(fx_process_pid(fx_server_process(fx.server[0]))) + OTHERS;
    sell_items(400, "'strategy':'batched'", most);
    sell_items(400, "'strategy':'combined'", most);
    sell_items(400, "'strategy':'sharded','segments':4", most);
}

static void under_no_strategy_does_an_item_cost_a_thread(void **state)
{
    (void)state;
    char terms[64];
    int most = threads_of(fx_process_pid(fx_server_process(fx.server[0]))) + OTHERS;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        snprintf(terms, sizeof(terms), "'strategy':'%s'", s->name);
        sell_items(3 * OTHERS, terms, most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_has_a_leader_of_its_own),
        cmocka_unit_test(four_hundred_items_on_sale_cost_no_thread),
        cmocka_unit_test(under_no_strategy_does_an_item_cost_a_thread),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS("--threads", "8"));
}
