/* Kinds READ and WRITE: the two sides of a read/write lock, in the protocol of shares.c. */
#include "kinds/shares.h"

const kind dlock_kind_read = {DLOCK_SHARES_KIND};
const kind dlock_kind_write = {DLOCK_SHARES_KIND, .token_end = "*w"};
