/* Makes texts from outside, such as a lock's owner, safe for a terminal: a user who may write to
 * Redis must not move the cursor, set a title or hide a line there. */
#ifndef DLOCK_CMD_PLAIN_H
#define DLOCK_CMD_PLAIN_H

#include <stddef.h>
#include <stdio.h>

/* How many bytes the character at the text's beginning has, 1 to 4; 0: it is a control character
 * (C0, DEL, C1), the text's end, or no UTF-8. */
size_t plain_len(const char *text);

/* A copy in which each byte of what is not plain has become \xNN. The caller frees it. NULL: no
 * memory. */
char *plain_text(const char *text);

void plain_put(FILE *to, const char *text);

#endif
