/*
 * fixture_postgres.c - see postgres.h.
 *
 * The postmaster forks a process for each connection: family.h. A postmaster that is killed leaves
 * its System V segment behind, which the next start on the same data removes, or
 * fx_postgres_stop().
 */
#include "tests/support/postgres.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/postgres/family.h"

enum {
    START_MS = 60000, /* recovery on a busy machine included */
    END_MS = 30000,
    ASK_MS = 60000,
    START_TRIES = 5, /* another program may take the probed port before it does */
    ARGS_MAX = 64,
    SQL_MAX = 65536
};

#define USER "flashsale"

struct fx_postgres {
    fx_process *process; /* the postmaster; NULL while killed */
    fx_process *asked;   /* the last psql, which has its answer */
    int port, databases;
    char dir[256], data[300];
    char name[32], url[128], socket_url[400];
    char *settings[ARGS_MAX];
    fx_postgres *next; /* all that are not stopped yet */
};

static fx_postgres *running;

/* At exit. A forked child of the test that exits must leave its parent's servers alone. */
static pid_t owner;

static void stop_all(void)
{
    while (running && getpid() == owner)
        fx_postgres_stop(running);
}

/* ---- the programs ---------------------------------------------------------------------------- */

/* Where the newest version's programs are; NULL: nowhere. */
static const char *programs(void)
{
    static char newest[128];
    glob_t found;
    if (newest[0] == '\0' && glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0) {
        const char *best = found.gl_pathv[0];
        for (size_t i = 1; i < found.gl_pathc; i++)
            if (strverscmp(found.gl_pathv[i], best) > 0)
                best = found.gl_pathv[i];
        snprintf(newest, sizeof(newest), "%.*s", (int)(strrchr(best, '/') - best), best);
        globfree(&found);
    }
    return newest[0] ? newest : NULL;
}

bool fx_postgres_installed(void)
{
    return programs() != NULL;
}

/* Starts one of its programs, as nobody where this is root. setpriv becomes the program, so the pid
 * is the program's; a change of user forgets who is to die with the test. */
static fx_process *launch(const char *program, const char *const *args)
{
    static const char *const as_nobody[] = {"setpriv",
                                            "--reuid",
                                            "nobody",
                                            "--regid",
                                            "nogroup",
                                            "--inh-caps",
                                            "+dac_override",
                                            "--ambient-caps",
                                            "+dac_override",
                                            "--clear-groups",
                                            "--pdeathsig",
                                            "KILL",
                                            "--",
                                            NULL};
    char path[256];
    const char *argv[ARGS_MAX * 2 + 40];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/%s", programs(), program);
    for (; geteuid() == 0 && as_nobody[n]; n++)
        argv[n] = as_nobody[n];
    argv[n++] = path;
    while (*args)
        argv[n++] = *args++;
    argv[n] = NULL;
    return fx_spawn(argv, true);
}

static void run(const char *program, const char *const *args)
{
    fx_process *p = launch(program, args);
    if (fx_process_wait(p, START_MS) != 0)
        fail_msg("%s: %s%s", program, fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
}

/* ---- start and end --------------------------------------------------------------------------- */

void fx_postgres_signal(fx_postgres *pg, int signo)
{
    fx_family_signal(pg->process, signo);
}

void fx_postgres_kill(fx_postgres *pg)
{
    fx_family_kill(pg->process);
    pg->process = NULL;
}

/* postmaster.pid: pid, data, start, port, socket's directory, address, key and id, status. */
static bool read_pid_file(const fx_postgres *pg, pid_t *pid, int *segment, bool *ready)
{
    char path[320], line[512];
    *pid = 0;
    *segment = -1;
    *ready = false;
    snprintf(path, sizeof(path), "%s/postmaster.pid", pg->data);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    for (int i = 1; fgets(line, sizeof(line), file); i++) {
        if (i == 1)
            *pid = (pid_t)strtol(line, NULL, 10);
        else if (i == 7 && sscanf(line, "%*u %d", segment) != 1)
            *segment = -1;
        else if (i == 8)
            *ready = strncmp(line, "ready", 5) == 0;
    }
    fclose(file);
    return true;
}

static bool is_ready_or_ended(void *arg)
{
    fx_postgres *pg = arg;
    pid_t pid;
    int segment;
    bool ready;
    if (fx_process_wait(pg->process, 0) >= 0)
        return true;
    return read_pid_file(pg, &pid, &segment, &ready) && ready && pid == fx_process_pid(pg->process);
}

static bool start(fx_postgres *pg)
{
    char port[32], sockets[300];
    snprintf(port, sizeof(port), "port=%d", pg->port);
    snprintf(sockets, sizeof(sockets), "unix_socket_directories=%s", pg->dir);
    /* Shared memory in its directory, which goes with it, whatever becomes of the test. */
    const char *args[ARGS_MAX * 2 + 20] = {"-D", pg->data,
                                           "-c", port,
                                           "-c", sockets,
                                           "-c", "listen_addresses=127.0.0.1",
                                           "-c", "dynamic_shared_memory_type=mmap"};
    size_t n = 10;
    for (size_t i = 0; pg->settings[i]; i++) {
        args[n++] = "-c";
        args[n++] = pg->settings[i];
    }
    pg->process = launch("postgres", args);
    return fx_wait_until(is_ready_or_ended, pg, START_MS) && fx_process_wait(pg->process, 0) < 0;
}

static void address(fx_postgres *pg)
{
    snprintf(pg->url, sizeof(pg->url), "postgresql://" USER "@127.0.0.1:%d/%s", pg->port, pg->name);
    int len = snprintf(pg->socket_url, sizeof(pg->socket_url),
                       "postgresql://" USER "@/%s?port=%d&host=", pg->name, pg->port);
    for (const char *c = pg->dir; *c && len + 4 < (int)sizeof(pg->socket_url); c++)
        len += snprintf(pg->socket_url + len, sizeof(pg->socket_url) - (size_t)len,
                        *c == '/' ? "%%2F" : "%c", *c);
}

/* In the environment of all that the test starts; one for all its servers. */
static const char *password(void)
{
    static char word[33];
    uint64_t dice[2];
    if (word[0] == '\0') {
        assert_int_equal(getrandom(dice, sizeof(dice), 0), sizeof(dice));
        snprintf(word, sizeof(word), "%016llx%016llx", (unsigned long long)dice[0],
                 (unsigned long long)dice[1]);
        setenv("PGPASSWORD", word, 1);
    }
    return word;
}

/* Where it is not root's, only its owner gets at its socket, and over TCP only who has the
 * password: whoever is its user there can run commands as the test's user. */
static void make_data(fx_postgres *pg)
{
    char word_file[320], word_option[400];
    struct passwd *nobody = getpwnam("nobody");
    snprintf(word_file, sizeof(word_file), "%s/password", pg->dir);
    FILE *file = fopen(word_file, "we");
    assert_non_null(file);
    fprintf(file, "%s\n", password());
    assert_int_equal(fclose(file), 0);
    if (geteuid() == 0 && (!nobody || chown(pg->dir, nobody->pw_uid, nobody->pw_gid) != 0))
        fail_msg("%s cannot belong to nobody: %s", pg->dir, strerror(errno));
    snprintf(word_option, sizeof(word_option), "--pwfile=%s", word_file);
    run("initdb", (const char *const[]){"-D", pg->data, "-U", USER, "-E", "UTF8", "--locale=C",
                                        "--auth-local=trust", "--auth-host=scram-sha-256",
                                        "--no-sync", word_option, NULL});
    unlink(word_file);
}

static fx_postgres *new_postgres(const char *const *settings)
{
    fx_postgres *pg = calloc(1, sizeof(*pg));
    assert_non_null(pg);
    for (size_t i = 0; settings && settings[i]; i++) {
        assert_true(i + 1 < ARGS_MAX);
        pg->settings[i] = strdup(settings[i]);
        assert_non_null(pg->settings[i]);
    }
    if (owner != getpid())
        atexit(stop_all);
    owner = getpid();
    pg->next = running;
    running = pg;
    return pg;
}

fx_postgres *fx_postgres_start(const char *const *settings)
{
    fx_only_with_postgres();
    fx_postgres *pg = new_postgres(settings);
    fx_dir_make(pg->dir, sizeof(pg->dir));
    snprintf(pg->data, sizeof(pg->data), "%s/data", pg->dir);
    snprintf(pg->name, sizeof(pg->name), "postgres");
    make_data(pg);
    for (int i = 1;; i++) {
        pg->port = fx_free_port();
        address(pg);
        if (start(pg))
            return pg;
        if (i == START_TRIES)
            fail_msg("PostgreSQL did not start:\n%s", fx_process_stderr(pg->process));
        fx_postgres_kill(pg);
    }
}

void fx_postgres_restart(fx_postgres *pg)
{
    fx_postgres_kill(pg);
    if (!start(pg))
        fail_msg("PostgreSQL did not restart:\n%s", fx_process_stderr(pg->process));
}

/* The root of a container may not: only the owner may. */
void fx_postgres_remove_segment(int segment)
{
    pid_t child = fork();
    if (child == 0) {
        const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
        _exit((nobody && setuid(nobody->pw_uid) != 0) || shmctl(segment, IPC_RMID, NULL) != 0);
    }
    waitpid(child, NULL, 0);
}

/* In order, but without a checkpoint: it removes its segment then. */
static void end(fx_postgres *pg)
{
    pid_t pid;
    int segment;
    bool ready;
    if (pg->process) {
        fx_process_signal(pg->process, SIGCONT);
        fx_process_signal(pg->process, SIGQUIT);
        fx_process_wait(pg->process, END_MS);
        fx_postgres_kill(pg);
    }
    if (read_pid_file(pg, &pid, &segment, &ready) && segment >= 0)
        fx_postgres_remove_segment(segment);
}

void fx_postgres_stop(fx_postgres *pg)
{
    if (pg == NULL)
        return;
    for (fx_postgres **at = &running; *at; at = &(*at)->next) {
        if (*at != pg)
            continue;
        *at = pg->next;
        break;
    }
    end(pg);
    fx_process_free(pg->asked);
    if (pg->dir[0] != '\0')
        fx_dir_remove(pg->dir);
    for (size_t i = 0; pg->settings[i]; i++)
        free(pg->settings[i]);
    free(pg);
}

/* ---- questions ------------------------------------------------------------------------------- */

static const char *ask(fx_postgres *pg, const char *sql, va_list args)
{
    static char words[SQL_MAX], psql[256];
    assert_true(vsnprintf(words, sizeof(words), sql, args) < SQL_MAX);
    snprintf(psql, sizeof(psql), "%s/psql", programs());
    fx_process_free(pg->asked);
    pg->asked = fx_spawn((const char *const[]){psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-d",
                                               pg->socket_url, "-c", words, NULL},
                         true);
    int code = fx_process_wait(pg->asked, ASK_MS);
    if (code != 0)
        fail_msg("%s\npsql: exit code %d: %s", words, code, fx_process_stderr(pg->asked));
    return fx_process_stdout(pg->asked);
}

void fx_postgres_do(fx_postgres *pg, const char *sql, ...)
{
    va_list args;
    va_start(args, sql);
    ask(pg, sql, args);
    va_end(args);
}

const char *fx_postgres_text(fx_postgres *pg, const char *sql, ...)
{
    va_list args;
    va_start(args, sql);
    const char *text = ask(pg, sql, args);
    va_end(args);
    return text;
}

long long fx_postgres_number(fx_postgres *pg, const char *sql, ...)
{
    va_list args;
    va_start(args, sql);
    long long number = strtoll(ask(pg, sql, args), NULL, 10);
    va_end(args);
    return number;
}

void fx_postgres_fresh(fx_postgres *pg)
{
    char name[sizeof(pg->name)];
    snprintf(name, sizeof(name), "case_%d", ++pg->databases);
    fx_postgres_do(pg, "CREATE DATABASE %s", name);
    memcpy(pg->name, name, sizeof(name));
    address(pg);
}

const char *fx_postgres_url(const fx_postgres *pg)
{
    return pg->url;
}

const char *fx_postgres_socket_url(const fx_postgres *pg)
{
    return pg->socket_url;
}

int fx_postgres_port(const fx_postgres *pg)
{
    return pg->port;
}

const char *fx_postgres_log(fx_postgres *pg)
{
    return pg->process ? fx_process_stderr(pg->process) : "";
}
