/* What pending calls have in common, and pending releases: a question to Redis, and its answer. */
#include "pending/pending.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/client.h"

/* ---- its beginning and end ------------------------------------------------------------------- */

static void free_pending(task *t)
{
    dlock_pending *p = (dlock_pending *)t;
    if (p->lock)
        dlock_lock_unref(p->lock);
    pthread_mutex_destroy(&p->decision);
    free(p);
}

dlock_pending *dlock_pending_new(dlock_client *client, pending_kind what, void (*run)(task *t))
{
    engine *e = run ? dlock_engine_of(client) : NULL;
    dlock_pending *p = e || !run ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->fd < 0) {
        free(p);
        return NULL;
    }
    dlock_task_init(&p->task, e, run, free_pending);
    p->kind = what;
    p->client = client;
    pthread_mutex_init(&p->decision, NULL);
    p->status = DLOCK_PENDING;
    return p;
}

void dlock_pending_decide(dlock_pending *p, dlock_status status)
{
    uint64_t one = 1;
    p->state = DECIDED;
    pthread_mutex_lock(&p->decision);
    if (write(p->fd, &one, sizeof(one)) == sizeof(one)) /* the first word to it always fits */
        p->status = status;
    pthread_mutex_unlock(&p->decision);
    if (p->told)
        p->told(p->told_arg, p);
}

dlock_status dlock_pending_status(dlock_pending *p)
{
    pthread_mutex_lock(&p->decision);
    dlock_status status = p->status;
    pthread_mutex_unlock(&p->decision);
    return status;
}

void dlock_pending_free(dlock_pending *p)
{
    close(p->fd);
    p->fd = -1;
    dlock_task_unref(&p->task);
}

/* ---- a release ------------------------------------------------------------------------------- */

static void run_release(task *t)
{
    dlock_pending *p = (dlock_pending *)t;
    if (p->state == DECIDED || !atomic_load(&p->question->answered))
        return;
    dlock_status status = dlock_question_status(p->question);
    if (status == DLOCK_OK)
        status = dlock_ask_read_released(p->question->call.reply);
    dlock_question_free(p->question);
    p->question = NULL;
    dlock_pending_decide(p, dlock_release_end(&p->release, status));
}

dlock_status dlock_release_start(dlock_hold *hold, dlock_pending **ret)
{
    dlock_lock *lock = hold->lock;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    if (lock->kind->everywhere)
        return DLOCK_INVALID;
    dlock_pending *p = dlock_pending_new(lock->client, PENDING_RELEASE, run_release);
    question *q = p ? dlock_question_new(&p->task) : NULL;
    if (!q) {
        if (p)
            dlock_pending_free(p);
        return DLOCK_NO_MEMORY;
    }
    *ret = p;
    p->lock = lock;
    dlock_lock_ref(lock);
    p->release = dlock_release_begin(hold);
    if (!p->release.grant) {
        dlock_question_free(q);
        dlock_pending_decide(p, p->release.status);
        return DLOCK_OK;
    }
    p->question = q;
    q->call.script = lock->kind->release.script;
    q->call.keys =
        lock->kind->release.args(lock, &(asker){.token = p->release.grant->token}, &q->call.args);
    dlock_question_put(q);
    return DLOCK_OK;
}

dlock_status dlock_release_finish(dlock_pending *p)
{
    return dlock_pending_finish(p, PENDING_RELEASE);
}

/* ---- any of them ----------------------------------------------------------------------------- */

dlock_status dlock_pending_finish(dlock_pending *p, pending_kind what)
{
    if (dlock_client_forked(p->client))
        return DLOCK_FORKED;
    if (p->kind != what)
        return DLOCK_INVALID;
    dlock_status status = dlock_pending_status(p);
    if (status != DLOCK_PENDING)
        dlock_pending_free(p);
    return status;
}

int dlock_pending_fd(const dlock_pending *p)
{
    return dlock_client_forked(p->client) ? -1 : p->fd;
}

void dlock_pending_cancel(dlock_pending *p)
{
    if (dlock_client_forked(p->client))
        return;
    if (p->kind == PENDING_CALL) {
        dlock_call_cancel(p);
        return;
    }
    atomic_store(&p->cancelled, true);
    dlock_task_notice(&p->task);
}
