/* The name and the command line that ps, pgrep, pidof and killall show for a process. */
#ifndef DLOCK_CMD_TITLE_H
#define DLOCK_CMD_TITLE_H

#include <stdbool.h>

/* Makes `title` this process's name and its only word. The memory that main()'s argv points to is
 * overwritten for it. False: /proc/self/cmdline can not be read. */
bool title_set(const char *title);

#endif
