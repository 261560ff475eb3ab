/*
 * Sells one piece of stock:{42} with a write that Redis refuses when the lock
 * is no longer ours, and that releases the lock in the same round trip.
 *
 *     guarded_write [redis://127.0.0.1:6379]
 */
#include <dlock.h>
#include <signal.h>
#include <stdio.h>

static const char sell_one[] = "local left = tonumber(redis.call('GET', KEYS[1]) or '0')\n"
                               "if left < tonumber(ARGV[1]) then return -1 end\n"
                               "return redis.call('DECRBY', KEYS[1], ARGV[1])\n";

static int sell(dlock_hold *hold, dlock_guard *guard)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "stock:{42}:left"); /* KEYS[1], in the lock's slot */
    dlock_args_int(&args, 1);                  /* ARGV[1] */
    dlock_status status = dlock_guard_call(hold, guard, 1, &args, true, dlock_in_ms(1000), &reply);
    dlock_args_free(&args);
    if (status == DLOCK_OK && reply->integer >= 0)
        printf("sold, %lld left\n", reply->integer);
    else /* DLOCK_UNKNOWN means sold or not: never report it as either */
        printf("%s\n", status == DLOCK_OK ? "sold out" : dlock_status_text(status));
    freeReplyObject(reply);
    return status == DLOCK_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    char err[256] = "";
    dlock_client *client = NULL;
    dlock_lock *lock = NULL;
    dlock_hold *hold;
    int code = 1;

    signal(SIGPIPE, SIG_IGN);
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    dlock_guard *guard = dlock_guard_new("sell_one", sell_one);
    if (guard && !dlock_client_open(url, NULL, &client, err, sizeof(err)) &&
        !dlock_lock_new(client, "stock:{42}:lock", NULL, &lock, err, sizeof(err)) &&
        !dlock_acquire(lock, &(dlock_wait){.wait_ms = 2000}, &hold)) {
        code = sell(hold, guard);
        dlock_release(hold);
    } else {
        fprintf(stderr, "not obtained%s%s\n", err[0] ? ": " : "", err);
    }
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_guard_free(guard);
    return code;
}
