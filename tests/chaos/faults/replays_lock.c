/* replays_lock.c - a write comes again of who has the lock no more, or never had it. */
#include <stdio.h>
#include <string.h>

#include "tests/chaos/faults/replays.h"

/* The holder before was overtaken. Its lock seems to be its own again; or is gone; or is the new
 * holder's. */
void replays_older_fence(attacker *a)
{
    shot s;
    if (a->before.count == 0 || strcmp(writes_lock(&a->before), writes_lock(&a->now)) != 0)
        return;
    assert_string_not_equal(writes_fence(&a->before), writes_fence(&a->now));
    const char *owners[] = {writes_token(&a->before), NULL, writes_token(&a->now)};
    for (int i = 0; i < 3; i++) {
        name n = replays_name(a->c, 1);
        writes_aim(&s, &a->before);
        writes_of(&s, (const char *const[]){n.request}, (const char *const[]){n.order}, 1);
        writes_set_word(&s, W_UNITS, "1");
        s.owner = owners[i];
        replays_attack(a, &s, "an older fence", "stale");
    }
}

/* Its fence is the last, and the lock is a stranger's, or free; or the fence was issued to one.
 */
void replays_other_owner(attacker *a)
{
    shot s;
    name n;
    char issued[128], stranger[96];
    replays_aim(a, &s, &n);
    snprintf(stranger, sizeof(stranger), "%sx", writes_token(&a->now));
    s.owner = stranger;
    replays_attack(a, &s, "another owner", "stale");
    replays_aim(a, &s, &n);
    snprintf(issued, sizeof(issued), "%s s %s", writes_fence(&a->now), stranger);
    s.key = writes_fence_key(&a->now);
    s.value = issued;
    replays_attack(a, &s, "a fence that was issued to another", "stale");
    replays_aim(a, &s, &n);
    s.owner = NULL;
    replays_attack(a, &s, "a lock that has ended", "stale");
}
