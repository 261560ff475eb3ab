/*
 * What several sentinels say of the master's replicas, and what that comes to when it is counted.
 */
#include "tests/lock/redis/fake_sentinels.h"

/* What three sentinels say of a replica, and what that comes to. Their down-after is 1 s. */
static const struct {
    const char *what;
    struct {
        const char *flags, *replica, *id;
        int server, down_ms;
    } says[3];
    int telling, agreeing, listed, barred, fit, fading;
} tellings[] = {
    {"all see it",
     {{"master", "slave 100 0", NULL, 0, 0},
      {"master", "slave 100 0", NULL, 0, 0},
      {"master", "disconnected,slave 100 0", NULL, 0, 0}},
     3,
     3,
     1,
     0,
     3,
     0},
    {"all have lost it",
     {{"master", "slave,s_down 100 0 10001", NULL, 0, 0},
      {"master", "slave 100 10001", NULL, 0, 0},
      {"master", "slave,s_down,disconnected 100 0 10001", NULL, 0, 0}},
     3,
     3,
     1,
     0,
     0,
     0},
    {"one could promote it, and one could again",
     {{"master", "slave,s_down 100 0 10001", NULL, 0, 0},
      {"master", "slave 100 10000", NULL, 0, 0},
      {"master", "slave,o_down 100 0 10000", NULL, 0, 0}},
     3,
     3,
     1,
     0,
     1,
     1},
    {"it is barred",
     {{"master", "slave 0 0", NULL, 0, 0},
      {"master", "slave 0 0", NULL, 0, 0},
      {"master", "slave 100 0", NULL, 0, 0}},
     3,
     3,
     1,
     2,
     1,
     0},
    {"one takes the master for down, and one fails over",
     {{"s_down,master", "slave 100 15000", NULL, 0, 5000}, /* it would take 5 s more of absence */
      {"master,failover_in_progress", "slave 100 0", NULL, 0, 0},
      {"master", NULL, NULL, 0, 0}},
     3,
     1,
     1,
     0,
     2,
     0},
    {"the master is down for less than the replica is away",
     {{"s_down,master", "slave 100 15001", NULL, 0, 5000},
      {"master", NULL, NULL, 0, 0},
      {"master", NULL, NULL, 0, 0}},
     3,
     2,
     1,
     0,
     0,
     0},
    {"one follows another master, and one has another's id",
     {{"master", "slave 0 0", NULL, 0, 0},
      {"master", "slave 100 0", "id0", 0, 0},
      {"master", "slave 100 0", NULL, 1, 0}},
     3,
     1,
     2,
     1,
     2,
     0},
};

typedef struct asked_replicas {
    dlock_redis *redis;
    dlock_replicas told;
    int telling;
} asked_replicas;

static bool have_told(void *arg)
{
    asked_replicas *a = arg;
    assert_true(dlock_redis_replicas(a->redis, &a->told));
    return a->told.telling == a->telling;
}

static void replicas_are_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tellings); i++) {
        for (int k = 0; k < 3; k++)
            tell(k, (story){.port = port_of(tellings[i].says[k].server),
                            .flags = tellings[i].says[k].flags,
                            .down_ms = tellings[i].says[k].down_ms,
                            .replica = tellings[i].says[k].replica,
                            .id = tellings[i].says[k].id});
        asked_replicas a = {.redis = open_first(3), .telling = tellings[i].telling};
        assert_leads_to(a.redis, 0);
        if (!fx_wait_until(have_told, &a, SOON_MS))
            fail_msg("%s: %d tell", tellings[i].what, a.told.telling);
        int barred = 0, fit = 0, fading = 0;
        for (int k = 0; k < a.told.count; k++) {
            barred += a.told.replicas[k].barred;
            fit += a.told.replicas[k].fit;
            fading += a.told.replicas[k].fading;
        }
        if (a.told.sentinels != 3 || a.told.agreeing != tellings[i].agreeing ||
            a.told.count != tellings[i].listed || barred != tellings[i].barred ||
            fit != tellings[i].fit || fading != tellings[i].fading || a.told.down_after_ms != 1000)
            fail_msg("%s: %d agree, %d listed, %d barred, %d fit, %d fading", tellings[i].what,
                     a.told.agreeing, a.told.count, barred, fit, fading);
        dlock_redis_close(a.redis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(replicas_are_counted, setup),
    };
    return cmocka_run_group_tests_name("sentinel_replicas", tests, setup_all, teardown_all);
}
