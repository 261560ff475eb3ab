/*
 * The callback form: the lock is named by a template, taken before the body and
 * released after it whatever it returns. The body waits for its work or for the news that the
 * lock is lost, whichever comes first.
 *
 *     declarative ITEM [redis://127.0.0.1:6379]
 */
#include <dlock.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

static void on_lost(void *arg, dlock_hold *hold)
{
    (void)hold;
    fprintf(stderr, "the lock of item %s is lost\n", (const char *)arg);
}

static int restock(void *arg, dlock_hold *hold)
{
    struct pollfd lost = {.fd = dlock_lost_fd(hold), .events = POLLIN};
    printf("restocking %s under %s\n", (const char *)arg, dlock_owner(hold));
    return poll(&lost, 1, 100) == 0 ? 0 : 1; /* 100 ms of work stand here for the real one */
}

int main(int argc, char **argv)
{
    char err[256];
    dlock_client *client;
    if (argc < 2)
        return fprintf(stderr, "usage: declarative ITEM [URL]\n"), 64;

    signal(SIGPIPE, SIG_IGN);
    const char *url = argc > 2 ? argv[2] : "redis://127.0.0.1:6379";
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK)
        return fprintf(stderr, "%s\n", err), 1;

    int answer = 1;
    dlock_named_arg names[] = {{"item", argv[1]}, {NULL, NULL}};
    dlock_options how = {.lease_ms = 3000, .lost = on_lost, .lost_arg = argv[1]};
    dlock_status status = dlock_with(client, "stock:{{{item}}}:restock", names, &how,
                                     &(dlock_wait){.wait_ms = 2000}, restock, argv[1], &answer);
    printf("%s, body returned %d\n", dlock_status_text(status), answer);

    dlock_client_free(client);
    return status == DLOCK_OK ? answer : 1;
}
