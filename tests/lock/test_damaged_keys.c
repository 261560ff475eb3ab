/*
 * test_damaged_keys.c - locks whose keys are of another type, or whose user may not call a command
 * that they need. No lock stands forever because of it.
 */
#include "tests/lock/guests.h"

static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH,  DLOCK_FAIR,
                                   DLOCK_READ,   DLOCK_WRITE, DLOCK_SEMAPHORE};
#define KINDS (COUNT(kinds))

static dlock_options options_of(dlock_kind kind)
{
    return (dlock_options){.kind = kind, .permits = kind == DLOCK_SEMAPHORE ? 1 : 0};
}

/* Every key of the server has an end. */
static void check_ends(rig *r, const char *what)
{
    redisReply *keys = fx_redis_reply(r->server, "KEYS *");
    assert_non_null(keys);
    for (size_t i = 0; i < keys->elements; i++)
        if (rig_ask(r, "PTTL %s", keys->element[i]->str) == -1)
            fail_msg("%s: %s has no end", what, keys->element[i]->str);
    freeReplyObject(keys);
}

static void a_user_who_may_not_set_an_end_leaves_no_key(void **state)
{
    rig *r = *state;
    char url[512];
    fx_redis_do(r->server, "ACL SETUSER some on >secret ~* &* +@all -pexpire -del");
    fx_redis_url_as(r->server, "some:secret", url, sizeof(url));
    dlock_redis *redis = rig_redis(url);
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    for (size_t i = 0; i < KINDS; i++) {
        dlock_hold *hold;
        char name[32];
        snprintf(name, sizeof(name), "rights%zu", i);
        dlock_lock *lock = rig_lock(client, name, options_of(kinds[i]));
        if (dlock_acquire(lock, &(dlock_wait){.wait_ms = 100}, &hold) == DLOCK_OK)
            dlock_release(hold);
        check_ends(r, name);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
    dlock_redis_close(redis);
}

static void damage(rig *r, const char *key, const char *maker)
{
    rig_ask(r, "DEL %s", key);
    rig_ask(r, maker, key);
    rig_ask(r, "PEXPIRE %s 60000", key);
}

/* What stands beside a lock with a queue, of every other type: while it is taken, while it is held,
 * and when it is given back. */
static void bears_keys_of_another_type(rig *r, dlock_kind kind)
{
    static const char *const keys[] = {"dlock:{other}:queue", "dlock:{other}:beats",
                                       "dlock:{other}:permits"};
    static const char *const makers[] = {"SET %s text", "RPUSH %s a:b", "HSET %s f 1", "SADD %s x"};
    dlock_options options = options_of(kind);
    options.lease_ms = 2000; /* a busy machine needs some of it */
    dlock_lock *lock = rig_lock(r->client, "other", options);
    for (size_t k = 0; k < 3; k++)
        for (size_t m = 0; m < 4; m++) {
            dlock_hold *hold;
            damage(r, keys[k], makers[m]);
            dlock_status taken = dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold);
            if (taken != DLOCK_OK)
                fail_msg("%s, %s: %s", keys[k], makers[m], dlock_status_text(taken));
            damage(r, keys[k], makers[m]);
            dlock_status released = dlock_release(hold);
            if (released != DLOCK_OK)
                fail_msg("%s, %s: released: %s", keys[k], makers[m], dlock_status_text(released));
            assert_int_equal(rig_ask(r, "EXISTS %s", "other"), 0);
        }
    dlock_lock_free(lock);
    check_ends(r, "other");
}

static void a_queue_bears_keys_of_another_type(void **state)
{
    static const dlock_kind queues[] = {DLOCK_FAIR, DLOCK_READ, DLOCK_WRITE, DLOCK_SEMAPHORE};
    for (size_t i = 0; i < COUNT(queues); i++)
        bears_keys_of_another_type(*state, queues[i]);
}

/* Whatever it is, and whoever's: it is not touched, and whoever waits gets the lock behind it. */
static void a_name_of_another_type_is_a_strangers(void **state)
{
    rig *r = *state;
    static const dlock_kind shared[] = {DLOCK_READ, DLOCK_WRITE, DLOCK_SEMAPHORE};
    static const char *const makers[] = {"SET %s text", "RPUSH %s a:b", "HSET %s f 1", "SADD %s x"};
    for (size_t i = 0; i < COUNT(shared); i++) {
        dlock_lock *lock = rig_lock(r->client, "strange", options_of(shared[i]));
        for (size_t m = 0; m < 4; m++) {
            dlock_hold *hold;
            rig_ask(r, makers[m], "strange");
            assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_BUSY);
            assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 30}, &hold), DLOCK_BUSY);
            assert_int_equal(rig_ask(r, "EXISTS %s", "strange"), 1);
            rig_ask(r, "PEXPIRE %s 50", "strange");
            assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold), DLOCK_OK);
            rig_ask(r, "DEL %s", "strange");
            rig_ask(r, makers[m], "strange");
            assert_int_equal(dlock_release(hold), DLOCK_NOT_OWNER);
            assert_int_equal(rig_ask(r, "DEL %s", "strange"), 1);
        }
        dlock_lock_free(lock);
    }
}

/* A section of its own, in a script that writes nothing. */
static dlock_status run_section(dlock_lock *lock)
{
    dlock_args none;
    dlock_args_init(&none);
    dlock_guard *guard = dlock_guard_new("section", "return fence");
    dlock_status status =
        dlock_guard_section(lock, guard, 0, &none, 0, dlock_in_ms(2000), NULL, NULL);
    dlock_guard_free(guard);
    return status;
}

/* It leaves such a key to the acquire, which mends it, and then has its way. */
static void a_section_bears_keys_of_another_type(void **state)
{
    rig *r = *state;
    static const char *const keys[] = {"dlock:{mended}:queue", "dlock:{mended}:beats",
                                       "dlock:{mended}:fence", "mended"};
    static const char *const makers[] = {"SET %s text", "RPUSH %s a:b", "HSET %s f 1", "SADD %s x"};
    dlock_lock *lock = rig_lock(r->client, "mended", (dlock_options){.kind = DLOCK_FAIR});
    for (size_t k = 0; k < 4; k++)
        for (size_t m = 0; m < 4; m++) {
            dlock_hold *hold;
            rig_ask(r, "DEL %s", keys[k]);
            rig_ask(r, makers[m], keys[k]);
            rig_ask(r, "PEXPIRE %s 60000", keys[k]);
            dlock_status run = run_section(lock);
            if (run != DLOCK_OK && run != DLOCK_BUSY)
                fail_msg("%s, %s: %s", keys[k], makers[m], dlock_status_text(run));
            if (k < 2) {
                assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold),
                                 DLOCK_OK);
                assert_int_equal(dlock_release(hold), DLOCK_OK);
                assert_int_equal(run_section(lock), DLOCK_OK);
            }
            rig_ask(r, "DEL %s", keys[k]);
        }
    dlock_lock_free(lock);
    check_ends(r, "section");
}

/* Nothing was run: that is no failure on the way, of which nobody would know how far it came. */
static void a_section_without_a_right_that_it_needs_is_not_run(void **state)
{
    rig *r = *state;
    static const char *const rights[] = {"exists", "hexists", "time", "mget", "set"};
    char url[512];
    fx_redis_do(r->server, "ACL SETUSER few on >secret ~* &* +@all");
    fx_redis_url_as(r->server, "few:secret", url, sizeof(url));
    dlock_redis *redis = rig_redis(url);
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    dlock_lock *lock = rig_lock(client, "few", (dlock_options){.kind = DLOCK_FAIR});
    for (size_t i = 0; i < COUNT(rights); i++) {
        fx_redis_do(r->server, "ACL SETUSER few -%s", rights[i]);
        dlock_status run = run_section(lock);
        if (run != DLOCK_UNAVAILABLE || !strstr(dlock_status_text(run), "refused"))
            fail_msg("without %s: %s", rights[i], dlock_status_text(run));
        fx_redis_do(r->server, "ACL SETUSER few +%s", rights[i]);
        assert_int_equal(run_section(lock), DLOCK_OK);
    }
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_who_may_not_set_an_end_leaves_no_key),
        cmocka_unit_test(a_queue_bears_keys_of_another_type),
        cmocka_unit_test(a_name_of_another_type_is_a_strangers),
        cmocka_unit_test(a_section_bears_keys_of_another_type),
        cmocka_unit_test(a_section_without_a_right_that_it_needs_is_not_run),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
