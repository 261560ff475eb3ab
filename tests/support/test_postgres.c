/* test_postgres.c - what postgres.h promises. */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/postgres.h"

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The root of a container may not look into processes of another user. */
static void only_who_may_look(void)
{
    unsigned long long caps = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof(line), status))
        (void)sscanf(line, "CapEff: %llx", &caps);
    fclose(status);
    if (geteuid() == 0 && !(caps >> CAP_SYS_PTRACE & 1)) {
        print_message("this root may not look into processes of others\n");
        skip();
    }
}

/* How many processes work in this directory: all of a server's do. */
static int processes_in(const char *dir)
{
    char path[64], works_in[512];
    int n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc));) {
        snprintf(path, sizeof(path), "/proc/%.20s/cwd", entry->d_name);
        ssize_t len = readlink(path, works_in, sizeof(works_in) - 1);
        works_in[len > 0 ? len : 0] = '\0';
        n += strcmp(works_in, dir) == 0;
    }
    closedir(proc);
    return n;
}

/* Its System V segment, by its own note. */
static int segment_of(const char *data)
{
    char command[600], id[32];
    snprintf(command, sizeof(command), "awk 'NR == 7 { print $2 }' %s/postmaster.pid", data);
    assert_int_equal(fx_shell_output(command, id, sizeof(id)), 0);
    return (int)strtol(id, NULL, 10);
}

/* The root of a container may not look into what belongs to nobody; it is there. */
static bool is_segment(int id)
{
    struct shmid_ds info;
    return shmctl(id, IPC_STAT, &info) == 0 || errno == EACCES;
}

/* The directory of its data, as it says. */
static void directory_of(fx_postgres *pg, char *buf, size_t len)
{
    snprintf(buf, len, "%s", fx_postgres_text(pg, "SHOW data_directory"));
    buf[strcspn(buf, "\n")] = '\0';
}

static void it_answers_on_both_addresses_and_leaves_nothing(void **state)
{
    (void)state;
    char data[512], psql[1024];
    only_who_may_look();
    fx_postgres *pg = fx_postgres_start((const char *const[]){"max_connections=17", NULL});
    assert_string_equal(fx_postgres_text(pg, "SHOW fsync"), "on\n");
    assert_int_equal(fx_postgres_number(pg, "SHOW max_connections"), 17);
    directory_of(pg, data, sizeof(data));
    assert_true(exists(data));
    assert_true(processes_in(data) > 1);
    int segment = segment_of(data);
    assert_true(is_segment(segment));

    const char *urls[] = {fx_postgres_url(pg), fx_postgres_socket_url(pg)};
    for (size_t i = 0; i < 2; i++) {
        snprintf(psql, sizeof(psql), "psql -XqAt -c 'SELECT 1' '%s'", urls[i]);
        assert_int_equal(fx_shell(psql, NULL, 60000), 0);
    }
    snprintf(psql, sizeof(psql), "! PGPASSWORD=wrong psql -XqAt -c 'SELECT 1' '%s' 2>/dev/null",
             urls[0]);
    assert_int_equal(fx_shell(psql, NULL, 60000), 0);

    fx_postgres_stop(pg);
    assert_false(exists(dirname(data)));
    assert_false(is_segment(segment));
}

static void two_are_strangers(void **state)
{
    (void)state;
    fx_postgres *a = fx_postgres_start(NULL), *b = fx_postgres_start(NULL);
    assert_int_not_equal(fx_postgres_port(a), fx_postgres_port(b));
    fx_postgres_do(a, "CREATE TABLE t (n int)");
    assert_int_equal(fx_postgres_number(b, "SELECT count(*) FROM pg_tables WHERE tablename = 't'"),
                     0);
    fx_postgres_stop(a);
    assert_int_equal(fx_postgres_number(b, "SELECT 1"), 1);
    fx_postgres_stop(b);
}

static void what_was_committed_survives_a_kill(void **state)
{
    (void)state;
    char data[512];
    only_who_may_look();
    fx_postgres *pg = fx_postgres_start(NULL);
    int port = fx_postgres_port(pg);
    directory_of(pg, data, sizeof(data));
    fx_postgres_do(pg, "CREATE TABLE t (n int)");
    for (int i = 1; i <= 3; i++) {
        fx_postgres_do(pg, "INSERT INTO t VALUES (%d)", i);
        fx_postgres_kill(pg);
        assert_int_equal(processes_in(data), 0);
        fx_postgres_restart(pg);
        assert_int_equal(fx_postgres_number(pg, "SELECT count(*) FROM t"), i);
    }
    assert_int_equal(fx_postgres_port(pg), port);
    assert_non_null(strstr(fx_postgres_log(pg), "not properly shut down"));
    int segment = segment_of(data);
    fx_postgres_kill(pg);
    assert_true(is_segment(segment));
    fx_postgres_stop(pg);
    assert_false(is_segment(segment));
}

/* Connections die with it: each is a process of its own. */
static void a_kill_ends_connections_too(void **state)
{
    (void)state;
    fx_postgres *pg = fx_postgres_start(NULL);
    fx_process *client =
        fx_spawn((const char *const[]){"psql", "-XqAt", fx_postgres_url(pg), "-c", "SELECT 1", "-c",
                                       "SELECT pg_sleep(600)", NULL},
                 true);
    char line[16];
    assert_true(fx_process_first_line(client, line, sizeof(line), 60000));
    fx_postgres_kill(pg);
    assert_int_equal(fx_process_wait(client, 60000), 2); /* psql: the connection was lost */
    fx_process_free(client);
    fx_postgres_stop(pg);
}

static void a_stopped_one_answers_nobody_until_it_goes_on(void **state)
{
    (void)state;
    fx_postgres *pg = fx_postgres_start(NULL);
    fx_postgres_signal(pg, SIGSTOP);
    fx_process *client = fx_spawn(
        (const char *const[]){"psql", "-XqAt", fx_postgres_url(pg), "-c", "SELECT 1", NULL}, true);
    assert_int_equal(fx_process_wait(client, 300), -1);
    fx_postgres_signal(pg, SIGCONT);
    assert_int_equal(fx_process_wait(client, 60000), 0);
    fx_process_free(client);
    fx_postgres_stop(pg);
}

static void a_fresh_database_is_empty(void **state)
{
    (void)state;
    fx_postgres *pg = fx_postgres_start(NULL);
    fx_postgres_fresh(pg);
    fx_postgres_do(pg, "CREATE TABLE t (n int)");
    fx_postgres_fresh(pg);
    fx_postgres_do(pg, "CREATE TABLE t (n int)");
    assert_string_equal(fx_postgres_text(pg, "SELECT current_database(), 7"), "case_2|7\n");
    fx_postgres_stop(pg);
}

static bool none_is_left(void *data)
{
    return processes_in(data) == 0;
}

/* A test that is killed takes its server along. */
static void it_dies_with_its_test(void **state)
{
    (void)state;
    fx_only_with_postgres();
    char data[512] = "";
    int to_us[2];
    assert_int_equal(pipe(to_us), 0);
    pid_t child = fork();
    if (child == 0) {
        directory_of(fx_postgres_start(NULL), data, sizeof(data));
        _exit(write(to_us[1], data, sizeof(data)) == sizeof(data) && raise(SIGKILL));
    }
    assert_int_equal(read(to_us[0], data, sizeof(data)), sizeof(data));
    assert_true(strlen(data) > 0);
    assert_true(fx_wait_until(none_is_left, data, 60000));
    fx_postgres_remove_segment(segment_of(data)); /* nobody was left to */
    fx_dir_remove(dirname(data));
    close(to_us[0]);
    close(to_us[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_answers_on_both_addresses_and_leaves_nothing),
        cmocka_unit_test(two_are_strangers),
        cmocka_unit_test(what_was_committed_survives_a_kill),
        cmocka_unit_test(a_kill_ends_connections_too),
        cmocka_unit_test(a_stopped_one_answers_nobody_until_it_goes_on),
        cmocka_unit_test(a_fresh_database_is_empty),
        cmocka_unit_test(it_dies_with_its_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
