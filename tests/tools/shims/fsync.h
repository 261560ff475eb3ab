/* fsync.h - what the preloaded disk (fsync.c) and the test that drives it share. */
#ifndef TESTS_SHIMS_FSYNC_H
#define TESTS_SHIMS_FSYNC_H

#include <stdatomic.h>
#include <stdint.h>

/* Files whose names end so are kept account of; how much of NAME is on the disk stands in
 * NAME.synced. */
#define SHIM_GROWING ".incr.aof"
#define SHIM_SYNCED  ".synced"

typedef struct shim_disk {
    _Atomic int64_t delay_ms; /* that each sync takes */
    _Atomic int64_t delayed;  /* syncs that took it */
} shim_disk;

#endif
