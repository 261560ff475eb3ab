/* The scripts of --at-least and --once-per, and what becomes of their answers. */
#include "cmd/spacing.h"
#include "cmd/signals.h"
#include "cmd/spacing_begin.lua.h"
#include "cmd/spacing_end.lua.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTION_MS 1000 /* for an answer */
#define AGAIN_MS    100  /* pause before the question is asked again */

/* With a Redis that does not answer: for a lease, but ... */
#define PATIENCE_MIN_MS 5000
#define PATIENCE_MAX_MS 60000

enum { KEY_LEN = 1024, OWNER_LEN = 160 };

int64_t spacing_lease_ms(const run_options *options)
{
    return options->at_least_ms > options->lease_ms ? options->at_least_ms : options->lease_ms;
}

/* The companion key, as dlock.h says under "Layout in Redis". */
static void record_key(const char *name, char ret[KEY_LEN])
{
    const char *tag = strchr(name, '{');
    if (tag)
        snprintf(ret, KEY_LEN, "dlock:{%.*s}:ran:%s", (int)strcspn(tag + 1, "}"), tag + 1, name);
    else
        snprintf(ret, KEY_LEN, "dlock:{%s}:ran", name);
}

/* "<client id>:<number>" becomes "<client id>:k<number>". */
static void kept_owner(const char *owner, char ret[OWNER_LEN])
{
    const char *colon = strrchr(owner, ':');
    int id_len = colon ? (int)(colon - owner) : 0;
    snprintf(ret, OWNER_LEN, "%.*s:k%s", id_len, owner, colon ? colon + 1 : owner);
}

static bool is_open(dlock_status status)
{
    return status == DLOCK_UNKNOWN || status == DLOCK_UNAVAILABLE;
}

/* Whether to ask once more; pauses before. A signal that ends the wait goes to *signo; with
 * `signals` -1 none does. */
static bool again(const dlock_hold *hold, dlock_status status, dlock_time patience, int signals,
                  int *signo)
{
    if (!is_open(status) || !dlock_held(hold) || dlock_passed(patience))
        return false;
    struct pollfd fd = {.fd = signals, .events = POLLIN};
    dlock_time until = dlock_in_ms(AGAIN_MS);
    while (!*signo && poll(&fd, 1, dlock_left_ms(until)) > 0)
        *signo = signals_ending(signals);
    return !*signo;
}

static dlock_time patience(const spacing *self)
{
    int64_t ms = self->options->lease_ms;
    ms = ms < PATIENCE_MIN_MS ? PATIENCE_MIN_MS : ms;
    return dlock_in_ms(ms > PATIENCE_MAX_MS ? PATIENCE_MAX_MS : ms);
}

static void complain(const spacing *self, const char *what, dlock_status status)
{
    char err[256];
    dlock_last_error(self->session->client, err, sizeof(err));
    command_complain("the lock \"%s\": %s: %s%s%s", self->options->name, what,
                     dlock_status_text(status), *err ? ": " : "", err);
}

/* ---- before the command ---------------------------------------------------------------------- */

/* {1, now} or {0, age}. Anything else is not our script's: as if there were no answer. */
static bool read_begin(const redisReply *reply, bool *due, int64_t *us)
{
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_INTEGER ||
        reply->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    *due = reply->element[0]->integer == 1;
    *us = reply->element[1]->integer;
    return true;
}

static dlock_status ask_begin(const spacing *self, dlock_hold *hold, dlock_guard *guard, bool *due,
                              int64_t *us)
{
    char key[KEY_LEN];
    redisReply *reply = NULL;
    dlock_args args;
    record_key(self->options->name, key);
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    dlock_args_int(&args, self->options->once_per_ms);
    dlock_status status =
        dlock_guard_call(hold, guard, 1, &args, false, dlock_in_ms(QUESTION_MS), &reply);
    if (status == DLOCK_OK && !read_begin(reply, due, us))
        status = DLOCK_FAILED;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return status;
}

/* The exit code, when the question had no good answer. */
static int not_begun(const spacing *self, dlock_status status)
{
    complain(self, "whether the command ran in the period is not known, it is not run", status);
    return status == DLOCK_STALE ? EXIT_LOST : command_exit_code(status);
}

bool spacing_begin(spacing *ret, const run_options *options, const command_session *session,
                   dlock_hold *hold, int signals, int *code)
{
    *ret = (spacing){.options = options, .session = session, .granted = dlock_now()};
    if (options->once_per_ms == 0)
        return true;
    dlock_guard *guard = dlock_guard_new("spacing_begin", SPACING_BEGIN_LUA);
    dlock_time until = patience(ret);
    bool due = false;
    int64_t us = 0;
    dlock_status status = DLOCK_NO_MEMORY;
    do {
        if (guard)
            status = ask_begin(ret, hold, guard, &due, &us);
    } while (again(hold, status, until, signals, &ret->signo));
    dlock_guard_free(guard);
    ret->began_us = us;
    if (status == DLOCK_OK && due)
        return true;
    *code = ret->signo           ? 128 + ret->signo
            : status == DLOCK_OK ? (int)options->busy_code
                                 : not_begun(ret, status);
    if (status == DLOCK_OK && options->busy_code != 0)
        command_complain(
            "%s is not run: under the lock \"%s\" a run that succeeded began %.1f s ago",
            options->command[0], options->name, (double)us / 1e6);
    return false;
}

/* ---- after the command ----------------------------------------------------------------------- */

static int64_t rest_ms(const spacing *self)
{
    int64_t passed_ms = (dlock_now().us - self->granted.us) / 1000;
    int64_t ms = self->options->at_least_ms - passed_ms;
    return ms > 0 ? ms : 0;
}

static dlock_status ask_end(const spacing *self, dlock_hold *hold, dlock_guard *guard, bool noted,
                            int64_t rest)
{
    char key[KEY_LEN], kept[OWNER_LEN];
    dlock_args args;
    record_key(self->options->name, key);
    kept_owner(dlock_owner(hold), kept);
    dlock_args_init(&args);
    dlock_args_text(&args, self->options->name);
    dlock_args_text(&args, key);
    dlock_args_text(&args, dlock_owner(hold));
    dlock_args_int(&args, rest);
    dlock_args_text(&args, kept);
    dlock_args_int(&args, noted ? self->options->once_per_ms : 0);
    dlock_args_int(&args, self->began_us);
    dlock_status status =
        dlock_guard_call(hold, guard, 2, &args, false, dlock_in_ms(QUESTION_MS), NULL);
    dlock_args_free(&args);
    return status;
}

/* Whether the name is kept by an earlier question of ours, whose answer did not come. */
static bool is_kept(const spacing *self, const dlock_hold *hold)
{
    char kept[OWNER_LEN];
    dlock_info info;
    kept_owner(dlock_owner(hold), kept);
    return dlock_inspect(self->session->lock, &info) == DLOCK_OK && strcmp(info.owner, kept) == 0;
}

/* Redis did not answer, or with an error, or too late to tell what became of the first question. */
static spacing_end stays_open(const spacing *self, dlock_status status, bool noted, int *code)
{
    if (noted)
        *code = EXIT_UNREACHABLE;
    complain(self,
             noted ? "whether this run counts for --once-per is not known, another may follow in "
                     "the period"
                   : "it stays until its lease ends, which may be later than --at-least says",
             status);
    return SPACING_OPEN;
}

spacing_end spacing_finish(const spacing *self, dlock_hold *hold, int *code)
{
    bool noted = self->options->once_per_ms > 0 && *code == 0, open = false, kept = false;
    int unheard = 0;
    if (!noted && rest_ms(self) == 0)
        return SPACING_RELEASE;
    dlock_guard *guard = dlock_guard_new("spacing_end", SPACING_END_LUA);
    dlock_time until = patience(self);
    dlock_status status = DLOCK_NO_MEMORY;
    do {
        int64_t rest = rest_ms(self);
        if (guard)
            status = ask_end(self, hold, guard, noted, rest);
        kept = status == DLOCK_OK && rest > 0;
        open = open || is_open(status);
    } while (again(hold, status, until, -1, &unheard));
    dlock_guard_free(guard);
    if (status != DLOCK_OK && open) { /* a renewal was refused meanwhile, or this question */
        kept = is_kept(self, hold);
        status = kept ? DLOCK_OK : status == DLOCK_STALE ? DLOCK_UNKNOWN : status;
    }
    if (status != DLOCK_OK && status != DLOCK_STALE)
        return stays_open(self, status, noted, code);
    return kept ? SPACING_KEPT : SPACING_RELEASE;
}
