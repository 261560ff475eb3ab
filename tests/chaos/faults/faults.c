/* faults.c - the columns, in their order: from none to the worst. */
#include <stddef.h>
#include <string.h>

#include "tests/chaos/faults/fault.h"

/* clang-format off */
extern const fault fault_load, fault_retries, fault_stale_write, fault_replays;
extern const fault fault_pause, fault_kill, fault_foreign_release;
extern const fault fault_herd, fault_sigterm, fault_redis_clock, fault_instance_clock;
extern const fault fault_lost_reply, fault_late_command, fault_client_kill, fault_partition;
extern const fault fault_oom, fault_readonly, fault_busy, fault_loading;
extern const fault fault_restart_everysec, fault_restart_always, fault_power_loss,
    fault_restart_in_sync, fault_slow_fsync, fault_restart_empty;
extern const fault fault_deleted, fault_overwritten, fault_evicted, fault_flushall;
extern const fault fault_failover, fault_planned_failover, fault_primary_stopped, fault_split_brain;
extern const fault fault_script_flush, fault_hang_up, fault_redis_stopped, fault_pause_writes;
extern const fault fault_busy_short, fault_loading_short, fault_noperm;
extern const fault fault_late_confirm, fault_double_expiry, fault_kill_between,
    fault_confirm_at_failover;
extern const fault fault_cluster_failover, fault_clusterdown, fault_resharding, fault_replicas_cut;

const fault *const faults[] = {
    &fault_load,
    &fault_retries,
    &fault_stale_write,
    &fault_replays,
    &fault_pause,
    &fault_kill,
    &fault_foreign_release,
    &fault_herd,
    &fault_hang_up,
    &fault_sigterm,
    &fault_redis_clock,
    &fault_instance_clock,
    &fault_lost_reply,
    &fault_late_command,
    &fault_client_kill,
    &fault_script_flush,
    &fault_redis_stopped,
    &fault_pause_writes,
    &fault_partition,
    &fault_oom,
    &fault_readonly,
    &fault_busy,
    &fault_busy_short,
    &fault_loading,
    &fault_loading_short,
    &fault_noperm,
    &fault_resharding,
    &fault_cluster_failover,
    &fault_clusterdown,
    &fault_replicas_cut,
    &fault_restart_everysec,
    &fault_restart_always,
    &fault_restart_in_sync,
    &fault_power_loss,
    &fault_slow_fsync,
    &fault_restart_empty,
    &fault_deleted,
    &fault_overwritten,
    &fault_evicted,
    &fault_flushall,
    &fault_planned_failover,
    &fault_primary_stopped,
    &fault_failover,
    &fault_split_brain,
    &fault_late_confirm,
    &fault_double_expiry,
    &fault_kill_between,
    &fault_confirm_at_failover,
    NULL,
};
/* clang-format on */

const fault *fault_find(const char *name)
{
    for (int i = 0; faults[i]; i++) {
        if (strcmp(faults[i]->name, name) == 0)
            return faults[i];
    }
    return NULL;
}
