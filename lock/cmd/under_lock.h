/* A command under a lock: what dlock run, semaphore and elect do alike. */
#ifndef DLOCK_CMD_UNDER_LOCK_H
#define DLOCK_CMD_UNDER_LOCK_H

#include "cmd/command.h"
#include "cmd/run_options.h"

enum { UNDER_LOCK_UNSETTLED = -1 };

/* To be called before the wait for the lock, once the server has answered. 0, or the exit
 * code after a complaint; UNDER_LOCK_UNSETTLED: to be asked again under the lock. Signals may end
 * the program meanwhile. */
typedef int under_lock_prepare(const command_session *session, const run_options *options);

/* Waits for the lock, and runs the command under it. Of kind FAIR it is an election's: after a loss
 * that is done again. The exit code. `prepare` may be NULL. */
int under_lock(const run_options *options, under_lock_prepare *prepare);

#endif
