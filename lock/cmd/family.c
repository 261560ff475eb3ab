/* The descendants of a process: all of /proc is read, and who comes from the root is chosen. */
#include "cmd/family.h"
#include "cmd/command.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENT_ROUNDS (1000 / FAMILY_ROUND_MS)

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

static bool read_all(process_list *list)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return false;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(proc));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        process found = {(pid_t)strtol(entry->d_name, NULL, 10), parent_of(entry->d_name)};
        good = add(list, found);
    }
    closedir(proc);
    if (list->len == 0)
        return false;
    qsort(list->at, list->len, sizeof(*list->at), by_pid);
    return good;
}

static bool descends(const process_list *list, process from, pid_t root)
{
    for (size_t steps = 0; steps < list->len && from.parent != root; steps++) {
        process key = {from.parent, 0};
        const process *parent = bsearch(&key, list->at, list->len, sizeof(key), by_pid);
        if (!parent)
            return false;
        from = *parent;
    }
    return from.parent == root;
}

int family_signal(pid_t root, int signo, pid_t *one)
{
    process_list list = {0};
    int found = -1;
    if (read_all(&list)) {
        found = 0;
        for (size_t i = 0; i < list.len; i++) {
            if (!descends(&list, list.at[i], root))
                continue;
            kill(list.at[i].pid, signo);
            *one = list.at[i].pid;
            found++;
        }
    }
    free(list.at);
    return found;
}

int family_kill(pid_t root, int *rounds)
{
    pid_t one = 0;
    int found = family_signal(root, SIGKILL, &one);
    if (++*rounds == PATIENT_ROUNDS && found > 0)
        command_complain("%d processes do not end (another user's, or stuck): %d is one", found,
                         (int)one);
    return found;
}
