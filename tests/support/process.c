/* process.c - see process.h. Output is kept in memfds, which the child writes and we pread. */
#include "tests/support/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/fixture.h"
#include "tests/support/patience.h"

/* Between two looks of who waits: the more, the longer it has waited. */
enum { LOOK_MS = 2, LOOK_MAX_MS = 20 };

typedef struct stream {
    int fd;     /* memfd, or -1: not captured */
    char *text; /* what the last read found */
} stream;

struct fx_process {
    pid_t pid;
    int exit_code; /* -1 until reaped */
    stream out, err;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool fx_wait_until(bool (*cond)(void *arg), void *arg, int deadline_ms)
{
    /* The end moves while it waits: what has passed is held to how crowded the machine is now. */
    int64_t from = now_ms();
    while (!cond(arg)) {
        int64_t waited = now_ms() - from, pause = LOOK_MS + waited / 20;
        if (waited >= deadline_ms && waited >= fx_patient_ms(deadline_ms))
            return false;
        fx_let_pass((int)(pause < LOOK_MAX_MS ? pause : LOOK_MAX_MS));
    }
    return true;
}

int64_t fx_let_pass(int ms)
{
    int64_t from = now_ms();
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
    return now_ms() - from;
}

char *fx_build_path(const char *program, char *buf, size_t len)
{
    const char *build = getenv("FLASHSALE_BUILD");
    snprintf(buf, len, "%s/%s", build && *build ? build : "build", program);
    if (access(buf, F_OK) != 0)
        print_error("%s is not there: `make tested` builds what tests start\n", buf);
    return buf;
}

static int stream_open(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        fail_msg("memfd_create: %s", strerror(errno));
    return fd;
}

static const char *stream_read(stream *s)
{
    off_t size = s->fd < 0 ? 0 : lseek(s->fd, 0, SEEK_END);
    char *text = realloc(s->text, (size_t)size + 1);
    if (text == NULL)
        fail_msg("out of memory");
    s->text = text;
    ssize_t got = size == 0 ? 0 : pread(s->fd, text, (size_t)size, 0);
    text[got < 0 ? 0 : got] = '\0';
    return text;
}

static void stream_close(stream *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->text);
}

/* In the child: only async-signal-safe calls, since the test may have threads. */
static void child_exec(const char *const *argv, pid_t parent, int out, int err)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* the parent died before prctl: nobody would kill us */

    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(out < 0 ? null : out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the test's own sockets must end with the test */
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

fx_process *fx_spawn(const char *const *argv, bool capture_stdout)
{
    fx_process *p = calloc(1, sizeof(*p));
    if (p == NULL)
        fail_msg("out of memory");
    p->exit_code = -1;
    p->out.fd = capture_stdout ? stream_open("stdout") : -1;
    p->err.fd = stream_open("stderr");

    pid_t self = getpid();
    p->pid = fork();
    if (p->pid == 0)
        child_exec(argv, self, p->out.fd, p->err.fd);
    if (p->pid < 0)
        fail_msg("fork: %s", strerror(errno));
    return p;
}

/* True once the program has ended and its exit code is known. */
static bool reaped(void *arg)
{
    fx_process *p = arg;
    int status;
    if (p->exit_code >= 0)
        return true;
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return false;
    p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

int fx_process_wait(fx_process *p, int deadline_ms)
{
    fx_wait_until(reaped, p, deadline_ms);
    return p->exit_code;
}

int fx_shell(const char *script, const char *arg, int deadline_ms)
{
    fx_process *p = fx_spawn((const char *const[]){"sh", "-ec", script, "sh", arg, NULL}, false);
    int code = fx_process_wait(p, deadline_ms);
    if (code != 0)
        print_message("%s", fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

int fx_shell_output(const char *command, char *output, size_t output_len)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t len = fread(output, 1, output_len - 1, pipe);
    output[len] = '\0';
    while (fgetc(pipe) != EOF)
        continue;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fx_process_signal(fx_process *p, int signo)
{
    if (p->exit_code < 0)
        kill(p->pid, signo);
}

void fx_process_free(fx_process *p)
{
    if (p == NULL)
        return;
    if (!reaped(p)) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    }
    stream_close(&p->out);
    stream_close(&p->err);
    free(p);
}

pid_t fx_process_pid(const fx_process *p)
{
    return p->pid;
}

char fx_pid_state(pid_t pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (stat)
        fclose(stat);
    return state;
}

const char *fx_process_stdout(fx_process *p)
{
    return stream_read(&p->out);
}

const char *fx_process_stderr(fx_process *p)
{
    return stream_read(&p->err);
}

/* True once stdout has a line, or never will. */
static bool line_or_end(void *arg)
{
    fx_process *p = arg;
    bool ended = reaped(p); /* before the look: output may come right before the end */
    return strchr(fx_process_stdout(p), '\n') != NULL || ended;
}

bool fx_process_first_line(fx_process *p, char *buf, size_t len, int deadline_ms)
{
    fx_wait_until(line_or_end, p, deadline_ms);
    const char *text = fx_process_stdout(p);
    const char *end = strchr(text, '\n');
    if (end == NULL)
        return false;
    snprintf(buf, len, "%.*s", (int)(end - text), text);
    return true;
}

/* ---- what this process has ------------------------------------------------------------------- */

int fx_entries(const char *path)
{
    int n = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static int own_entries(const char *path)
{
    int n = fx_entries(path);
    if (n < 0)
        fail_msg("%s can not be read", path);
    return n;
}

int fx_descriptors_open(void)
{
    return own_entries("/proc/self/fd");
}

int fx_threads_alive(void)
{
    return own_entries("/proc/self/task");
}

size_t fx_bytes_allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
