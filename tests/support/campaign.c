/*
 * campaign.c - runs lockload, notes in the history what was done to it, and has histcheck judge.
 * Stalls of the machine are found by a pulse: who slept much longer than it asked for stood still.
 *
 * FX_HISTORIES=DIR keeps the histories of each campaign, and histcheck's options, in DIR/NAME: the
 * last ones, where it is made again.
 */
#include "tests/support/campaign.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 64
#define READY_MS 20000
#define GONE_MS  10000
#define LOAD_NS  60000000000 /* the longest that the loads may take to end */
#define JUDGE_MS 60000
#define PULSE_NS 5000000
#define STALL_NS 100000000

void campaign_begin(campaign *c)
{
    static int number;
    memset(c, 0, sizeof(*c));
    snprintf(c->name, sizeof(c->name), "%s-%d", program_invocation_short_name, ++number);
    fx_dir_make(c->dir, sizeof(c->dir));
    if (hist_open(c->dir) != 0)
        fail_msg("no history in %s", c->dir);
}

static void read_pids(campaign *c, fx_process *load)
{
    char line[512];
    int used;
    if (!fx_process_first_line(load, line, sizeof(line), READY_MS) ||
        strncmp(line, "lockload pids", 13) != 0)
        fail_msg("lockload did not start: %s", fx_process_stderr(load));
    const char *at = line + 13;
    for (int pid; c->pids_len < CAMPAIGN_PIDS_MAX && sscanf(at, " %d%n", &pid, &used) == 1;
         at += used)
        c->pids[c->pids_len++] = pid;
}

void campaign_load(campaign *c, const char *program, const char *const *args)
{
    char path[256];
    const char *argv[ARGS_MAX] = {program ? program
                                          : fx_build_path("tests/lockload", path, sizeof(path)),
                                  "--history", c->dir};
    for (int argc = 3; *args && argc < ARGS_MAX - 1; args++)
        argv[argc++] = *args;
    fx_process *load = fx_spawn(argv, true);
    c->loads[c->loads_len++] = load;
    read_pids(c, load);
}

static void note_process(event_kind what, pid_t pid)
{
    hist_write(&(hist_event){.kind = what, .process = pid});
}

/* Its parent, lockload, reaps it. */
static bool is_gone(void *pid)
{
    return kill(*(const pid_t *)pid, 0) != 0;
}

/* Until it has ended, a victim on another processor goes on and writes. */
void campaign_kill(campaign *c, int index)
{
    kill(c->pids[index], SIGKILL);
    if (!fx_wait_until(is_gone, &c->pids[index], GONE_MS))
        fail_msg("%d does not end", (int)c->pids[index]);
    note_process(EVENT_KILLED, c->pids[index]);
}

void campaign_stop(campaign *c, int index)
{
    note_process(EVENT_STOPPED, c->pids[index]);
    kill(c->pids[index], SIGSTOP);
}

void campaign_continue(campaign *c, int index)
{
    kill(c->pids[index], SIGCONT);
    note_process(EVENT_CONTINUED, c->pids[index]);
}

void campaign_note(event_kind what, const char *lock)
{
    hist_write(&(hist_event){.kind = what, .lock = lock});
}

void campaign_pass(campaign *c, int ms)
{
    int64_t end = hist_now_ns() + (int64_t)ms * 1000000;
    for (int64_t now = hist_now_ns(), before; now < end;) {
        before = now;
        fx_let_pass(PULSE_NS / 1000000);
        now = hist_now_ns();
        if (now - before < PULSE_NS + STALL_NS)
            continue;
        hist_write(&(hist_event){.kind = EVENT_OUTAGE_BEGIN, .ns = before});
        hist_write(&(hist_event){.kind = EVENT_OUTAGE_END, .ns = now});
        c->stalls++;
    }
}

static void wait_for_loads(campaign *c)
{
    int64_t end = hist_now_ns() + LOAD_NS;
    for (int i = 0; i < c->loads_len; i++) {
        int status;
        while ((status = fx_process_wait(c->loads[i], 0)) == -1 && hist_now_ns() < end)
            campaign_pass(c, 10);
        if (status != 0)
            fail_msg("lockload ended with %d: %s", status, fx_process_stderr(c->loads[i]));
    }
}

/* For other judges: scripts/evidence. */
static void keep(const campaign *c, const char *const *options)
{
    const char *dir = getenv("FX_HISTORIES");
    static const char copy[] = "rm -rf \"$2\" && mkdir -p \"$2\" && cp \"$1\"/*.hist \"$2\" && "
                               "echo \"$3\" >\"$2/options\"";
    char words[512] = "", to[512];
    if (!dir)
        return;
    for (; *options; options++)
        snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s ", *options);
    snprintf(to, sizeof(to), "%s/%s", dir, c->name);
    const char *const argv[] = {"sh", "-c", copy, "keep", c->dir, to, words, NULL};
    fx_process *process = fx_spawn(argv, true);
    if (fx_process_wait(process, JUDGE_MS) != 0)
        fail_msg("histories could not be kept: %s", fx_process_stderr(process));
    fx_process_free(process);
}

int campaign_judge(campaign *c, const char *const *options)
{
    char pattern[96], path[256];
    glob_t files;
    wait_for_loads(c);
    keep(c, options);
    snprintf(pattern, sizeof(pattern), "%s/*.hist", c->dir);
    if (glob(pattern, 0, NULL, &files) != 0)
        fail_msg("lockload wrote no history");
    const char **argv = calloc(ARGS_MAX + files.gl_pathc + 1, sizeof(*argv));
    if (!argv)
        fail_msg("out of memory");
    size_t argc = 0;
    argv[argc++] = fx_build_path("tests/histcheck", path, sizeof(path));
    for (; *options && argc < ARGS_MAX; options++)
        argv[argc++] = *options;
    for (size_t i = 0; i < files.gl_pathc; i++)
        argv[argc++] = files.gl_pathv[i];
    fx_process *check = fx_spawn(argv, true);
    int status = fx_process_wait(check, JUDGE_MS);
    snprintf(c->answer, sizeof(c->answer), "%s%s", fx_process_stdout(check),
             fx_process_stderr(check));
    fx_process_free(check);
    globfree(&files);
    free(argv);
    return status;
}

void campaign_end(campaign *c)
{
    for (int i = 0; i < c->loads_len; i++)
        fx_process_free(c->loads[i]);
    fx_dir_remove(c->dir);
}
