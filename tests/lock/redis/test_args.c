/* The words of a command in the wire's form, and what becomes of those there was no memory for. */
#include "tests/lock/rig.h"

#include "lock/redis/conn.h"

enum { SOON_MS = 20000 };

static void words_are_kept_as_they_are_sent(void **state)
{
    (void)state;
    dlock_args args, more;
    memset(&args, 0x5a, sizeof(args));
    dlock_args_init(&args);
    assert_true(args.count == 0 && args.len == 0 && !args.failed);
    dlock_args_text(&args, "SET");
    dlock_args_bytes(&args, "a\0b", 3);
    dlock_args_bytes(&args, NULL, 0);
    dlock_args_int(&args, INT64_MIN);
    static const char wire[] =
        "$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n$20\r\n-9223372036854775808\r\n";
    assert_int_equal(args.count, 4);
    assert_int_equal(args.len, sizeof(wire) - 1);
    assert_memory_equal(args.buf, wire, args.len);

    size_t len;
    const char *first = dlock_args_first(&args, &len);
    assert_int_equal(len, 3);
    assert_memory_equal(first, "SET", len);

    dlock_args_init(&more);
    dlock_args_wire(&more, args.buf, args.len, args.count);
    dlock_args_wire(&more, args.buf, args.len, 0); /* no word is no words */
    dlock_args_wire(&more, args.buf, args.len, args.count);
    assert_int_equal(more.count, 8);
    assert_int_equal(more.len, 2 * args.len);
    assert_memory_equal(more.buf + args.len, wire, args.len);
    args.failed = true;
    char *memory = args.buf;
    dlock_args_clear(&args);
    assert_true(args.count == 0 && args.len == 0 && !args.failed && args.buf == memory);
    dlock_args_free(&args);
    dlock_args_free(&more);
    assert_null(args.buf);
}

/* Of every size around those at which the memory grows. */
static void there_is_room_for_any_word(void **state)
{
    (void)state;
    enum { LONGEST = 3000 };
    static char text[LONGEST + 1];
    memset(text, 'x', LONGEST);
    for (int size = 0; size < LONGEST; size += 1 + size / 16) {
        dlock_args args;
        char head[16];
        dlock_args_init(&args);
        for (int n = 0; n < 3; n++)
            dlock_args_bytes(&args, text, (size_t)size);
        size_t head_len = (size_t)snprintf(head, sizeof(head), "$%d\r\n", size);
        assert_int_equal(args.len, 3 * (head_len + (size_t)size + 2));
        for (int n = 0; n < 3; n++)
            assert_memory_equal(args.buf + (size_t)n * args.len / 3, head, head_len);
        assert_memory_equal(args.buf + args.len - 2, "\r\n", 2);
        dlock_args_free(&args);
    }
}

/* Not sent, neither as a command nor as a script's arguments, and the next call is well. */
static void what_there_was_no_memory_for_is_not_sent(void **state)
{
    rig *r = *state;
    static dlock_script script = DLOCK_SCRIPT("count", "return redis.call('INCR', KEYS[1])");
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "INCR");
    dlock_args_text(&args, "memory");
    args.failed = true;
    assert_int_equal(dlock_redis_command(r->redis, "memory", &args, dlock_in_ms(SOON_MS), &reply),
                     DLOCK_REDIS_NOT_SENT);
    assert_null(reply);
    dlock_args_clear(&args);
    dlock_args_text(&args, "memory");
    for (int i = 0; i < 2; i++) { /* when its hash is not known, and when it is */
        args.failed = true;
        assert_int_equal(
            dlock_redis_eval(r->redis, &script, 1, &args, dlock_in_ms(SOON_MS), &reply),
            DLOCK_REDIS_NOT_SENT);
        args.failed = false;
        assert_int_equal(
            dlock_redis_eval(r->redis, &script, 1, &args, dlock_in_ms(SOON_MS), &reply),
            DLOCK_REDIS_OK);
        assert_int_equal(reply->integer, i + 1);
        freeReplyObject(reply);
    }
    dlock_args_free(&args);
}

/* A script that is none: its error is told, and leaves nothing behind. */
static void a_script_that_can_not_be_learned_is_told_and_freed(void **state)
{
    (void)state;
    enum { WARM_UPS = 10, TIMES = 400, SPARE_BYTES = 16 * 1024 };
    fx_redis *server = fx_redis_start_single(NULL);
    dlock_redis *redis = rig_redis(fx_redis_url(server));
    dlock_script script = DLOCK_SCRIPT("none", "#!lua\nthis is no Lua");
    dlock_redis_conn *conn;
    size_t before = 0;
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    for (int i = 0; i < WARM_UPS + TIMES; i++) {
        redisReply *reply = NULL;
        dlock_args args;
        if (i == WARM_UPS)
            before = fx_bytes_allocated();
        assert_int_equal(dlock_redis_learn(conn, &script, dlock_in_ms(SOON_MS)), DLOCK_REDIS_ERROR);
        dlock_args_init(&args);
        assert_int_equal(dlock_redis_eval(redis, &script, 0, &args, dlock_in_ms(SOON_MS), &reply),
                         DLOCK_REDIS_ERROR);
        assert_int_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
    }
    assert_true(fx_bytes_allocated() <= before + SPARE_BYTES);
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
    fx_redis_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_kept_as_they_are_sent),
        cmocka_unit_test(there_is_room_for_any_word),
        cmocka_unit_test(what_there_was_no_memory_for_is_not_sent),
        cmocka_unit_test(a_script_that_can_not_be_learned_is_told_and_freed),
    };
    return cmocka_run_group_tests_name("args", tests, rig_setup, rig_teardown);
}
