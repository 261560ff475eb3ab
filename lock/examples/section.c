/*
 * Protects a section with a lock: waits up to 2 s, shows the fence, stops early when
 * the lock is lost.
 *
 *     section [redis://127.0.0.1:6379]
 */
#include <dlock.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int work_under(dlock_lock *lock)
{
    dlock_hold *hold;
    dlock_status status = dlock_acquire(lock, &(dlock_wait){.wait_ms = 2000}, &hold);
    if (status != DLOCK_OK) {
        fprintf(stderr, "not obtained: %s\n", dlock_status_text(status));
        return 1;
    }
    printf("fence %llu\n", (unsigned long long)dlock_fence(hold));

    /* The watchdog renews the lease meanwhile. Long work asks now and then whether it still may. */
    for (int step = 0; step < 5 && dlock_held(hold); step++)
        usleep(20 * 1000);

    status = dlock_release(hold);
    printf("release: %s\n", dlock_status_text(status));
    return status == DLOCK_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    char err[256];
    dlock_client *client = NULL;
    dlock_lock *lock = NULL;
    int code = 1;

    signal(SIGPIPE, SIG_IGN);
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    dlock_options how = {.kind = DLOCK_FAIR, .lease_ms = 5000};
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK ||
        dlock_lock_new(client, "report:daily", &how, &lock, err, sizeof(err)) != DLOCK_OK)
        fprintf(stderr, "%s\n", err);
    else
        code = work_under(lock);
    dlock_lock_free(lock);
    dlock_client_free(client);
    return code;
}
