/* The descendants of this process: the kernel's lists of children are followed from the root. Where
 * they end, or are missing, all of /proc is read, and who comes from the root is chosen. */
#include "cmd/descendants.h"
#include "cmd/command.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENT_MS 1000

typedef struct process {
    pid_t pid, parent;
} process;

typedef struct process_list {
    process *at;
    size_t len, cap;
} process_list;

/* The parent stands behind the name, "1234 (name) S 1 ...", which may hold anything. 0: gone. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *end_of_name = strrchr(text, ')');
    if (!end_of_name || sscanf(end_of_name, ") %*c %d", &parent) != 1)
        return 0;
    return parent;
}

static bool add(process_list *list, process found)
{
    if (list->len == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 256;
        process *at = realloc(list->at, cap * sizeof(*at));
        if (!at)
            return false;
        list->at = at;
        list->cap = cap;
    }
    list->at[list->len++] = found;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const process *)a)->pid, y = ((const process *)b)->pid;
    return (x > y) - (x < y);
}

static bool is_stranger(const descendants *self, pid_t pid)
{
    for (size_t i = 0; i < self->strangers_len; i++) {
        if (self->strangers[i] == pid)
            return true;
    }
    return false;
}

/* kill_at_once, or NULL: SIGKILL to its children as soon as they are seen. Who forks and ends
 * without a pause has become somebody else when all of /proc is read. */
static bool read_all(process_list *list, const descendants *kill_at_once)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return false;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        process found = {(pid_t)strtol(entry->d_name, NULL, 10), parent_of(entry->d_name)};
        if (kill_at_once && found.parent == kill_at_once->root &&
            !is_stranger(kill_at_once, found.pid))
            kill(found.pid, SIGKILL);
        good = add(list, found);
    }
    closedir(proc);
    if (list->len == 0)
        return false;
    qsort(list->at, list->len, sizeof(*list->at), by_pid);
    return good;
}

static bool descends(const process_list *list, process from, const descendants *self)
{
    for (size_t steps = 0; steps < list->len && from.parent != self->root; steps++) {
        process key = {from.parent, 0};
        const process *parent = bsearch(&key, list->at, list->len, sizeof(key), by_pid);
        if (!parent)
            return false;
        from = *parent;
    }
    return from.parent == self->root && !is_stranger(self, from.pid);
}

/* Adds the children of a process, and signals each as soon as it is seen. False: they can not be
 * listed, or not all. */
static bool signal_children(process_list *list, pid_t parent, const descendants *self, int signo)
{
    char path[64];
    int child;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
    DIR *threads = opendir(path);
    bool good = threads;
    for (struct dirent *entry; good && (entry = readdir(threads));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)parent, entry->d_name);
        FILE *children = fopen(path, "re");
        good = children;
        while (good && fscanf(children, "%d", &child) == 1) {
            if (parent == self->root && is_stranger(self, child))
                continue;
            kill(child, signo);
            good = add(list, (process){child, parent});
        }
        if (children)
            fclose(children);
    }
    if (threads)
        closedir(threads);
    return good;
}

/* Takes as long as there are descendants, not processes on the machine: the lease may end soon. The
 * kernel may leave out who lives beside one that ends just then. */
static int signal_tree(const descendants *self, int signo, pid_t *one, unsigned long *met)
{
    process_list list = {0};
    (void)signal_children(&list, self->root, self, signo);
    for (size_t i = 0; i < list.len; i++) {
        pid_t pid = list.at[i].pid;
        (void)signal_children(&list, pid, self, signo); /* it may have ended */
        *one = pid;
        *met += (unsigned long)pid;
    }
    free(list.at);
    return (int)list.len;
}

/* *met: the sum of their pids. That nobody is left is only believed when all of /proc was read. */
static int signal_all(const descendants *self, int signo, pid_t *one, unsigned long *met)
{
    process_list list = {0};
    *met = 0;
    int found = signal_tree(self, signo, one, met);
    if (found > 0)
        return found;
    found = -1;
    if (read_all(&list, signo == SIGKILL ? self : NULL)) {
        found = 0;
        for (size_t i = 0; i < list.len; i++) {
            if (!descends(&list, list.at[i], self))
                continue;
            kill(list.at[i].pid, signo);
            *one = list.at[i].pid;
            *met += (unsigned long)list.at[i].pid;
            found++;
        }
    }
    free(list.at);
    return found;
}

int descendants_signal(const descendants *self, int signo, pid_t *one)
{
    unsigned long met;
    return signal_all(self, signo, one, &met);
}

/* As long as others are met than in the round before, there is no pause: they may be fleeing. */
int descendants_kill(descendants *self, int *pause_ms)
{
    pid_t one = 0;
    unsigned long met;
    int found = signal_all(self, SIGKILL, &one, &met);
    *pause_ms = found > 0 && met != self->met ? 0 : DESCENDANTS_ROUND_MS;
    self->met = met;
    if (self->patient_until.us == 0)
        self->patient_until = dlock_in_ms(PATIENT_MS);
    if (found > 0 && !self->complained && dlock_passed(self->patient_until)) {
        self->complained = true;
        command_complain("%d processes do not end (another user's, stuck in the kernel, or forking "
                         "without a pause): %d is one",
                         found, (int)one);
    }
    return found;
}

void descendants_end(descendants *self)
{
    int found, pause_ms;
    pid_t pid;
    for (;;) {
        found = descendants_kill(self, &pause_ms);
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (pid < 0 || (found == 0 && self->strangers_len > 0))
            return;
        dlock_sleep(dlock_in_ms(pause_ms));
    }
}

/* ---- whose descendants
 * ---------------------------------------------------------------------------- */

static bool proc_is_ours(void)
{
    char self[32];
    ssize_t len = readlink("/proc/self", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    return strtol(self, NULL, 10) == getpid();
}

bool descendants_begin(descendants *ret)
{
    process_list list = {0};
    descendants self = {.root = getpid()};
    bool good = proc_is_ours();
    if (!good)
        command_complain("no /proc of this pid namespace is mounted: nobody could be ended");
    good = good && read_all(&list, NULL) && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    if (good)
        self.strangers = calloc(list.len, sizeof(*self.strangers));
    if (good && self.strangers) {
        for (size_t i = 0; i < list.len; i++) {
            if (list.at[i].parent == self.root)
                self.strangers[self.strangers_len++] = list.at[i].pid;
        }
        *ret = self;
    }
    free(list.at);
    return good && self.strangers;
}

void descendants_free(descendants *self)
{
    free(self->strangers);
}
