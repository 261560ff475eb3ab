/* family.c - see family.h. */
#include "tests/support/postgres/family.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fixture.h"

enum { CHILDREN_MAX = 256, END_MS = 30000 };

/* A process's state, 'Z' for one that is gone, and its parent. */
static char state_of(pid_t pid, pid_t *parent)
{
    char path[64], state = 'Z';
    int of = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    if (stat && fscanf(stat, "%*d (%*[^)]) %c %d", &state, &of) != 2)
        state = 'Z';
    if (stat)
        fclose(stat);
    *parent = of;
    return state;
}

typedef struct family {
    pid_t parent, child[CHILDREN_MAX];
    size_t children;
} family;

static bool is_stopped_or_gone(void *arg)
{
    pid_t parent;
    return strchr("TZX", state_of(((family *)arg)->parent, &parent)) != NULL;
}

static bool children_are_gone(void *arg)
{
    family *f = arg;
    pid_t parent;
    for (size_t i = 0; i < f->children; i++)
        if (!strchr("ZX", state_of(f->child[i], &parent)))
            return false;
    return true;
}

/* Stops the parent, so that its children stay those that are found. */
static family stopped_family(fx_process *process)
{
    family f = {.parent = fx_process_pid(process)};
    fx_process_signal(process, SIGSTOP);
    assert_true(fx_wait_until(is_stopped_or_gone, &f, END_MS));
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), parent = 0;
        if (pid > 1 && state_of(pid, &parent) != 'Z' && parent == f.parent) {
            assert_true(f.children < CHILDREN_MAX);
            f.child[f.children++] = pid;
        }
    }
    closedir(proc);
    return f;
}

void fx_family_signal(fx_process *parent, int signo)
{
    family f = stopped_family(parent);
    for (size_t i = 0; i < f.children; i++)
        kill(f.child[i], signo);
    fx_process_signal(parent, signo);
    if (signo != SIGSTOP)
        fx_process_signal(parent, SIGCONT);
}

void fx_family_kill(fx_process *parent)
{
    if (!parent)
        return;
    family f = stopped_family(parent);
    for (size_t i = 0; i < f.children; i++)
        kill(f.child[i], SIGKILL);
    fx_process_free(parent);
    assert_true(fx_wait_until(children_are_gone, &f, END_MS));
}
