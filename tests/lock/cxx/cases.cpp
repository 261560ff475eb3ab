/*
 * What dlock.hpp promises beyond dlock.h, on a real Redis. test_cxx.c has it compiled, and runs
 * each case in a process of its own.
 *
 *     cases CASE URL
 *
 * Exit codes: 0, or 1 with the line and the expression that does not hold; 64 for another CASE.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlock.hpp>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

using namespace std::chrono_literals;
using dlock::is_unknown;

/* ---- what the compiler has to say ------------------------------------------------------------ */

template <class T>
constexpr bool is_owner =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
    std::is_nothrow_destructible_v<T> && std::is_default_constructible_v<T>;

static_assert(is_owner<dlock::client> && is_owner<dlock::lock> && is_owner<dlock::hold>);
static_assert(is_owner<dlock::latch> && is_owner<dlock::guard> && is_owner<dlock::election>);
static_assert(is_owner<dlock::pending_acquisition> && is_owner<dlock::pending_release>);
static_assert(is_owner<dlock::pending_call>);
static_assert(is_owner<dlock::result<dlock::hold>> && is_owner<dlock::result<dlock::client>>);

static_assert(std::is_constructible_v<bool, dlock::result<dlock::hold> &>);
static_assert(!std::is_constructible_v<bool, dlock::result<dlock::hold>>, "gone at once");
static_assert(!std::is_convertible_v<dlock::result<dlock::hold>, bool>);
static_assert(!std::is_constructible_v<bool, dlock::answer>, "unknown is neither yes nor no");
static_assert(!std::is_constructible_v<bool, dlock::status>, "nor is it as a status");
static_assert(!std::is_convertible_v<dlock::status, bool>, "not over dlock_status either");
static_assert(std::is_convertible_v<dlock::status, dlock_status>);
static_assert(std::is_nothrow_move_assignable_v<dlock::answer>);
static_assert(!std::is_convertible_v<const char *, dlock::guard>);

static_assert(is_unknown(DLOCK_UNKNOWN) &&
              is_unknown(static_cast<dlock_status>(DLOCK_PENDING + 1)));
static_assert(!is_unknown(DLOCK_OK) && !is_unknown(DLOCK_BUSY) && !is_unknown(DLOCK_UNAVAILABLE));
static_assert(!is_unknown(DLOCK_PENDING) && !is_unknown(DLOCK_FAILED) && !is_unknown(DLOCK_STALE));

/* ---- what the cases share -------------------------------------------------------------------- */

static const char *url;

#define CHECK(it) ((it) ? (void)0 : fail(__LINE__, #it))

[[noreturn]] static void fail(int line, const char *what)
{
    std::fprintf(stderr, "cases.cpp:%d: %s\n", line, what);
    std::_Exit(1);
}

static dlock::client new_client(int64_t io_ms = 0)
{
    dlock_client_options options = {};
    options.io_ms = io_ms;
    auto client = dlock::client::open(url, options);
    CHECK(client);
    return std::move(*client);
}

static dlock_options of_kind(dlock_kind kind)
{
    dlock_options options = {};
    options.kind = kind;
    return options;
}

static dlock::lock new_lock(const dlock::client &client, const std::string &name,
                            const dlock_options &options = {})
{
    auto lock = client.new_lock(name, options);
    CHECK(lock);
    return std::move(*lock);
}

static dlock::hold acquired(const dlock::lock &lock)
{
    auto hold = lock.try_acquire();
    CHECK(hold);
    CHECK(hold->held());
    return std::move(*hold);
}

static dlock::guard new_guard(const char *body)
{
    auto guard = dlock::guard::make("body", body);
    CHECK(guard);
    return std::move(*guard);
}

static void redis(const dlock::client &client, const dlock::words &command)
{
    dlock_args args;
    dlock_args_init(&args);
    for (std::string_view word : command)
        dlock_args_bytes(&args, word.data(), word.size());
    CHECK(dlock_redis_command(dlock_client_redis(client.get()), nullptr, &args, dlock_in_ms(30000),
                              nullptr) == DLOCK_REDIS_OK);
    dlock_args_free(&args);
}

static bool readable(int fd, int within_ms)
{
    pollfd it = {fd, POLLIN, 0};
    return poll(&it, 1, within_ms) == 1;
}

/* Somebody else, who tells whether the lock is free. */
struct other {
    dlock::client client = new_client();
    dlock::lock lock;

    explicit other(const std::string &name, const dlock_options &options = {})
        : lock(new_lock(client, name, options))
    {
    }
    bool can() const { return lock.try_acquire().status == DLOCK_OK; }
    bool must_wait() const { return lock.try_acquire().status == DLOCK_BUSY; }
};

/* ---- holds ----------------------------------------------------------------------------------- */

static void the_destructor_releases()
{
    auto client = new_client();
    auto lock = new_lock(client, "destructor");
    other other("destructor");
    uint64_t fence;
    {
        auto hold = acquired(lock);
        fence = hold.fence();
        CHECK(fence > 0 && hold.validity() > 0ms && hold.lost_fd() >= 0);
        CHECK(!readable(hold.lost_fd(), 0));
        CHECK(other.must_wait());
    }
    auto next = acquired(other.lock);
    CHECK(next.fence() > fence);
    CHECK(next.release() == DLOCK_OK);
    CHECK(!next.get() && !next.held());
    CHECK(next.release() == DLOCK_INVALID);
    CHECK(acquired(lock).fence() > fence);
}

static void what_was_moved_from_is_empty()
{
    auto client = new_client();
    auto lock = new_lock(client, "moved");
    auto body = new_guard("return 1");
    auto hold = acquired(lock);
    auto mine = std::move(hold);
    CHECK(mine.held() && mine.call(body, {}, {}, dlock_in_ms(2000)).status == DLOCK_OK);
    CHECK(!hold.get() && !hold.held() && hold.fence() == 0 && hold.validity() == 0ms);
    CHECK(hold.lost_fd() == -1 && hold.release() == DLOCK_INVALID);
    CHECK(hold.start_release().status == DLOCK_INVALID);
    CHECK(hold.downgrade(lock).status == DLOCK_INVALID);
    CHECK(hold.call(body, {}, {}, dlock_in_ms(1)).status == DLOCK_INVALID);
    CHECK(mine.call({}, {}, {}, dlock_in_ms(1)).status == DLOCK_INVALID);

    auto &itself = mine;
    mine = std::move(itself);
    CHECK(mine.held());
    auto result = lock.try_acquire();
    CHECK(result);
    auto taken = std::move(*result);
    CHECK(!result && !result->get() && taken.held());

    auto kept = std::move(lock);
    CHECK(!lock.get() && lock.try_acquire().status == DLOCK_INVALID);
    CHECK(lock.start_acquire({}).status == DLOCK_INVALID);
    auto keeper = std::move(client);
    auto none = client.new_lock("moved");
    CHECK(!none && !none->get() && std::strstr(none.what(), "empty"));
    CHECK(client.new_latch("moved").status == DLOCK_INVALID && client.last_error().empty());
    CHECK(dlock::latch().wait({}) == DLOCK_INVALID);
    CHECK(dlock::pending_acquisition().finish().status == DLOCK_INVALID);
    CHECK(dlock::pending_release().finish() == DLOCK_INVALID);
    CHECK(dlock::pending_call().finish() == DLOCK_INVALID);
    CHECK(client.new_election("moved").status == DLOCK_INVALID);
    dlock::election nobody;
    dlock_info info;
    CHECK(nobody.start() == DLOCK_INVALID && nobody.campaign({}) == DLOCK_INVALID);
    CHECK(nobody.now() == DLOCK_INVALID && nobody.resign() == DLOCK_INVALID);
    CHECK(nobody.leader(info) == DLOCK_INVALID && nobody.fd() == -1 && !nobody.hold());
    CHECK(nobody.fence() == 0);
    CHECK(nobody.call(body, {}, {}, dlock_in_ms(1)).status == DLOCK_INVALID);
}

static void what_is_assigned_to_releases_what_it_had()
{
    auto client = new_client();
    other a("assigned:a"), b("assigned:b");
    auto hold = acquired(new_lock(client, "assigned:a"));
    CHECK(a.must_wait());
    hold = acquired(new_lock(client, "assigned:b"));
    CHECK(a.can() && b.must_wait());
    hold = {};
    CHECK(b.can());
}

static void owners_end_in_any_order()
{
    other other("order");
    dlock::hold hold;
    {
        dlock_options options = {};
        options.lease_ms = 2000;
        options.renew_ms = 20;
        auto client = new_client();
        auto lock = new_lock(client, "order", options);
        hold = acquired(lock);
    }
    /* Its client's threads go on: validity only rises by a renewal. */
    auto before = hold.validity();
    for (dlock_time end = dlock_in_ms(60000); hold.validity() <= before; before = hold.validity())
        CHECK(!dlock_passed(end) && hold.held());
    CHECK(other.must_wait());
    CHECK(hold.release() == DLOCK_OK);
    CHECK(other.can());
}

/* A hold that is re-entered by another lock of the name belongs to the first one, which may go. */
static void a_hold_outlives_the_lock_it_was_first_got_by()
{
    other other("re-entered");
    auto client = new_client();
    dlock_options longer = {};
    longer.lease_ms = 60000;
    auto second = new_lock(client, "re-entered", longer);
    dlock::hold again;
    {
        auto first = new_lock(client, "re-entered");
        auto hold = acquired(first);
        again = acquired(second);
        CHECK(again.get() == hold.get() && first.get() != second.get());
    }
    CHECK(again.held() && other.must_wait());
    CHECK(again.release() == DLOCK_OK);
    CHECK(other.can());
}

/* Two levels of one hold are two owners, each with a thread of its own. (What is read after it was
 * freed is ThreadSanitizer's to see.) */
static void levels_of_a_hold_end_by_different_threads()
{
    other other("levels");
    auto client = new_client();
    auto lock = new_lock(client, "levels");
    for (int i = 0; i < 50; i++) {
        auto first = acquired(lock), second = acquired(lock);
        CHECK(first.get() == second.get());
        std::thread thread([level = std::move(first)]() mutable {
            CHECK(level.fence() > 0 && level.release() == DLOCK_OK);
        });
        CHECK(second.held() && second.release() == DLOCK_OK);
        thread.join();
    }
    CHECK(other.can());
}

static void a_lost_hold_tells_it()
{
    auto client = new_client();
    auto lock = new_lock(client, "{lost}");
    auto body = new_guard("redis.call('SET', KEYS[1], 1)");
    other other("{lost}");
    auto hold = acquired(lock);
    CHECK(dlock_force_release(other.lock.get()) == DLOCK_OK);
    auto theirs = acquired(other.lock);
    auto answer = hold.call(body, {"{lost}:written"}, {}, dlock_in_ms(2000));
    CHECK(answer.status == DLOCK_STALE && !is_unknown(answer.status) && !answer.reply);
    CHECK(readable(hold.lost_fd(), 10000));
    CHECK(!hold.held() && hold.validity() == 0ms && theirs.held());
    CHECK(hold.release() == DLOCK_NOT_OWNER);
    CHECK(!hold.get());
    { /* where nobody has noticed, Redis does */
        auto taken = acquired(new_lock(client, "{lost}:2"));
        redis(client, {"SET", "{lost}:2", "a stranger's"});
        CHECK(taken.release() == DLOCK_NOT_OWNER);
    }
}

static void unknown_is_neither_yes_nor_no()
{
    auto client = new_client(100);
    auto lock = new_lock(client, "{unknown}"), free = new_lock(client, "{unknown}:free");
    auto body = new_guard("return redis.call('INCR', KEYS[1])");
    other other("{unknown}");
    auto hold = acquired(lock);
    redis(other.client, {"CLIENT", "PAUSE", "600000", "WRITE"});
    auto answer = hold.call(body, {"{unknown}:written"}, {}, dlock_in_ms(100));
    CHECK(answer.status == DLOCK_UNKNOWN && is_unknown(answer.status) && !answer.reply);
    auto none = free.try_acquire();
    CHECK(!none && none.status == DLOCK_UNKNOWN && !none->get());
    CHECK(!std::strcmp(none.what(), dlock_status_text(DLOCK_UNKNOWN)));
    CHECK(!client.last_error().empty());
    CHECK(hold.release() == DLOCK_UNKNOWN);
    CHECK(!hold.get());
    redis(other.client, {"CLIENT", "UNPAUSE"});
    CHECK(other.lock.try_acquire_for(60s).status == DLOCK_OK);
}

static void a_wait_ends()
{
    auto client = new_client();
    auto lock = new_lock(client, "wait", of_kind(DLOCK_FAIR));
    other other("wait", of_kind(DLOCK_FAIR));
    auto theirs = acquired(other.lock);
    CHECK(lock.try_acquire_for(-1ms).status == DLOCK_BUSY); /* -1 is DLOCK_FOREVER in C */
    CHECK(lock.try_acquire_for(std::chrono::milliseconds::min()).status == DLOCK_BUSY);
    CHECK(lock.try_acquire_for(20ms).status == DLOCK_BUSY);
    dlock_wait wait = {};
    wait.wait_ms = -2;
    CHECK(lock.acquire(wait).status == DLOCK_INVALID);
    auto pending = lock.start_acquire({});
    CHECK(pending && readable(pending->fd(), 10000));
    CHECK(pending->finish().status == DLOCK_BUSY);
    CHECK(theirs.release() == DLOCK_OK);
    CHECK(lock.try_acquire_for(60s).status == DLOCK_OK);
}

static void what_can_not_be_made_says_why()
{
    auto none = dlock::client::open("http://127.0.0.1");
    CHECK(!none && none.status == DLOCK_INVALID && !none.error.empty());
    CHECK(dlock::client::open(std::string("redis://127.0.0.1:1\0", 20)).status == DLOCK_INVALID);
    auto client = new_client();
    CHECK(client.new_lock("dlock:mine").status == DLOCK_INVALID);
    CHECK(client.new_lock("right").status == DLOCK_OK);
    auto cut = client.new_lock(std::string("cut\0off", 7));
    CHECK(!cut && std::strstr(cut.what(), "NUL"));
    CHECK(client.new_latch(std::string("cut\0off", 7)).status == DLOCK_INVALID);
}

/* ---- guarded calls --------------------------------------------------------------------------- */

static void words_are_any_bytes_and_the_reply_is_owned()
{
    using namespace std::string_view_literals;
    auto client = new_client();
    auto lock = new_lock(client, "{guard}");
    other other("{guard}");
    auto body = new_guard("return {KEYS[1], ARGV[1], ARGV[2], #KEYS, #ARGV, fence}");
    auto hold = acquired(lock);
    auto said = hold.call(body, {"{guard}:\0key"sv}, {"two\r\nlines"sv, {}}, dlock_in_ms(2000));
    CHECK(said.status == DLOCK_OK && said.reply && said.reply->elements == 6);
    auto text = [&](int i) {
        return std::string_view(said.reply->element[i]->str, said.reply->element[i]->len);
    };
    CHECK(text(0) == "{guard}:\0key"sv && text(1) == "two\r\nlines"sv && text(2).empty());
    CHECK(said.reply->element[3]->integer == 1 && said.reply->element[4]->integer == 2);
    CHECK(text(5) == std::to_string(hold.fence()));
    CHECK(hold.held());

    auto wrong = new_guard("return redis.error_reply('WRONG it is')");
    auto error = hold.call_and_release(wrong, {}, {}, dlock_in_ms(2000));
    CHECK(error.status == DLOCK_FAILED && std::strstr(error.reply->str, "WRONG it is"));
    CHECK(hold.held() && other.must_wait());

    auto last = hold.call_and_release(new_guard("return 'last'"), {}, {}, dlock_in_ms(2000));
    CHECK(last.status == DLOCK_OK && last.reply->str == "last"sv);
    CHECK(!hold.held() && other.can());
    CHECK(hold.release() == DLOCK_OK);
}

/* ---- without a thread ------------------------------------------------------------------------ */

static void pending_calls_come_to_holds()
{
    auto client = new_client();
    auto lock = new_lock(client, "pending", of_kind(DLOCK_FAIR));
    other other("pending", of_kind(DLOCK_FAIR));
    auto theirs = acquired(other.lock);
    dlock_wait wait = {};
    wait.wait_ms = 60000;
    auto pending = lock.start_acquire(wait);
    CHECK(pending && pending->fd() >= 0);
    CHECK(pending->finish().status == DLOCK_PENDING);
    CHECK(pending->get());
    CHECK(theirs.release() == DLOCK_OK);
    CHECK(readable(pending->fd(), 60000));
    auto hold = pending->finish();
    CHECK(hold && hold->held() && other.must_wait());
    CHECK(!pending->get() && pending->fd() == -1);
    CHECK(pending->finish().status == DLOCK_INVALID);

    auto release = hold->start_release();
    CHECK(release && !hold->get() && readable(release->fd(), 60000));
    CHECK(release->finish() == DLOCK_OK);
    CHECK(!release->get() && release->finish() == DLOCK_INVALID);
    CHECK(other.can());
}

static void a_blocking_call_runs_on_a_worker()
{
    auto client = new_client();
    bool ran = false;
    auto block = [](void *arg) {
        std::this_thread::sleep_for(50ms);
        *static_cast<bool *>(arg) = true;
        return DLOCK_BUSY;
    };
    auto pending = client.start_call(block, &ran);
    CHECK(pending && readable(pending->fd(), 60000));
    CHECK(pending->finish() == DLOCK_BUSY && ran);
    CHECK(!pending->get() && pending->finish() == DLOCK_INVALID);
    ran = false;
    pending = client.start_call(block, &ran);
    pending = {}; /* waits for it, if it has begun */
    CHECK(dlock::client().start_call(block, &ran).status == DLOCK_INVALID);
}

static void a_pending_call_that_is_dropped_leaves_nothing()
{
    other other("dropped", of_kind(DLOCK_FAIR));
    dlock_wait forever = {};
    forever.wait_ms = DLOCK_FOREVER;
    dlock_info info;
    {
        dlock::pending_acquisition waits;
        auto theirs = acquired(other.lock);
        auto lock = new_lock(new_client(), "dropped", of_kind(DLOCK_FAIR));
        waits = std::move(lock.start_acquire(forever).value);
        CHECK(waits.get());
        for (dlock_time end = dlock_in_ms(60000); info.waiters != 1;)
            CHECK(!dlock_passed(end) && dlock_inspect(other.lock.get(), &info) == DLOCK_OK);
        lock = {};
        waits = {};
        CHECK(dlock_inspect(other.lock.get(), &info) == DLOCK_OK && info.waiters == 0);
    }
    auto lock = new_lock(new_client(), "dropped", of_kind(DLOCK_FAIR));
    {
        auto granted = lock.start_acquire(forever);
        CHECK(granted && readable(granted->fd(), 60000) && other.must_wait());
    }
    CHECK(other.can());
    auto hold = acquired(lock);
    int fd = hold.start_release().value.fd(); /* the temporary waits for it, and finishes it */
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == -1);
    CHECK(!hold.get() && other.can());
}

/* ---- several holders, latches ---------------------------------------------------------------- */

static void a_writer_becomes_a_reader()
{
    auto client = new_client();
    auto writes = new_lock(client, "rw", of_kind(DLOCK_WRITE));
    auto reads = new_lock(client, "rw", of_kind(DLOCK_READ));
    other reader("rw", of_kind(DLOCK_READ)), writer("rw", of_kind(DLOCK_WRITE));
    auto hold = acquired(writes);
    uint64_t fence = hold.fence();
    CHECK(reader.must_wait());
    CHECK(hold.downgrade(writes).status == DLOCK_INVALID);
    CHECK(hold.held()); /* it stays */
    auto reading = hold.downgrade(reads);
    CHECK(reading && reading->held() && reading->fence() == fence && !hold.get());
    CHECK(reader.can() && writer.must_wait());
    CHECK(reading->release() == DLOCK_OK);
    CHECK(writer.can());

    dlock_options two = of_kind(DLOCK_SEMAPHORE);
    two.permits = 2;
    auto jobs = new_lock(client, "jobs", two);
    auto first = acquired(jobs), second = acquired(jobs);
    CHECK(jobs.try_acquire().status == DLOCK_BUSY);
    first = {};
    CHECK(jobs.try_acquire().status == DLOCK_OK);
}

static void a_latch_opens()
{
    auto latch = new_client().new_latch("latch"); /* which keeps its client */
    int64_t left = -1;
    CHECK(latch && latch->left(left) == DLOCK_EXPIRED);
    CHECK(latch->set(2) == DLOCK_OK && latch->set(2) == DLOCK_BUSY);
    CHECK(latch->count_down("one", &left) == DLOCK_OK && left == 1);
    CHECK(latch->count_down("one", &left) == DLOCK_OK && left == 1);
    CHECK(latch->wait_for(-1ms) == DLOCK_BUSY);
    CHECK(latch->count_down() == DLOCK_OK && latch->left(left) == DLOCK_OK && left == 0);
    CHECK(latch->wait_for(60s) == DLOCK_OK && latch->wait({}) == DLOCK_OK);
}

/* ---- elections, and what dlock.h alone has -------------------------------------------------- */

static void a_candidate_leads_until_it_ends()
{
    auto client = new_client();
    auto body = new_guard("return redis.call('INCR', KEYS[1])");
    auto next = new_client().new_election("{elected}"); /* which keeps its client */
    CHECK(next && next->fd() >= 0 && next->now() == DLOCK_CANCELLED);
    dlock_info info;
    CHECK(next->leader(info) == DLOCK_OK && !info.held);
    {
        dlock_election_options options = {};
        options.lease_ms = 60000;
        auto first = client.new_election("{elected}", options);
        CHECK(first && first->campaign() == DLOCK_OK && first->now() == DLOCK_OK);
        CHECK(next->campaign({}) == DLOCK_BUSY);
        CHECK(next->start() == DLOCK_OK && next->start() == DLOCK_INVALID);
        CHECK(next->leader(info) == DLOCK_OK && info.held && info.fence == first->fence());
        CHECK(next->now() == DLOCK_PENDING && !next->hold() && next->fence() == 0);
        auto stale = next->call(body, {"{elected}:n"}, {}, dlock_in_ms(2000));
        CHECK(stale.status == DLOCK_STALE && !stale.reply);
        CHECK(next->call({}, {}, {}, dlock_in_ms(1)).status == DLOCK_INVALID);
        auto written = first->call(body, {"{elected}:n"}, {}, dlock_in_ms(10000));
        CHECK(written.status == DLOCK_OK && written.reply->integer == 1);
    } /* resigns */
    for (dlock_time end = dlock_in_ms(60000); next->now() != DLOCK_OK;)
        CHECK(!dlock_passed(end) && readable(next->fd(), 60000));
    CHECK(next->fence() > info.fence);
    auto written = next->call(body, {"{elected}:n"}, {}, dlock_in_ms(10000));
    CHECK(written.status == DLOCK_OK && written.reply->integer == 2);
    CHECK(next->resign() == DLOCK_OK && next->now() == DLOCK_CANCELLED);
    CHECK(client.new_election(std::string("cut\0off", 7)).status == DLOCK_INVALID);
}

/* A lock of several names, which only dlock.h makes. */
static void what_c_makes_is_adopted()
{
    const char *names[] = {"{adopted}:a", "{adopted}:b"};
    other other("{adopted}:b");
    dlock::hold hold;
    {
        auto client = new_client();
        dlock_lock *made = nullptr;
        CHECK(dlock_multi_new(client.get(), names, 2, nullptr, &made, nullptr, 0) == DLOCK_OK);
        dlock::lock both(made, client.share());
        dlock_hold *got = nullptr;
        CHECK(dlock_acquire(made, nullptr, &got) == DLOCK_OK);
        hold = dlock::hold(got, both.share());
    }
    CHECK(hold.held() && other.must_wait());
    CHECK(hold.release() == DLOCK_OK);
    CHECK(other.can());
}

/* ---- after fork() ---------------------------------------------------------------------------- */

/* All destructors run in the child; the parent's lock is left alone. */
static void a_child_holds_nothing()
{
    other other("fork");
    auto client = new_client();
    auto body = new_guard("return 1");
    auto lock = new_lock(client, "fork"), free = new_lock(client, "fork:free");
    auto hold = acquired(lock), second = acquired(new_lock(client, "fork:2"));
    auto latch = client.new_latch("fork:latch");
    auto pending = free.start_acquire({});
    auto leads = client.new_election("fork:leader");
    CHECK(pending && latch && leads && leads->campaign() == DLOCK_OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK(!hold.held() && hold.fence() == 0 && hold.lost_fd() == -1);
        CHECK(lock.try_acquire().status == DLOCK_FORKED);
        CHECK(client.new_lock("fork:3").status == DLOCK_FORKED);
        CHECK(second.start_release().status == DLOCK_FORKED && second.get());
        CHECK(second.release() == DLOCK_FORKED);
        CHECK(pending->finish().status == DLOCK_FORKED && pending->get());
        CHECK(leads->now() == DLOCK_FORKED && !leads->hold() && leads->fd() == -1);
        CHECK(leads->call(body, {}, {}, dlock_in_ms(1)).status == DLOCK_FORKED);
        leads = {};
        pending = {};
        hold = {};
        latch = {};
        lock = {};
        free = {};
        client = {};
        std::_Exit(0);
    }
    int ended = -1;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(hold.held() && other.must_wait() && leads->now() == DLOCK_OK);
    CHECK(hold.release() == DLOCK_OK);
    CHECK(other.can());
}

#define CASE(it)                                                                                   \
    {                                                                                              \
#it, it                                                                                    \
    }

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } cases[] = {
        CASE(the_destructor_releases),
        CASE(what_was_moved_from_is_empty),
        CASE(what_is_assigned_to_releases_what_it_had),
        CASE(owners_end_in_any_order),
        CASE(a_hold_outlives_the_lock_it_was_first_got_by),
        CASE(levels_of_a_hold_end_by_different_threads),
        CASE(a_lost_hold_tells_it),
        CASE(unknown_is_neither_yes_nor_no),
        CASE(a_wait_ends),
        CASE(what_can_not_be_made_says_why),
        CASE(words_are_any_bytes_and_the_reply_is_owned),
        CASE(pending_calls_come_to_holds),
        CASE(a_pending_call_that_is_dropped_leaves_nothing),
        CASE(a_blocking_call_runs_on_a_worker),
        CASE(a_writer_becomes_a_reader),
        CASE(a_latch_opens),
        CASE(a_candidate_leads_until_it_ends),
        CASE(what_c_makes_is_adopted),
        CASE(a_child_holds_nothing),
    };
    std::signal(SIGPIPE, SIG_IGN);
    url = argc > 2 ? argv[2] : "";
    for (const auto &it : cases)
        if (argc > 2 && !std::strcmp(argv[1], it.name)) {
            it.run();
            return 0;
        }
    return 64;
}
