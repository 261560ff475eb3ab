/* As many answers as commands, or the connection ends; and answers that no command can have. All of
 * it with a real server: what is read must be what that very command is answered with. */
#include "tests/lock/rig.h"

#include "lock/redis/conn.h"
#include "lock/redis/pool.h"

enum { SOON_MS = 20000 };

static fx_redis *server;
static dlock_redis *redis;
static dlock_redis_conn *conn;

/* ---- helpers --------------------------------------------------------------------------------- */

/* Each case has a server, a pool and a connection of its own to it. */
static int setup(void **state)
{
    (void)state;
    char err[256];
    server = fx_redis_start_single(NULL);
    dlock_redis_options options = {.url = fx_redis_url(server)};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
    fx_redis_stop(server);
    return 0;
}

/* "ECHO one" */
static void put(dlock_args *ret, const char *words)
{
    dlock_args_init(ret);
    while (*words) {
        size_t len = strcspn(words, " ");
        dlock_args_bytes(ret, words, len);
        words += len + (words[len] == ' ');
    }
}

static void queue(dlock_redis_conn *on, const char *words)
{
    dlock_args args;
    put(&args, words);
    dlock_redis_queue(on, &args);
    dlock_args_free(&args);
}

/* On the connection of one's own. */
static dlock_redis_outcome call(const char *words, redisReply **ret)
{
    dlock_args args;
    put(&args, words);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, dlock_in_ms(SOON_MS), ret);
    dlock_args_free(&args);
    return outcome;
}

/* On a pooled one. */
static redisReply *ask_pool(const char *words)
{
    dlock_args args;
    redisReply *reply = NULL;
    put(&args, words);
    assert_int_equal(dlock_redis_command(redis, NULL, &args, dlock_in_ms(SOON_MS), &reply),
                     DLOCK_REDIS_OK);
    dlock_args_free(&args);
    return reply;
}

/* Which connection of the pool is lent, by the server's number for it. */
static long long pooled_id(void)
{
    redisReply *reply = ask_pool("CLIENT ID");
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long id = reply->integer;
    freeReplyObject(reply);
    return id;
}

static void expect_error(const char *part)
{
    char error[ERROR_LEN];
    dlock_redis_last_error(redis, error, sizeof(error));
    if (!strstr(error, part))
        fail_msg("not '%s': %s", part, error);
}

static void expect_echo(const char *text)
{
    char words[32];
    redisReply *reply;
    snprintf(words, sizeof(words), "ECHO %s", text);
    assert_int_equal(call(words, &reply), DLOCK_REDIS_OK);
    assert_string_equal(reply->str, text);
    freeReplyObject(reply);
}

static void expect_texts(redisReply **answers, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) {
        if (strncmp(answers[i]->str, texts[i], strlen(texts[i])) != 0)
            fail_msg("answer %d: %s", i, answers[i]->str);
        freeReplyObject(answers[i]);
    }
}

/* ---- n commands, n answers ------------------------------------------------------------------- */

static void a_refusal_among_several_leaves_no_answer_behind(void **state)
{
    (void)state;
    redisReply *answers[4];
    fx_redis_do(server, "ACL SETUSER default -get");
    for (int i = 0; i < 3; i++) {
        queue(conn, "ECHO first");
        queue(conn, "GET k");
        queue(conn, "INCR");
        queue(conn, "ECHO last");
        assert_true(dlock_redis_answers(conn, dlock_in_ms(SOON_MS), 4, answers));
        expect_texts(answers, (const char *const[]){"first", "NOPERM ", "ERR ", "last"}, 4);
        expect_echo("own");
    }
}

/* What was left unread would answer the next question. */
static void a_question_behind_an_unread_answer_is_not_sent(void **state)
{
    (void)state;
    redisReply *reply;
    queue(conn, "ECHO read");
    queue(conn, "ECHO unread");
    assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), &reply), DLOCK_REDIS_OK);
    assert_string_equal(reply->str, "read");
    freeReplyObject(reply);
    assert_false(dlock_redis_broken(conn)); /* it may still be read */
    assert_int_equal(call("INCR n", &reply), DLOCK_REDIS_NOT_SENT);
    assert_null(reply);
    assert_true(dlock_redis_broken(conn));
    expect_error("were left unread");
    assert_int_equal(fx_redis_number(server, "EXISTS n"), 0);
}

/* Its own answer is the last one then, and it would read the first. */
static void a_call_behind_what_is_queued_is_not_sent(void **state)
{
    (void)state;
    queue(conn, "ECHO queued");
    assert_int_equal(call("INCR n", NULL), DLOCK_REDIS_NOT_SENT);
    assert_int_equal(fx_redis_number(server, "EXISTS n"), 0);
}

static void an_answer_that_nobody_asked_for_is_nobodys(void **state)
{
    (void)state;
    redisReply *reply;
    assert_int_equal(call("MONITOR", NULL), DLOCK_REDIS_OK);
    fx_redis_do(server, "ECHO overheard");
    assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), &reply), DLOCK_REDIS_UNKNOWN);
    assert_null(reply);
    assert_true(dlock_redis_broken(conn));
}

/* The server stops being a primary in the middle: what was asked is answered all the same. */
static void a_connection_that_is_to_end_answers_what_was_asked(void **state)
{
    (void)state;
    redisReply *answers[3];
    fx_redis_do(server, "REPLICAOF 127.0.0.1 1");
    queue(conn, "ECHO first");
    queue(conn, "SET k v");
    queue(conn, "ECHO last");
    assert_true(dlock_redis_answers(conn, dlock_in_ms(SOON_MS), 3, answers));
    expect_texts(answers, (const char *const[]){"first", "READONLY ", "last"}, 3);
    assert_true(dlock_redis_broken(conn));
}

static void answers_that_do_not_all_come_are_none(void **state)
{
    (void)state;
    redisReply *answers[2];
    queue(conn, "ECHO first");
    queue(conn, "BLPOP k 0");
    assert_false(dlock_redis_answers(conn, dlock_in_ms(50), 2, answers));
    assert_null(answers[0]);
    assert_null(answers[1]);
    assert_true(dlock_redis_broken(conn));
    assert_false(dlock_redis_answers(conn, dlock_in_ms(SOON_MS), 2, answers));
}

static void who_has_subscribed_hears_as_much_as_there_is(void **state)
{
    (void)state;
    enum { MESSAGES = 5 };
    queue(conn, "unsubscribe a");
    queue(conn, "Subscribe a");
    assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    queue(conn, "PING");
    assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), NULL), DLOCK_REDIS_OK);
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(fx_redis_number(server, "PUBLISH a m"), 1);
    assert_int_equal(call("SSUBSCRIBE b", NULL), DLOCK_REDIS_OK);
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), NULL), DLOCK_REDIS_OK);
    assert_false(dlock_redis_broken(conn));
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Asked by some caller, who has not read it. */
static void leave_unread(bool sent)
{
    dlock_redis_conn *lent;
    assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SOON_MS), &lent), DLOCK_REDIS_OK);
    queue(lent, "ECHO another's");
    if (sent)
        assert_int_equal(dlock_redis_flush(lent, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    dlock_pool_return(redis, lent);
}

static void the_pool_lends_no_connection_with_an_unread_answer(void **state)
{
    (void)state;
    for (int sent = 0; sent < 2; sent++) {
        long long before = pooled_id();
        leave_unread(sent);
        redisReply *reply = ask_pool("ECHO own");
        assert_string_equal(reply->str, "own");
        freeReplyObject(reply);
        assert_int_not_equal(pooled_id(), before);
    }
}

static void the_pool_lends_no_connection_that_has_subscribed(void **state)
{
    (void)state;
    dlock_redis_conn *lent;
    assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SOON_MS), &lent), DLOCK_REDIS_OK);
    queue(lent, "SUBSCRIBE a");
    assert_int_equal(dlock_redis_flush(lent, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_read(lent, dlock_in_ms(SOON_MS), NULL), DLOCK_REDIS_OK);
    dlock_pool_return(redis, lent);
    freeReplyObject(ask_pool("ECHO own"));
}

/* ---- answers of a wrong form ----------------------------------------------------------------- */

static void an_answer_of_a_wrong_form_ends_its_connection(void **state)
{
    (void)state;
    redisReply *reply;
    assert_int_equal(call("INCR n", &reply), DLOCK_REDIS_OK);
    assert_true(dlock_redis_conn_check(conn, "INCR", reply, true));
    assert_false(dlock_redis_broken(conn));
    assert_false(dlock_redis_conn_check(conn, "INFO memory", reply, false));
    freeReplyObject(reply);
    assert_true(dlock_redis_broken(conn));
    expect_error("INFO memory was answered with an integer");
}

/* A refusal can be the answer to any command, and its own words say more. */
static void an_error_is_of_no_wrong_form(void **state)
{
    (void)state;
    redisReply *reply;
    assert_int_equal(call("INCR", &reply), DLOCK_REDIS_ERROR);
    assert_false(dlock_redis_conn_check(conn, "INFO", reply, false));
    freeReplyObject(reply);
    assert_false(dlock_redis_broken(conn));
    expect_error("wrong number of arguments");
}

/* The one that is idle now, and the one that is lent. */
static void an_answer_of_a_wrong_form_ends_what_is_pooled(void **state)
{
    (void)state;
    static const struct {
        const char *command, *shape;
    } table[] = {{"TIME", "a list of 2"},
                 {"GET none", "nothing (nil)"},
                 {"ECHO text", "a text"},
                 {"CLIENT ID", "an integer"},
                 {"PING", "a status"}};
    for (size_t i = 0; i < COUNT(table); i++) {
        char expected[96];
        dlock_redis_conn *lent;
        assert_int_equal(dlock_pool_borrow(redis, 0, dlock_in_ms(SOON_MS), &lent), DLOCK_REDIS_OK);
        redisReply *reply = ask_pool(table[i].command);
        long long idle = pooled_id();
        assert_false(dlock_redis_check(redis, "the script x", reply, false));
        freeReplyObject(reply);
        snprintf(expected, sizeof(expected), "the script x was answered with %s", table[i].shape);
        expect_error(expected);
        assert_int_not_equal(pooled_id(), idle);
        dlock_pool_return(redis, lent);
        idle = pooled_id();
        assert_int_equal(pooled_id(), idle); /* the new one is as good as any */
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_refusal_among_several_leaves_no_answer_behind),
        CASE(a_question_behind_an_unread_answer_is_not_sent),
        CASE(a_call_behind_what_is_queued_is_not_sent),
        CASE(an_answer_that_nobody_asked_for_is_nobodys),
        CASE(a_connection_that_is_to_end_answers_what_was_asked),
        CASE(answers_that_do_not_all_come_are_none),
        CASE(who_has_subscribed_hears_as_much_as_there_is),
        CASE(the_pool_lends_no_connection_with_an_unread_answer),
        CASE(the_pool_lends_no_connection_that_has_subscribed),
        CASE(an_answer_of_a_wrong_form_ends_its_connection),
        CASE(an_error_is_of_no_wrong_form),
        CASE(an_answer_of_a_wrong_form_ends_what_is_pooled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
