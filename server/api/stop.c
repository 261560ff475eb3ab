/*
 * stop.c - POST /locks/stop: pauses the process that holds an item's lock for 15 s, as a
 * demonstration of what becomes of the lock. The route exists with --demo yes only.
 *
 * A guard stops the process and continues it: a shell in a session of its own, which needs neither
 * this instance nor Redis. So nothing that ends or stops this instance leaves the process stopped.
 * If this instance is the holder, the guard waits for the answer first. A process that is stopped
 * already gets no second guard.
 *
 * Many holds are shorter than a stop takes. So the lock is looked at again while another process
 * stands still. If that one holds it no more, it goes on at once, and the next holder is tried.
 */
#include "server/api/routes.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/log.h"

#define STOPPED_S 15
#define TRIES     20
#define PAUSE_MS  3    /* between two tries */
#define SETTLE_MS 10   /* until the last call of a process to the kernel has ended */
#define SEEN_MS   1000 /* by then it stands still */
#define TRY_MS    2000 /* no try begins later */

/* The guard's script; $0 is the process, $1 how long it stands still, $2 when that begins. */
#define GUARD "sleep $2; kill -STOP $0; sleep $1; kill -CONT $0"

/* The guard's pid, which is its process group too; -1: not started. */
static pid_t guard_start(pid_t process, bool own)
{
    pid_t guard = -1;
    char pid[16], seconds[16], path[] = "PATH=/usr/bin:/bin";
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigset_t child;
    snprintf(pid, sizeof(pid), "%d", (int)process);
    snprintf(seconds, sizeof(seconds), "%d", STOPPED_S);
    char *const args[] = {
        (char *)"sh", (char *)"-c", (char *)GUARD, pid, seconds, (char *)(own ? "0.1" : "0"), NULL};
    char *const environment[] = {path, NULL};

    signal(SIGCHLD, SIG_IGN); /* here: the kernel reaps guards, which are the only children */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&how, &child);
    posix_spawn_file_actions_init(&files);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (posix_spawn(&guard, "/bin/sh", &files, &how, args, environment) != 0)
        guard = -1;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return guard;
}

/* As /proc has it, for example 'T': stopped. 0: it is gone, or runs another program than this. */
static char state_of(pid_t process)
{
    char path[64], own[256] = "", theirs[256] = "", state = 0;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) <= 0 ||
        readlink(path, theirs, sizeof(theirs) - 1) <= 0 || strcmp(own, theirs) != 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    FILE *stat = fopen(path, "re");
    if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (stat)
        fclose(stat);
    return state;
}

static void not_stopped(api_reply *reply, const char *why)
{
    problem(reply, 409, "not_stopped", why);
}

/* The name of the instance that holds the lock, if it may be stopped. Else why not; NULL = it may.
 */
static const char *find_fault(fs_api *api, const dlock_info *lock, char ret[IDENT_MAX + 1])
{
    const char *own = dlock_client_id(api->store->locks); /* "<host>/<pid>/<random>" */
    size_t host = strlen(lock->host);
    if (!lock->held)
        return "nobody holds the lock now; a sale with hold_ms holds it longer, while buyers come "
               "to several instances";
    if (lock->pid <= 1 || !dashboard_owner(api->dashboard, lock->owner, ret))
        return "the holder is no instance of this service";
    if (strncmp(own, lock->host, host) != 0 || own[host] != '/' || kill((pid_t)lock->pid, 0) != 0)
        return "the holder runs on another host, or as another user";
    char state = state_of((pid_t)lock->pid);
    return state == 0 || state == 'Z' ? "the holder has ended"
           : state == 'T'             ? "the holder is stopped already"
                                      : NULL;
}

/* Stops another process than this one, if it holds the lock still: then *lock is as it was seen
 * while the process stood still. Otherwise the process goes on. A guard that is late is left to
 * continue the process itself: if it ended now, its SIGSTOP could come behind a SIGCONT from here.
 */
static bool stop_other(const open_sale *sale, dlock_info *lock)
{
    dlock_info again = {.held = false};
    pid_t process = (pid_t)lock->pid, guard = guard_start(process, false);
    dlock_time until = dlock_in_ms(SEEN_MS);
    if (guard < 0)
        return false;
    while (state_of(process) != 'T' && !dlock_passed(until))
        dlock_sleep(dlock_in_ms(1));
    if (state_of(process) != 'T')
        return false;
    dlock_sleep(dlock_in_ms(SETTLE_MS));
    if (sale_lock_look(sale, sale->strategy->lock.kind, 0, &again) && again.pid == lock->pid &&
        strcmp(again.host, lock->host) == 0) {
        *lock = again;
        return true;
    }
    kill(-guard, SIGKILL);
    kill(process, SIGCONT);
    return false;
}

/* One try. False: not stopped, and the next try may do it. */
static bool try_to_stop(fs_api *api, const open_sale *sale, api_reply *reply)
{
    dlock_info lock;
    char instance[IDENT_MAX + 1];
    if (!sale_lock_look(sale, sale->strategy->lock.kind, 0, &lock)) {
        problem_redis(reply, dlock_redis_said(), "nothing was stopped");
        return true;
    }
    const char *fault = find_fault(api, &lock, instance);
    bool own = !fault && lock.pid == getpid();
    if (!fault && !(own ? guard_start(getpid(), true) > 0 : stop_other(sale, &lock)))
        fault = "the holder released the lock before it could be stopped";
    if (fault) {
        not_stopped(reply, fault);
        return false;
    }
    log_event(LOG_INFO, "holder_stopped", "item", sale->terms.item, "instance", instance, NULL);
    text_put(reply_json(reply, 200), STRING("item", sale->terms.item),
             STRING("sale", sale->terms.id), STRING("instance", instance), NUMBER("pid", lock.pid),
             NUMBER("fence", (int64_t)lock.fence), NUMBER("stopped_ms", STOPPED_S * 1000));
    return true;
}

/* One at a time: what one has stopped, another one finds stopped. */
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

void api_stop_holder(fs_api *api, const api_request *request, api_reply *reply)
{
    char item[IDENT_MAX + 1];
    fs_sale *taken;
    if (!api_read_ident(request->query, "item", "bad_item", true, item, reply))
        return;
    if (!sale_table_take(api->sales, item, false, &taken)) {
        not_stopped(reply, "this instance knows no sale of the item");
        return;
    }
    const open_sale *sale = &taken->open_sale;
    if (!sale->strategy->locked) {
        not_stopped(reply, "the sale's strategy has no lock");
    } else if (sale->key_sets > 1) {
        not_stopped(reply, "the sale has several locks, one for each segment");
    } else {
        dlock_time until = dlock_in_ms(TRY_MS);
        pthread_mutex_lock(&alone);
        for (int i = 0; i < TRIES && !try_to_stop(api, sale, reply) && !dlock_passed(until); i++)
            dlock_sleep(dlock_in_ms(PAUSE_MS));
        pthread_mutex_unlock(&alone);
    }
    sale_table_put(taken);
}
