/*
 * process.h - the programs that a test starts: spawned, watched, and gone when the test is.
 *
 * Promises
 *   - A spawned program is killed when the test program ends, however that ends (Ctrl-C, abort and
 *     SIGKILL included): the kernel does it (PR_SET_PDEATHSIG). Nothing else is ever signalled.
 *   - stdout and stderr go into memory, so a program can neither block on a full pipe nor spoil
 *     the test's own output. Both can be read at any time, also after the program's end.
 *
 * PR_SET_PDEATHSIG fires at the end of the *thread* that spawned: spawn from the main thread, or
 * from one that lives long enough. What can not be done fails the running cmocka test, therefore
 * all of this is for the main thread, unless a function says otherwise.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct fx_process fx_process;

/* Starts argv[0], looked up in PATH; argv ends with NULL. Without capture_stdout its stdout goes
 * to /dev/null; stderr is always kept. A program that can not be executed exits with 127. */
fx_process *fx_spawn(const char *const *argv, bool capture_stdout);

/* Kills it if it still runs, reaps it, frees it. NULL is allowed. */
void fx_process_free(fx_process *process);

/* Sends a signal, unless the program has been reaped. Any thread. */
void fx_process_signal(fx_process *process, int signo);

/* Waits for the end: the exit code, 128 + signal when a signal ended it, -1 when it still runs
 * after deadline_ms. May be called again, the answer stays. */
int fx_process_wait(fx_process *process, int deadline_ms);

/* Runs a shell script, whose $1 is arg, to its end: its exit code, or -1 when it had to be killed
 * after deadline_ms. Its stdout is dropped; its stderr is shown when it fails. */
int fx_shell(const char *script, const char *arg, int deadline_ms);

/* Runs a shell command to its end: its exit code, or -1 when a signal ended it; `output` has what
 * it wrote to stdout, as far as there is room. */
int fx_shell_output(const char *command, char *output, size_t output_len);

pid_t fx_process_pid(const fx_process *process);

/* The state of any process as /proc has it: 'T' is stopped, 'Z' has ended. 'X': there is none. */
char fx_pid_state(pid_t pid);

/* Everything written so far, NUL-terminated; valid until the next call for the same stream. */
const char *fx_process_stdout(fx_process *process);
const char *fx_process_stderr(fx_process *process);

/* Waits until stdout holds a whole line; copies the first one, without its newline, into buf.
 * False when the program ended, or deadline_ms passed, before there was one. */
bool fx_process_first_line(fx_process *process, char *buf, size_t len, int deadline_ms);

/* Polls until cond(arg) is true: true; or until deadline_ms has passed: false. From a second on a
 * deadline is longer on a crowded machine (patience.h), here as in all that waits. Any thread. */
bool fx_wait_until(bool (*cond)(void *arg), void *arg, int deadline_ms);

/* Lets time pass, for one that makes load, or that counts what happens meanwhile; never in the hope
 * that something has happened by then. The ms that did pass, which may be many more. Any thread. */
int64_t fx_let_pass(int ms);

/* How many files and directories there are in a directory, but hidden ones; -1: it can not be
 * read. Any thread. */
int fx_entries(const char *path);

/* What the test program itself has: descriptors, threads (one that was joined may be seen for a
 * moment yet), and bytes from malloc() in use (under AddressSanitizer always 0: it finds leaks by
 * itself). Taken before and after, they show what was not closed, joined or freed. Any thread. */
int fx_descriptors_open(void);
int fx_threads_alive(void);
size_t fx_bytes_allocated(void);

/* The path of a program of this build, "build/flashsale" for one: under $FLASHSALE_BUILD, or
 * under build/ where that is not set. Returns buf. Says so where it is not there. The name is a
 * whole literal: tests/started finds it in the test program, for make to build. */
char *fx_build_path(const char *program, char *buf, size_t len);

#endif
