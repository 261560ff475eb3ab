/*
 * An acquisition in libuv's loop: its descriptor is a uv_poll_t, and a timer cancels it after 2 s.
 * Whoever has the lock works under it until another timer ends, then writes the result under the
 * guard and releases. All that blocks runs on threads of the client, and the loop goes on.
 *
 *     cc libuv.c $(pkg-config --cflags --libs dlock libuv)
 *     libuv [redis://127.0.0.1:6379]
 */
#include <dlock.h>
#include <signal.h>
#include <stdio.h>
#include <uv.h>

#define PATIENCE_MS 2000
#define WORK_MS     100

typedef struct program {
    uv_loop_t loop;
    uv_poll_t poll;   /* of the call that is pending */
    uv_timer_t timer; /* patience at first, then work */
    dlock_client *client;
    dlock_pending *pending;
    dlock_hold *hold;
    dlock_guard *guard;
    int code;
} program;

static void end(program *self, int code)
{
    self->code = code;
    uv_close((uv_handle_t *)&self->timer, NULL); /* nothing is left in the loop: it returns */
}

/* On a thread of the client, so it may wait for Redis. Write and release are one round trip. */
static dlock_status write_and_release(void *arg)
{
    program *self = arg;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "{report}daily:result"); /* KEYS[1] */
    dlock_args_text(&args, "done");                 /* ARGV[1] */
    dlock_status status =
        dlock_guard_call(self->hold, self->guard, 1, &args, true, dlock_in_ms(1000), NULL);
    dlock_args_free(&args);
    dlock_status released = dlock_release(self->hold);
    return status == DLOCK_OK ? released : status;
}

static void on_written(uv_poll_t *poll, int uv_error, int events)
{
    program *self = poll->data;
    (void)uv_error, (void)events;
    uv_poll_stop(poll); /* before its descriptor is closed */
    dlock_status status = dlock_call_finish(self->pending);
    if (status == DLOCK_PENDING) {
        uv_poll_start(poll, UV_READABLE, on_written);
        return;
    }
    uv_close((uv_handle_t *)poll, NULL);
    printf("write and release: %s\n", dlock_status_text(status));
    end(self, status == DLOCK_OK ? 0 : 1);
}

/* Has the loop wait for the pending call. */
static void await(program *self, uv_poll_cb decided)
{
    self->poll.data = self;
    uv_poll_init(&self->loop, &self->poll, dlock_pending_fd(self->pending));
    uv_poll_start(&self->poll, UV_READABLE, decided);
}

static void on_worked(uv_timer_t *timer)
{
    program *self = timer->data;
    dlock_status status = dlock_call_start(self->client, write_and_release, self, &self->pending);
    if (status == DLOCK_OK)
        await(self, on_written);
    else
        end(self, 1);
}

/* The old handle is closed now: its memory may be used again. */
static void on_poll_closed(uv_handle_t *handle)
{
    program *self = handle->data;
    if (self->hold)
        uv_timer_start(&self->timer, on_worked, WORK_MS, 0);
    else
        end(self, 1);
}

static void on_acquired(uv_poll_t *poll, int uv_error, int events)
{
    program *self = poll->data;
    (void)uv_error, (void)events;
    uv_poll_stop(poll); /* before its descriptor is closed */
    dlock_status status = dlock_acquire_finish(self->pending, &self->hold);
    if (status == DLOCK_PENDING) {
        uv_poll_start(poll, UV_READABLE, on_acquired);
        return;
    }
    printf("acquire: %s\n", dlock_status_text(status));
    uv_timer_stop(&self->timer); /* there is nothing to cancel any more */
    uv_close((uv_handle_t *)poll, on_poll_closed);
}

static void on_patience_over(uv_timer_t *timer)
{
    program *self = timer->data;
    dlock_pending_cancel(self->pending); /* on_acquired() comes soon, and says so */
}

static int run(dlock_client *client, dlock_lock *lock, dlock_guard *guard)
{
    static program self;
    self.client = client;
    self.guard = guard;
    dlock_wait wait = {.wait_ms = DLOCK_FOREVER}; /* the loop's own timer ends it */
    dlock_status status = dlock_acquire_start(lock, &wait, &self.pending);
    if (status != DLOCK_OK) {
        fprintf(stderr, "%s\n", dlock_status_text(status));
        return 1;
    }
    uv_loop_init(&self.loop);
    uv_timer_init(&self.loop, &self.timer);
    self.timer.data = &self;
    uv_timer_start(&self.timer, on_patience_over, PATIENCE_MS, 0);
    await(&self, on_acquired);
    uv_run(&self.loop, UV_RUN_DEFAULT);
    uv_loop_close(&self.loop);
    return self.code;
}

int main(int argc, char **argv)
{
    char err[256];
    dlock_client *client = NULL;
    dlock_lock *lock = NULL;
    dlock_guard *guard = dlock_guard_new("result", "return redis.call('SET', KEYS[1], ARGV[1])");
    int code = 1;

    signal(SIGPIPE, SIG_IGN);
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    dlock_options how = {.kind = DLOCK_FAIR};
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK ||
        dlock_lock_new(client, "{report}daily", &how, &lock, err, sizeof(err)) != DLOCK_OK)
        fprintf(stderr, "%s\n", err);
    else if (guard)
        code = run(client, lock, guard);
    dlock_guard_free(guard);
    dlock_lock_free(lock);
    dlock_client_free(client);
    return code;
}
