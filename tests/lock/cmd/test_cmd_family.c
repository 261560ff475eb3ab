/*
 * dlock run and what its command starts: whoever gets the lock next never runs beside any of it.
 *
 * The first command takes a flock(2) on a file, by a descriptor that all that it starts inherit.
 * The second `dlock run` waits for the lock, then tries the same flock: it is free only if nobody
 * of the first one's family is left.
 */
#include "dlock.h"
#include "tests/support/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON_MS 60000 /* limit for what should take some seconds */

static fx_redis *redis;
static char dir[256];

/* ---- helpers --------------------------------------------------------------------------------- */

/* Starts "dlock run WORDS" by the shell, in the test's directory. */
static fx_process *start(const char *words)
{
    char line[1024], path[256];
    snprintf(line, sizeof(line), "exec %s run %s </dev/null", fx_build_path("dlock", path, 256),
             words);
    return fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
}

/* The flock's file is held by nobody. */
static bool nobody_left(void *unused)
{
    (void)unused;
    return fx_shell("flock -n \"$1/file\" true", dir, SOON_MS) == 0;
}

static void write_script(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup_group(void **state)
{
    (void)state;
    char path[512];
    redis = fx_redis_start(NULL);
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    write_script("family", "exec 9>>\"$1\"; flock 9\n"
                           "(trap '' TERM; exec sleep 60) &\n"
                           "setsid sh -c \"(trap '' TERM; exec sleep 60) & :\"\n"
                           "echo $PPID\n"
                           "[ -z \"$2\" ] || exit \"$2\"\n"
                           "wait\n");
    setenv("FAMILY_FILE", path, 1);
    snprintf(path, sizeof(path), "%s/family", dir);
    setenv("FAMILY", path, 1);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static int flush(void **state)
{
    (void)state;
    fx_redis_do(redis, "FLUSHALL");
    unlink(getenv("FAMILY_FILE")); /* a failed case may have left it locked */
    return 0;
}

/* ---- nobody beside the next holder ----------------------------------------------------------- */

typedef enum event { DLOCK_GETS, SUPERVISOR_GETS, REDIS_STOPS, NOTHING } event;

static const struct {
    const char *name, *words; /* of the first run, behind the common ones */
    event event;
    int signo, code;
    const char *says;
} cases[] = {
    {"dlock is killed", "", DLOCK_GETS, SIGKILL, 137, "dlock was killed"},
    {"dlock is stopped", "", DLOCK_GETS, SIGSTOP, 76, "about to be lost"},
    {"dlock is told to end", "", DLOCK_GETS, SIGTERM, 143, "left behind"},
    {"the supervisor is killed", "", SUPERVISOR_GETS, SIGKILL, 71, "supervisor was killed"},
    {"Redis is silent", "", REDIS_STOPS, 0, 76, "about to be lost"},
    {"the command ends", "7", NOTHING, 0, 7, "left behind"},
};

static void nobody_runs_beside_the_next_holder(void **state)
{
    char words[256], line[64];
    int i = *(int *)*state;
    /* The supervisor has a tenth of the lease to end them: a second, of the default. */
    snprintf(words, sizeof(words), "n -- sh $FAMILY $FAMILY_FILE %s", cases[i].words);
    fx_process *first = start(words);
    assert_true(fx_process_first_line(first, line, sizeof(line), SOON_MS));
    assert_false(nobody_left(NULL));
    fx_process *second = start("--wait-ms 60000 n -- flock -n $FAMILY_FILE echo alone");
    if (cases[i].event == DLOCK_GETS)
        fx_process_signal(first, cases[i].signo);
    else if (cases[i].event == SUPERVISOR_GETS)
        kill((pid_t)strtol(line, NULL, 10), cases[i].signo);
    else if (cases[i].event == REDIS_STOPS)
        fx_redis_signal(redis, SIGSTOP);

    if (cases[i].event == REDIS_STOPS) {
        assert_int_equal(fx_process_wait(first, SOON_MS), 76);
        fx_redis_signal(redis, SIGCONT);
    }
    assert_int_equal(fx_process_wait(second, SOON_MS), 0);
    assert_string_equal(fx_process_stdout(second), "alone\n");
    fx_process_signal(first, SIGCONT);
    assert_int_equal(fx_process_wait(first, SOON_MS), cases[i].code);
    assert_non_null(strstr(fx_process_stderr(first), cases[i].says));
    fx_process_free(second);
    fx_process_free(first);
}

/* Writes into the pipe by which dlock tells its supervisor until when the lock is sure, until no
 * more goes in. */
static void fill_its_pipe(fx_process *dlock)
{
    char path[64], target[64];
    bool full = false;
    for (int fd = 3; fd < 64; fd++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)fx_process_pid(dlock), fd);
        ssize_t len = readlink(path, target, sizeof(target));
        if (len < 5 || strncmp(target, "pipe:", 5) != 0)
            continue;
        int end = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(end >= 0);
        while (write(end, "x", 1) == 1)
            continue;
        full = errno == EAGAIN;
        close(end);
    }
    assert_true(full);
}

/* The next one can not be kept from starting then; but nobody is left when dlock has ended, even
 * if the supervisor was stopped so long ago that it can not be told anything any more. */
static void a_lock_taken_away_ends_the_family(void **state)
{
    (void)state;
    static const char *const stop[] = {"0", "STOP"};
    for (size_t i = 0; i < COUNT(stop); i++) {
        char line[64], command[128];
        fx_process *first = start("--lease-ms 3000 n -- sh $FAMILY $FAMILY_FILE");
        assert_true(fx_process_first_line(first, line, sizeof(line), SOON_MS));
        snprintf(command, sizeof(command), "kill -%s %s", stop[i], line);
        assert_int_equal(fx_shell(command, "", SOON_MS), 0); /* the supervisor */
        if (i > 0) {
            fill_its_pipe(first);
            fx_process_signal(first, SIGUSR1); /* after which it tells it once more */
        }
        fx_redis_do(redis, "SET n stranger");
        assert_int_equal(fx_process_wait(first, SOON_MS), 76);
        assert_true(nobody_left(NULL));
        assert_non_null(strstr(fx_process_stderr(first), "is lost"));
        fx_redis_do(redis, "DEL n");
        fx_process_free(first);
    }
}

/* tee behind a shell's `exec > >(tee log)` is such a case: it ends by itself, a moment later. */
static void what_is_left_behind_may_end_by_itself(void **state)
{
    (void)state;
    fx_process *process =
        start("--lease-ms 60000 n -- sh -c '(sleep 0.3; echo whole) & echo; exit 3'");
    assert_int_equal(fx_process_wait(process, SOON_MS), 3);
    assert_string_equal(fx_process_stdout(process), "\nwhole\n");
    assert_string_equal(fx_process_stderr(process), "");
    fx_process_free(process);
}

/* After its first grace it is asked to end, and has another one to do so. */
static void what_is_left_behind_may_end_when_it_is_told(void **state)
{
    (void)state;
    fx_process *process = start("--lease-ms 60000 --grace-ms 3000 n -- sh -c '"
                                "(trap \"sleep 0.2; echo whole; exit\" TERM; "
                                "while :; do sleep 0.1; done) & exit 3'");
    assert_int_equal(fx_process_wait(process, SOON_MS), 3);
    assert_string_equal(fx_process_stdout(process), "whole\n");
    fx_process_free(process);
}

/* The supervisor's end leaves them to dlock, among children that it was started with. */
static void children_from_before_are_left_alone(void **state)
{
    (void)state;
    static const char *const killed[] = {"", "kill -9 $PPID;"};
    for (size_t i = 0; i < COUNT(killed); i++) {
        char line[1024], path[256], pid[64];
        snprintf(line, sizeof(line),
                 "sleep 60 >/dev/null & echo $!; exec %s run n -- sh -c '"
                 "exec 9>>\"$FAMILY_FILE\"; flock 9; (trap \"\" TERM; exec sleep 60 >/dev/null) & "
                 "%s exit 4'",
                 fx_build_path("dlock", path, 256), killed[i]);
        fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
        assert_true(fx_process_first_line(process, pid, sizeof(pid), SOON_MS));
        assert_int_equal(fx_process_wait(process, SOON_MS), *killed[i] ? 71 : 4);
        assert_int_equal(kill((pid_t)strtol(pid, NULL, 10), SIGTERM), 0);
        assert_true(nobody_left(NULL));
        fx_process_free(process);
    }
}

static bool is_gone(void *pid)
{
    return kill(*(pid_t *)pid, 0) != 0;
}

static void a_signal_ends_what_is_left_behind(void **state)
{
    (void)state;
    char line[64]; /* the grace would be two minutes */
    fx_process *process = start("--lease-ms 600000 n -- sh -c 'sleep 600 & echo $$; exit 3'");
    assert_true(fx_process_first_line(process, line, sizeof(line), SOON_MS));
    pid_t command = (pid_t)strtol(line, NULL, 10);
    assert_true(fx_wait_until(is_gone, &command, SOON_MS));
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SOON_MS), 3);
    fx_process_free(process);
}

/* A zombie, or gone. */
static bool has_ended(pid_t pid)
{
    char path[64], stat[64] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t len = read(fd, stat, sizeof(stat) - 1);
    close(fd);
    return len <= 0 || strstr(stat, ") Z ");
}

/* SIGCHLD is read together with the signals that are passed on. Of a lease this long a tenth, after
 * which dlock looks without a signal too, takes longer than the test. */
static void an_end_among_other_signals_is_not_missed(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char line[64];
        fx_process *process = start("--lease-ms 86400000 n -- sh -c 'trap \"\" USR1; echo $PPID; "
                                    "exec sleep 0.05'");
        assert_true(fx_process_first_line(process, line, sizeof(line), SOON_MS));
        pid_t supervisor = (pid_t)strtol(line, NULL, 10);
        while (!has_ended(supervisor))
            fx_process_signal(process, SIGUSR1);
        assert_int_equal(fx_process_wait(process, SOON_MS), 0);
        fx_process_free(process);
    }
}

/* Who looks for processes every few milliseconds must close what it has read. */
static void the_supervisor_keeps_nothing_of_proc_open(void **state)
{
    (void)state;
    fx_process *process = start("n -- sh -c 'ls -l /proc/$PPID/fd'");
    assert_int_equal(fx_process_wait(process, SOON_MS), 0);
    assert_non_null(strstr(fx_process_stdout(process), "-> pipe:"));
    if (strstr(fx_process_stdout(process), "-> /proc"))
        fail_msg("%s", fx_process_stdout(process));
    fx_process_free(process);
}

/* Each of them has ended when it is found; they go on as long as the file is there. */
static void who_forks_without_a_pause_is_caught(void **state)
{
    (void)state;
    fx_process *process = start("--lease-ms 1000 n -- sh -c 'trap \"\" TERM; exec 9>>$FAMILY_FILE; "
                                "flock 9; f() { [ -e $FAMILY_FILE ] && f & }; f; exit 5'");
    int code = fx_process_wait(process, SOON_MS);
    bool nobody = nobody_left(NULL);
    unlink(getenv("FAMILY_FILE"));
    assert_int_equal(code, 5);
    assert_true(nobody);
    fx_process_free(process);
}

/* ---- on a terminal --------------------------------------------------------------------------- */

typedef struct terminal {
    pid_t pid;
    int fd;
    char text[4096]; /* what appeared on it */
    size_t len;
} terminal;

/* Runs a script that finds dlock as "$1" in bash, with job control, on a terminal of its own. */
static terminal terminal_start(const char *script)
{
    terminal t = {.len = 0};
    char path[256];
    fx_build_path("dlock", path, sizeof(path));
    t.pid = forkpty(&t.fd, NULL, NULL, NULL);
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        execlp("bash", "bash", "-mc", script, "bash", path, (char *)NULL);
        _exit(127);
    }
    return t;
}

/* Types the text once the terminal shows the prompt. */
static void terminal_type(terminal *t, const char *prompt, const char *text)
{
    dlock_time deadline = dlock_in_ms(SOON_MS);
    while (!strstr(t->text, prompt)) {
        struct pollfd fd = {.fd = t->fd, .events = POLLIN};
        poll(&fd, 1, dlock_left_ms(deadline));
        ssize_t got = read(t->fd, t->text + t->len, sizeof(t->text) - 1 - t->len);
        if (got <= 0 || dlock_passed(deadline))
            fail_msg("no \"%s\" on the terminal, but: %s", prompt, t->text);
        t->len += (size_t)got;
    }
    assert_int_equal(write(t->fd, text, strlen(text)), strlen(text));
}

static int terminal_end(terminal *t)
{
    int status;
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    close(t->fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void ctrl_c_reaches_the_command(void **state)
{
    (void)state;
    terminal t = terminal_start("$1 run n -- sh -c 'trap \"exit 9\" INT; echo on; while :; do "
                                "sleep 0.02; done'");
    terminal_type(&t, "on\r\n", "\003");
    assert_int_equal(terminal_end(&t), 9);
}

static void the_command_reads_from_the_terminal_and_can_be_stopped(void **state)
{
    (void)state;
    terminal t = terminal_start("$1 run --lease-ms 60000 n -- sh -c 'echo on; read x; echo got $x'"
                                "; echo stopped $?; fg");
    terminal_type(&t, "on\r\n", "\032");
    terminal_type(&t, "stopped 148\r\n", "word\r");
    terminal_type(&t, "got word\r\n", "");
    assert_int_equal(terminal_end(&t), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    enum { CASES = COUNT(cases), FURTHER = 10 };
    static int index[CASES];
    struct CMUnitTest tests[CASES + FURTHER] = {
        TEST(a_lock_taken_away_ends_the_family),
        TEST(what_is_left_behind_may_end_by_itself),
        TEST(what_is_left_behind_may_end_when_it_is_told),
        TEST(children_from_before_are_left_alone),
        TEST(a_signal_ends_what_is_left_behind),
        TEST(an_end_among_other_signals_is_not_missed),
        TEST(the_supervisor_keeps_nothing_of_proc_open),
        TEST(who_forks_without_a_pause_is_caught),
        TEST(ctrl_c_reaches_the_command),
        TEST(the_command_reads_from_the_terminal_and_can_be_stopped),
    };
    for (int i = 0; i < CASES; i++) {
        index[i] = i;
        tests[FURTHER + i] = (struct CMUnitTest){cases[i].name, nobody_runs_beside_the_next_holder,
                                                 flush, NULL, &index[i]};
    }
    return cmocka_run_group_tests_name("dlock run's family", tests, setup_group, NULL);
}
