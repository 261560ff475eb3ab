/*
 * dlock.hpp - dlock.h for C++17 and later: owners that let go by themselves.
 *
 *     #include <chrono>
 *     #include <csignal>
 *     #include <cstdio>
 *     #include <dlock.hpp>
 *     #include <string>
 *
 *     static int fail(const char *why, const std::string &redis = "")
 *     {
 *         std::fprintf(stderr, "%s. %s\n", why, redis.c_str());
 *         return 1;
 *     }
 *
 *     int main()
 *     {
 *         std::signal(SIGPIPE, SIG_IGN); // a connection that breaks must not end the program
 *         auto client = dlock::client::open("redis://127.0.0.1:6379"); // one a process is enough
 *         if (!client)
 *             return fail(client.what());
 *         auto lock = client->new_lock("stock:42"); // one a name; cheap, keep it
 *         if (!lock)
 *             return fail(lock.what());
 *         auto hold = lock->try_acquire_for(std::chrono::milliseconds(500));
 *         if (!hold)
 *             return fail(hold.what(), client->last_error());
 *         std::puts("ours"); // hold->held() tells whether it still is
 *     } // released here, whatever happened to the lock
 *
 * Nothing throws but std::bad_alloc, and std::string where a name is NULL: what makes or acquires
 * something returns a result, much like std::expected, and all else its status; the compiler warns
 * where one is overlooked.
 *
 * A result is true when it has its value. A false one has nothing, not after DLOCK_UNKNOWN
 * either: what may have been acquired is given back in the background. A result is looked at by its
 * name: `if (lock.try_acquire())` would have released before the first statement, and is refused.
 * What may have been done or not (a write, a release, a count-down) has a status and no bool; see
 * is_unknown(). A value that is not there is empty, as after a move. Calls on it, or with it, do
 * nothing and return DLOCK_INVALID, false, 0 or -1.
 *
 * Owners are moved, never copied, and share what they were got from: a hold and a pending call
 * their lock, locks, latches and elections their client. So they end in any order, and a client
 * with the last of them, which then waits as dlock_client_free() does. A destructor that has to ask
 * Redis waits as the function of dlock.h does: beside a silent Redis io_ms, a second unless set
 * otherwise, and three times that for the last of a client. In a forked child it does nothing.
 *
 * Functions that are const may be called from any thread, the others by one at a time; while an
 * owner is moved, assigned to or emptied nobody may use it. A hold is its thread's even when it
 * has been moved to another: unless wait.context was set, it is no longer renewed when the thread
 * that acquired it ends. What dlock.h calls (borrowed) is so here. Callbacks are functions of C, so
 * nothing may be thrown out of them: the library would be left with its mutexes locked. What their
 * `arg` points to lives as long as the lock and its holds, the election, the client.
 *
 * The contracts are those of dlock.h, whose functions these call, and whose structs they take:
 * `dlock_options reads = {}; reads.kind = DLOCK_READ;`. What has no form here takes get(), and what
 * it makes is adopted by an owner's constructor, with the share() of what has to outlive it.
 */
#ifndef DLOCK_HPP
#define DLOCK_HPP

#include "dlock.h"

#include <chrono>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock
{

/* Done, or not, or later; so is a status that is newer than this header. */
constexpr bool is_unknown(dlock_status status)
{
    return status == DLOCK_UNKNOWN || static_cast<int>(status) > DLOCK_PENDING;
}

/* A dlock_status that no `if` takes: as a bool, DLOCK_OK would be false, and DLOCK_UNKNOWN true. */
class [[nodiscard]] status
{
  public:
    constexpr status(dlock_status is) : is_(is) {}
    constexpr operator dlock_status() const { return is_; }
    /* Compare it with DLOCK_OK. */
    explicit operator bool() const = delete;
    template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
    operator T() const = delete;

  private:
    dlock_status is_;
};

/* What was made or acquired, or why it was not. A temporary one can not be looked at: it may be
 * empty, and lets go before the next statement. */
template <class T> struct [[nodiscard]] result {
    dlock::status status = DLOCK_INVALID;
    T value;           /* empty unless DLOCK_OK */
    std::string error; /* a sentence, or "" */

    explicit operator bool() const & { return status == DLOCK_OK && value.get(); }
    T &operator*() & { return value; }
    const T &operator*() const & { return value; }
    T *operator->() & { return &value; }
    const T *operator->() const & { return &value; }
    const char *what() const & { return error.empty() ? dlock_status_text(status) : error.c_str(); }
    explicit operator bool() const && = delete;
    T &operator*() const && = delete;
    T *operator->() const && = delete;
    const char *what() const && = delete;
};

namespace detail
{

template <class Handle, class Origin, void (*Free)(Handle *)> struct deleter {
    std::shared_ptr<Origin> origin;
    void operator()(Handle *handle) const { Free(handle); }
};

/* Owns a handle, and shares its origin until the handle is freed. */
template <class Handle, class Origin, void (*Free)(Handle *)> class owner
{
  public:
    using keep = deleter<Handle, Origin, Free>;
    owner() = default;
    owner(Handle *handle, std::shared_ptr<Origin> of) : handle_(handle, keep{std::move(of)}) {}
    Handle *get() const { return handle_.get(); }

  protected:
    const std::shared_ptr<Origin> &origin() const { return handle_.get_deleter().origin; }
    std::unique_ptr<Handle, keep> leave() { return std::move(handle_); }

  private:
    std::unique_ptr<Handle, keep> handle_;
};

/* T(handle, origin) by call(&handle, err, err_len). */
template <class T, class Origin, class Call>
result<T> make(bool can, const std::shared_ptr<Origin> &origin, Call call)
{
    result<T> ret;
    decltype(ret.value.get()) handle = nullptr;
    char err[256] = "";
    if (can)
        ret.status = call(&handle, err, sizeof(err));
    if (ret.status == DLOCK_OK)
        ret.value = T(handle, origin);
    else
        ret.error = can ? err : "an owner that is empty, or a name with a NUL inside";
    return ret;
}

/* C would take such a name for a shorter one. */
inline bool is_whole(const std::string &name)
{
    return name.find('\0') == std::string::npos;
}

inline dlock_wait wait_of(std::chrono::milliseconds time)
{
    dlock_wait wait = {};
    wait.wait_ms = time.count() > 0 ? time.count() : 0; /* -1 would be DLOCK_FOREVER */
    return wait;
}

template <class Finish> dlock_status until_decided(dlock_pending *pending, Finish finish)
{
    dlock_status status;
    while ((status = finish()) == DLOCK_PENDING) {
        pollfd decided = {dlock_pending_fd(pending), POLLIN, 0};
        (void)poll(&decided, 1, -1);
    }
    return status;
}

inline void end_hold(dlock_hold *hold)
{
    (void)dlock_release(hold);
}

inline void end_release(dlock_pending *pending)
{
    (void)until_decided(pending, [&] { return dlock_release_finish(pending); });
}

inline void end_call(dlock_pending *pending)
{
    dlock_pending_cancel(pending);
    (void)until_decided(pending, [&] { return dlock_call_finish(pending); });
}

inline void end_acquisition(dlock_pending *pending)
{
    dlock_hold *hold = nullptr;
    dlock_pending_cancel(pending);
    if (until_decided(pending, [&] { return dlock_acquire_finish(pending, &hold); }) == DLOCK_OK)
        end_hold(hold);
}

constexpr bool is_decided(dlock_status status)
{
    return status != DLOCK_PENDING && status != DLOCK_FORKED;
}

} // namespace detail

/* ---- guarded scripts ------------------------------------------------------------------------- */

struct reply_deleter {
    void operator()(redisReply *reply) const { freeReplyObject(reply); }
};
using reply_ptr = std::unique_ptr<redisReply, reply_deleter>;

/* Of a guarded call. No bool: DLOCK_UNKNOWN says neither that it was run nor that it was not. */
struct [[nodiscard]] answer {
    dlock::status status = DLOCK_INVALID;
    reply_ptr reply; /* the body's, or Redis's error; else NULL */
};

class guard : public detail::owner<dlock_guard, void, dlock_guard_free>
{
  public:
    using owner::owner;
    static result<guard> make(const char *name, const char *body)
    {
        return detail::make<guard>(true, std::shared_ptr<void>(), [&](auto **ret, auto...) {
            return (*ret = dlock_guard_new(name, body)) ? DLOCK_OK : DLOCK_NO_MEMORY;
        });
    }
};

using words = std::vector<std::string_view>; /* any bytes, which the caller keeps (borrowed) */

namespace detail
{

/* call(keys, args, &reply) */
template <class Call> answer ask(bool can, const words &keys, const words &args, Call call)
{
    answer ret;
    redisReply *reply = nullptr;
    dlock_args all;
    dlock_args_init(&all);
    for (const words *part : {&keys, &args})
        for (std::string_view word : *part)
            dlock_args_bytes(&all, word.data(), word.size());
    if (can)
        ret.status = call(static_cast<int>(keys.size()), &all, &reply);
    ret.reply.reset(reply);
    dlock_args_free(&all);
    return ret;
}

inline answer guarded(dlock_hold *hold, bool release, const guard &body, const words &keys,
                      const words &args, dlock_time deadline, int replicas)
{
    return ask(hold && body.get(), keys, args, [&](int n, auto *all, auto **reply) {
        return dlock_guard_call_wait(hold, body.get(), n, all, release, replicas, deadline, reply);
    });
}

} // namespace detail

/* ---- holds ----------------------------------------------------------------------------------- */

/* Its destructor waits until it is decided. */
class pending_release : public detail::owner<dlock_pending, dlock_lock, detail::end_release>
{
  public:
    using owner::owner;
    int fd() const { return get() ? dlock_pending_fd(get()) : -1; }

    /* DLOCK_PENDING, or what the release came to: then this is empty. */
    status finish()
    {
        dlock_status status = get() ? dlock_release_finish(get()) : DLOCK_INVALID;
        if (detail::is_decided(status))
            (void)leave().release();
        return status;
    }
};

/* Its destructor releases and overlooks the status, which release() tells. */
class hold : public detail::owner<dlock_hold, dlock_lock, detail::end_hold>
{
  public:
    using owner::owner;
    bool held() const { return get() && dlock_held(get()); }
    uint64_t fence() const { return get() ? dlock_fence(get()) : 0; }
    int lost_fd() const { return get() ? dlock_lost_fd(get()) : -1; }
    std::chrono::milliseconds validity() const
    {
        return std::chrono::milliseconds(get() ? dlock_validity_ms(get()) : 0);
    }

    /* Empty afterwards, whatever it returns. */
    status release()
    {
        auto last = leave();
        return last ? dlock_release(last.release()) : DLOCK_INVALID;
    }

    /* Empty afterwards if it has begun. */
    result<pending_release> start_release()
    {
        auto ret = detail::make<pending_release>(get(), origin(), [&](auto **pending, auto...) {
            return dlock_release_start(get(), pending);
        });
        if (ret)
            (void)leave().release();
        return ret;
    }

    /* From writing to reading. Empty afterwards, unless DLOCK_INVALID. */
    result<hold> downgrade(const class lock &read);

    answer call(const guard &body, const words &keys, const words &args, dlock_time deadline,
                int replicas = 0)
    {
        return detail::guarded(get(), false, body, keys, args, deadline, replicas);
    }

    /* Not held() afterwards, unless it failed; release() tells how the release ended. */
    answer call_and_release(const guard &body, const words &keys, const words &args,
                            dlock_time deadline, int replicas = 0)
    {
        return detail::guarded(get(), true, body, keys, args, deadline, replicas);
    }
};

/* Its destructor cancels it, waits until it is decided, and releases what was acquired. */
class pending_acquisition : public detail::owner<dlock_pending, dlock_lock, detail::end_acquisition>
{
  public:
    using owner::owner;
    int fd() const { return get() ? dlock_pending_fd(get()) : -1; }

    /* DLOCK_PENDING, or what the acquisition came to: then this is empty. */
    result<hold> finish()
    {
        auto ret = detail::make<hold>(
            get(), origin(), [&](auto **got, auto...) { return dlock_acquire_finish(get(), got); });
        if (detail::is_decided(ret.status))
            (void)leave().release();
        return ret;
    }
};

/* ---- locks ----------------------------------------------------------------------------------- */

/* A lock, one side of a read/write lock, or a semaphore, as its options say. */
class lock
{
  public:
    lock() = default;
    using keep = detail::deleter<dlock_lock, dlock_client, dlock_lock_free>;
    lock(dlock_lock *made, std::shared_ptr<dlock_client> of) : lock_(made, keep{std::move(of)}) {}
    lock(lock &&) = default;
    lock &operator=(lock &&) = default;
    dlock_lock *get() const { return lock_.get(); }
    std::shared_ptr<dlock_lock> share() const { return lock_; }

    result<hold> try_acquire() const { return acquire({}); }
    result<hold> try_acquire_for(std::chrono::milliseconds time) const
    {
        return acquire(detail::wait_of(time));
    }
    result<hold> acquire(const dlock_wait &wait) const
    {
        return detail::make<hold>(
            get(), lock_, [&](auto **got, auto...) { return dlock_acquire(get(), &wait, got); });
    }
    result<pending_acquisition> start_acquire(const dlock_wait &wait) const
    {
        return detail::make<pending_acquisition>(get(), lock_, [&](auto **pending, auto...) {
            return dlock_acquire_start(get(), &wait, pending);
        });
    }

  private:
    friend class hold;
    std::shared_ptr<dlock_lock> lock_;
};

inline result<hold> hold::downgrade(const lock &read)
{
    auto ret = detail::make<hold>(get() && read.get(), read.lock_, [&](auto **got, auto...) {
        return dlock_downgrade(get(), read.get(), got);
    });
    if (ret.status != DLOCK_INVALID && ret.status != DLOCK_FORKED)
        (void)leave().release();
    return ret;
}

/* ---- latches --------------------------------------------------------------------------------- */

class latch : public detail::owner<dlock_latch, dlock_client, dlock_latch_free>
{
  public:
    using owner::owner;
    status set(int64_t count, int64_t life_ms = 0) const
    {
        return get() ? dlock_latch_set(get(), count, life_ms) : DLOCK_INVALID;
    }
    status count_down(const char *who = nullptr, int64_t *left = nullptr) const
    {
        return get() ? dlock_latch_count_down(get(), who, left) : DLOCK_INVALID;
    }
    status left(int64_t &ret) const
    {
        return get() ? dlock_latch_left(get(), &ret) : DLOCK_INVALID;
    }
    status wait(const dlock_wait &wait) const
    {
        return get() ? dlock_latch_wait(get(), &wait) : DLOCK_INVALID;
    }
    status wait_for(std::chrono::milliseconds time) const { return wait(detail::wait_of(time)); }
};

/* ---- leader election ------------------------------------------------------------------------- */

/* A candidate, or an observer that only asks for the leader(). Its destructor resigns. */
class election : public detail::owner<dlock_election, dlock_client, dlock_election_free>
{
  public:
    using owner::owner;
    int fd() const { return get() ? dlock_election_fd(get()) : -1; }

    /* Without a `wait` it has no limit; an all-zero one is over at once. */
    status start() const { return get() ? dlock_election_start(get(), nullptr) : DLOCK_INVALID; }
    status start(const dlock_wait &wait) const
    {
        return get() ? dlock_election_start(get(), &wait) : DLOCK_INVALID;
    }
    status campaign() const
    {
        return get() ? dlock_election_campaign(get(), nullptr) : DLOCK_INVALID;
    }
    status campaign(const dlock_wait &wait) const
    {
        return get() ? dlock_election_campaign(get(), &wait) : DLOCK_INVALID;
    }

    /* dlock_election_status(): DLOCK_OK leads, DLOCK_PENDING campaigns. */
    status now() const { return get() ? dlock_election_status(get()) : DLOCK_INVALID; }
    status resign() const { return get() ? dlock_election_resign(get()) : DLOCK_INVALID; }
    status leader(dlock_info &ret) const
    {
        return get() ? dlock_election_leader(get(), &ret) : DLOCK_INVALID;
    }

    /* The leader's, never to be adopted; NULL unless it leads. This and what follows is for one
     * thread at a time, and not while another starts again or resigns: that ends the hold. */
    dlock_hold *hold() { return get() ? dlock_election_hold(get()) : nullptr; }
    uint64_t fence()
    {
        auto *mine = hold();
        return mine ? dlock_fence(mine) : 0;
    }

    /* By the leader alone: DLOCK_STALE, and nothing was run, where it does not lead. */
    answer call(const guard &body, const words &keys, const words &args, dlock_time deadline,
                int replicas = 0)
    {
        auto *mine = hold();
        auto ret = detail::guarded(mine, false, body, keys, args, deadline, replicas);
        if (get() && body.get() && !mine)
            ret.status = fd() < 0 ? DLOCK_FORKED : DLOCK_STALE;
        return ret;
    }
};

/* ---- blocking calls -------------------------------------------------------------------------- */

/* Its destructor cancels it, which keeps one that has not begun from running, or waits for its end.
 */
class pending_call : public detail::owner<dlock_pending, dlock_client, detail::end_call>
{
  public:
    using owner::owner;
    int fd() const { return get() ? dlock_pending_fd(get()) : -1; }

    /* DLOCK_PENDING, or what the call has returned: then this is empty. */
    status finish()
    {
        dlock_status status = get() ? dlock_call_finish(get()) : DLOCK_INVALID;
        if (detail::is_decided(status))
            (void)leave().release();
        return status;
    }
};

/* ---- clients --------------------------------------------------------------------------------- */

class client
{
  public:
    client() = default;
    using keep = detail::deleter<dlock_client, void, dlock_client_free>;
    client(dlock_client *made, std::shared_ptr<void> of) : client_(made, keep{std::move(of)}) {}
    client(client &&) = default;
    client &operator=(client &&) = default;
    dlock_client *get() const { return client_.get(); }
    std::shared_ptr<dlock_client> share() const { return client_; }

    static result<client> open(const std::string &url, const dlock_client_options &options = {})
    {
        return detail::make<client>(
            detail::is_whole(url), std::shared_ptr<void>(),
            [&](auto... ret) { return dlock_client_open(url.c_str(), &options, ret...); });
    }

    result<lock> new_lock(const std::string &name, const dlock_options &options = {}) const
    {
        return detail::make<lock>(get() && detail::is_whole(name), client_, [&](auto... ret) {
            return dlock_lock_new(get(), name.c_str(), &options, ret...);
        });
    }

    result<latch> new_latch(const std::string &name) const
    {
        return detail::make<latch>(get() && detail::is_whole(name), client_, [&](auto... ret) {
            return dlock_latch_new(get(), name.c_str(), ret...);
        });
    }

    result<election> new_election(const std::string &name,
                                  const dlock_election_options &options = {}) const
    {
        return detail::make<election>(get() && detail::is_whole(name), client_, [&](auto... ret) {
            return dlock_election_new(get(), name.c_str(), &options, ret...);
        });
    }

    /* `arg` lives until the call has ended. */
    result<pending_call> start_call(dlock_status (*call)(void *arg), void *arg) const
    {
        return detail::make<pending_call>(get(), client_, [&](auto **pending, auto...) {
            return dlock_call_start(get(), call, arg, pending);
        });
    }

    /* What Redis said, if it was Redis's fault. */
    std::string last_error() const
    {
        char text[256] = "";
        if (get())
            dlock_last_error(get(), text, sizeof(text));
        return text;
    }

  private:
    std::shared_ptr<dlock_client> client_;
};

} // namespace dlock

#endif
