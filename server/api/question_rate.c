/* question_rate.c - buckets without a lock. */
#include "server/api/question_rate.h"

#include "lock/dlock_redis.h"
#include "server/base/text.h"

#define US_PER_S 1000000

static int take(_Atomic int64_t *empty_us, int64_t rate)
{
    int64_t each = US_PER_S / rate, now = dlock_now().us, before = atomic_load(empty_us), from;
    do {
        from = before > now ? before : now;
        int64_t wait = from - now - (US_PER_S - each);
        if (wait > 0)
            return (int)((wait + US_PER_S - 1) / US_PER_S);
    } while (!atomic_compare_exchange_weak(empty_us, &before, from + each));
    return 0;
}

int question_wait_s(question_rate *questions, const char *address)
{
    if (questions->rate == 0)
        return 0;
    return take(&questions->empty_us[text_hash(address) % QUESTION_BUCKETS], questions->rate);
}

int question_wait_unknown_s(question_rate *questions)
{
    return take(&questions->unknown_empty_us, UNKNOWN_ITEMS_RATE);
}
