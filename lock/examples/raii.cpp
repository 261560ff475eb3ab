/*
 * C++: sells one piece of stock:{42} with a write that Redis refuses when the lock is no longer
 * ours, and that releases the lock in the same round trip.
 *
 *     raii [redis://127.0.0.1:6379]
 */
#include <csignal>
#include <cstdio>
#include <dlock.hpp>
#include <string>

static const char sell_one[] = R"(
    local left = tonumber(redis.call('GET', KEYS[1]) or '0')
    if left < tonumber(ARGV[1]) then return -1 end
    return redis.call('DECRBY', KEYS[1], ARGV[1])
)";

static int fail(const char *why, const std::string &redis = "")
{
    std::fprintf(stderr, "not obtained: %s. %s\n", why, redis.c_str());
    return 1;
}

static int sell(dlock::hold &hold, const dlock::guard &guard)
{
    auto [status, reply] =
        hold.call_and_release(guard, {"stock:{42}:left"}, /* in the lock's slot */
                              {std::to_string(1)}, dlock_in_ms(1000));
    if (status == DLOCK_OK && reply->integer >= 0)
        std::printf("sold, %lld left\n", reply->integer);
    else /* DLOCK_UNKNOWN means sold or not: never report it as either */
        std::printf("%s\n", status == DLOCK_OK ? "sold out" : dlock_status_text(status));
    return status == DLOCK_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    auto client = dlock::client::open(argc > 1 ? argv[1] : "redis://127.0.0.1:6379");
    if (!client)
        return fail(client.what());
    auto guard = dlock::guard::make("sell_one", sell_one);
    if (!guard)
        return fail(guard.what());
    auto lock = client->new_lock("stock:{42}:lock");
    if (!lock)
        return fail(lock.what());
    auto hold = lock->try_acquire_for(std::chrono::seconds(2));
    return hold ? sell(*hold, *guard) : fail(hold.what(), client->last_error());
}
