/* A server's clock: what each reply says of it. */
#include "core/server_clock.h"

int64_t dlock_server_clock_at(const server_clock *clock, dlock_time moment)
{
    int64_t offset_us = atomic_load(&clock->offset_us);
    return offset_us ? moment.us + offset_us : 0;
}

/* The offset is at most `most`, and at least `least`. What was known is kept while it lies in
 * between, since a smaller one is the better one: `most` is too large by the way there, and by
 * however long this process stood still before it sent. What lies outside shows that a clock was
 * set, or runs otherwise. */
void dlock_server_clock_learn(server_clock *clock, int64_t server_us, dlock_time asked)
{
    int64_t most = server_us - asked.us, least = server_us - dlock_now().us;
    int64_t known = atomic_load(&clock->offset_us);
    if (known == 0 || known > most || known < least)
        atomic_store(&clock->offset_us, most);
}
