/*
 * test_live_page.c - the live page over a sale of three instances, in a real browser: it shows what
 * is, says when it does not know, asks nobody else, and costs the sale nothing. What can be tried
 * on it is test_try_it.c's.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/browser/live.h"
#include "tests/support/feed.h"
#include "tests/support/patience.h"

/* What the browser says of an instance that is away, or does not know its Redis yet. */
static const char *const outage[] = {"net::ERR_", "status of 503", NULL};

/* The instances: where they listen, also after they were started again, and what they call
 * themselves. */
static struct {
    char address[64], name[64];
} member[FX_INSTANCES];

static int setup(void **state)
{
    fx.plan = (fx_plan){.instances = 3, .args = FX_ARGS(FX_P0001, "--demo", "yes")};
    live_start(state);
    for (int i = 0; i < FX_INSTANCES; i++) {
        const char *url = fx_server_url(fx.server[i]);
        snprintf(member[i].address, sizeof(member[i].address), "%s", url + strlen("http://"));
        fx_copy_member(fx_expect(fx.server[i], 200, "GET /dashboard"), "instance", member[i].name,
                       sizeof(member[i].name));
    }
    return 0;
}

/* ---- the sale -------------------------------------------------------------------------------- */

static void it_shows_the_sale_as_it_is(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    fx_sell("'stock':100,'strategy':'%s'", "combined");
    for (int i = 0; i < 7; i++)
        fx_expect(fx.server[i % 3], 201, "POST /buy?item=P0001&user=u%d&quantity=3", i);
    live_await_agreement("P0001");
    assert_int_equal(live_number("sold"), 21);
    assert_int_equal(live_number("remaining"), 79);
    fx_browser_await(live_browser,
                     "document.getElementById('strategy-now').textContent === 'combined'");
    fx_browser_await(live_browser,
                     "document.querySelectorAll('#latest tbody tr').length === 7 &&"
                     "/^%s-[0-9a-f]{12}-7$/.test("
                     "document.querySelector('#latest tbody td').textContent)",
                     fx_current_sale("P0001"));
    assert_true(
        fx_browser_holds(live_browser, "!document.querySelector('#oversold').matches('.bad')"));
    live_clean(NULL);
}

static void what_is_oversold_stands_out(void **state)
{
    (void)state;
    int code;
    live_open(fx.server[0], "/");
    cJSON *result = fx_loadtest(FX_ARGS("run", "--strategy", "none", "--stock", "300", "--requests",
                                        "1500", "--users", "100"),
                                60000, &code);
    assert_int_equal(code, 0);
    cJSON_Delete(result);
    assert_true(fx_stock("oversold") > 0);
    live_await_agreement("P0001");
    assert_int_equal(live_number("oversold"), fx_stock("oversold"));
    assert_true(
        fx_browser_holds(live_browser, "document.querySelector('#oversold').matches('.bad')"));
    live_clean(NULL);
}

/* While somebody looks, the sale is as safe as ever. */
static void nothing_is_lost_while_it_is_open(void **state)
{
    (void)state;
    int code;
    live_open(fx.server[0], "/");
    cJSON *result =
        fx_loadtest(FX_ARGS("run", "--strategy", "combined", "--stock", "1000", "--requests",
                            "3000", "--users", "100", "--wait-ms", "30000"),
                    60000, &code);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(result, "runs"), 0);
    assert_int_equal(code, 0);
    assert_string_equal(fx_json_text(row, "verdict"), "SAFE");
    cJSON_Delete(result);
    live_await_agreement("P0001");
    assert_int_equal(live_number("sold"), 1000);
    assert_int_equal(live_number("oversold"), 0);
    live_clean(NULL);
}

static void await_database(const char *words)
{
    fx_browser_await(live_browser, "document.getElementById('database').textContent.match(/%s/)",
                     words);
}

static void it_shows_how_far_the_database_is(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    const char *sale = fx_sell("'stock':100,'strategy':'combined'");
    live_await_agreement("P0001");
    await_database("^$");
    fx_feed_leave("P0001", sale, 12340, 25, 0);
    await_database("^Database: 12,340 orders, 25 behind$");
    fx_feed_leave("P0001", sale, 12365, 0, 0);
    await_database("^Database: 12,365 orders, none behind");
    fx_feed_leave("P0001", sale, 12365, 99, 40);
    await_database("^Database: 12,365 orders, 99 behind; it has not asked for 4[0-9] s$");
    fx_feed_remove();
    fx_sell("'stock':50,'strategy':'combined'"); /* it has not asked about this one */
    await_database("^$");
    live_clean(NULL);
}

/* ---- the lock -------------------------------------------------------------------------------- */

static void *buy_one(void *server)
{
    fx_status(server, "POST /buy?item=P0001&user=u1");
    return NULL;
}

static long long fence_of_lock(void)
{
    long long fence = 0;
    const cJSON *each;
    cJSON *answer = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /locks"));
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "locks")) {
        if (strcmp(fx_json_text(each, "sale"), fx_current_sale("P0001")) == 0)
            fence = (long long)fx_json_number(each, "fence");
    }
    cJSON_Delete(answer);
    assert_true(fence > 0);
    return fence;
}

static void it_shows_who_has_the_lock(void **state)
{
    (void)state;
    pthread_t holder, waiter;
    live_open(fx.server[0], "/");
    fx_sell("'stock':9,'strategy':'fair','hold_ms':4000");
    pthread_create(&holder, NULL, buy_one, fx.server[1]);
    fx_browser_await(live_browser,
                     "document.getElementById('lock-holder').textContent.includes('%s')",
                     member[1].name);
    fx_browser_await(live_browser, "document.getElementById('lock-fence').textContent === '%lld'",
                     fence_of_lock());
    pthread_create(&waiter, NULL, buy_one, fx.server[2]);
    live_await_number("lock-waiting", 1);
    pthread_join(holder, NULL);
    fx_browser_await(live_browser,
                     "document.getElementById('lock-holder').textContent.includes('%s')",
                     member[2].name);
    pthread_join(waiter, NULL);
    live_await_number("sold", 2);
    live_clean(NULL);
}

/* ---- a holder that stands still -------------------------------------------------------------- */

static void await_story(const char *pattern)
{
    fx_browser_await(live_browser, "document.getElementById('stop-said').textContent.match(/%s/)",
                     pattern);
}

/* Starts a sale, lets `at` hold its lock, and presses the button. Its fence. */
static long long stop_holder(int at, pthread_t *buyer)
{
    fx_sell("'stock':9,'strategy':'fair','hold_ms':8000,'wait_ms':30000,'lease_ms':%d",
            fx_lease_ms(2000));
    pthread_create(buyer, NULL, buy_one, fx.server[at]);
    fx_browser_await(live_browser,
                     "document.getElementById('lock-holder').textContent.includes('%s')",
                     member[at].name);
    long long fence = fence_of_lock();
    fx_browser_click(live_browser, "#stop-holder");
    return fence;
}

static void it_shows_who_gets_the_lock_of_a_stopped_holder(void **state)
{
    (void)state;
    pthread_t holder, waiter;
    char pattern[256];
    live_open(fx.server[0], "/");
    fx_sell("'stock':9,'strategy':'fair'");
    fx_browser_click(live_browser, "#stop-holder");
    await_story("^Not stopped: nobody holds the lock now;");
    long long fence = stop_holder(1, &holder);
    snprintf(pattern, sizeof(pattern),
             "^%s held the lock .fence %lld. and is stopped for 15 s. Nobody else has it yet.$",
             member[1].name, fence);
    await_story(pattern);
    assert_true(fx_browser_holds(live_browser, "document.getElementById('stop-holder').ariaDisabled"
                                               " === 'true'"));
    pthread_create(&waiter, NULL, buy_one, fx.server[2]);
    snprintf(pattern, sizeof(pattern), "%s got it .fence [0-9]+., seen after [0-9,]+ ms.$",
             member[2].name);
    await_story(pattern);
    assert_true(fx_browser_number(live_browser,
                                  "return Number(document.getElementById('stop-said').textContent"
                                  ".match(/got it .fence ([0-9]+)/)[1])") > (double)fence);
    pthread_join(waiter, NULL);
    await_story("was stopped for 15 s");
    pthread_join(holder, NULL);
    live_clean((const char *const[]){"/locks/stop", NULL}); /* 409 */
}

/* The page is the holder's own, and nobody waits. */
static void it_shows_that_nobody_wanted_the_lock(void **state)
{
    (void)state;
    pthread_t holder;
    char pattern[256];
    live_open(fx.server[0], "/");
    long long fence = stop_holder(0, &holder);
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'off'");
    snprintf(pattern, sizeof(pattern),
             "^%s held the lock .fence %lld. and was stopped for 15 s, so this page was, too. "
             "Nobody else wanted it.$",
             member[0].name, fence);
    await_story(pattern);
    fx_browser_await(live_browser, "!document.getElementById('stop-holder').ariaDisabled");
    pthread_join(holder, NULL);
    live_clean(outage);
}

/* ---- instances ------------------------------------------------------------------------------- */

static void await_state(const char *name, const char *wanted)
{
    fx_browser_await(
        live_browser,
        "document.querySelector('#instances [data-instance=\"%s\"]')?.dataset.state === '%s'", name,
        wanted);
}

static void kill_instance(int i)
{
    fx_server_kill(fx.server[i]);
    fx.server[i] = NULL;
}

/* Starts an instance where it was. */
static void start_again(int i)
{
    fx.server[i] = fx_server_start(fx_redis_url(fx.redis),
                                   FX_ARGS("--listen", member[i].address, "--drain-delay", "5"));
}

static void a_killed_instance_is_down_and_comes_back(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    for (int i = 0; i < 3; i++)
        await_state(member[i].name, "up");
    kill_instance(2);
    await_state(member[2].name, "down");
    await_state(member[1].name, "up");
    start_again(2);
    await_state(member[2].name, "up");
    live_clean(NULL);
}

static void one_that_drains_is_shown_to(void **state)
{
    (void)state;
    kill_instance(2);
    start_again(2);
    live_open(fx.server[0], "/");
    await_state(member[2].name, "up");
    fx_server_signal(fx.server[2], SIGTERM);
    await_state(member[2].name, "draining");
    await_state(member[2].name, "down");
    kill_instance(2);
    start_again(2);
    await_state(member[2].name, "up");
    live_clean(NULL);
}

static void it_says_when_its_own_instance_is_gone(void **state)
{
    (void)state;
    char other[128];
    live_open(fx.server[1], "/");
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'on'");
    await_state(member[0].name, "up");
    kill_instance(1);
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'off'");
    snprintf(other, sizeof(other), "%s/", fx_server_url(fx.server[0]));
    fx_browser_await(
        live_browser,
        "[...document.links].some(a => a.checkVisibility() && a.href.startsWith('%s'))", other);
    start_again(1);
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'on'");
    await_state(member[1].name, "up");
    live_clean(outage);
}

static void it_says_when_its_own_instance_hangs(void **state)
{
    (void)state;
    live_open(fx.server[1], "/");
    fx_server_signal(fx.server[1], SIGSTOP);
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'off'");
    fx_server_signal(fx.server[1], SIGCONT);
    fx_browser_await(live_browser, "document.documentElement.dataset.live === 'on'");
    live_clean(outage);
}

static void it_says_when_redis_is_gone(void **state)
{
    (void)state;
    fx_only_single("it is stopped");
    live_open(fx.server[0], "/");
    fx_redis_signal(fx.redis, SIGSTOP);
    fx_browser_await(live_browser,
                     "/shown is ([3-9]|[1-9][0-9]+) s old/.test(document.body.innerText)");
    fx_redis_signal(fx.redis, SIGCONT);
    fx_browser_await(live_browser, "!/Redis does not answer/.test(document.body.innerText)");
    live_clean(NULL);
}

/* ---- what it asks ---------------------------------------------------------------------------- */

/* Counts what the page is told, on the stream and on question. */
#define COUNTING                                                                                   \
    "window.told = window.questions = 0;"                                                          \
    "const Real = EventSource, real = fetch;"                                                      \
    "window.EventSource = class extends Real { constructor(url) { super(url);"                     \
    "  this.addEventListener('message', () => { window.told++; }); } };"                           \
    "window.fetch = (url, more) => { window.questions += /^.dashboard/.test(url);"                 \
    "  return real(url, more); };"

static int told_in(int ms)
{
    static const char so_far[] = "return window.told + window.questions";
    int before = (int)fx_browser_number(live_browser, so_far);
    fx_let_pass(ms);
    return (int)fx_browser_number(live_browser, so_far) - before;
}

static void hide(bool hidden)
{
    fx_browser_do(live_browser,
                  "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
                  "document.dispatchEvent(new Event('visibilitychange'));",
                  hidden ? "true" : "false");
}

static void it_is_told_twice_a_second_and_nothing_unseen(void **state)
{
    (void)state;
    fx_need_browser();
    cJSON *planted = fx_browser_plant(live_browser, COUNTING);
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "window.told >= 2");
    assert_in_range(told_in(3000), 2, 8);
    hide(true);
    told_in(500); /* one may be under way */
    assert_int_equal(told_in(1500), 0);
    hide(false);
    fx_browser_await(live_browser, "window.told >= 9");
    assert_true(fx_browser_holds(live_browser, "window.questions <= 2")); /* once, and once again */
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
}

/* Where nothing tells by itself it asks, as behind a proxy that keeps streams back. */
static void it_asks_where_there_is_no_stream(void **state)
{
    (void)state;
    fx_need_browser();
    cJSON *planted =
        fx_browser_plant(live_browser, COUNTING "window.EventSource = class { close() {} };");
    live_open(fx.server[0], "/");
    int sold = live_number("sold");
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1");
    live_await_number("sold", sold + 1);
    fx_browser_await(live_browser, "window.questions >= 3 && window.told === 0");
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
}

static bool is_noticed(void *arg)
{
    (void)arg;
    char *complaints = live_complaints(NULL);
    bool noticed = complaints[0] != '\0';
    free(complaints);
    return noticed;
}

/* Its policy lets it, and whatever comes into it, ask nobody else and run nothing else. */
static void what_is_not_its_own_is_noticed(void **state)
{
    (void)state;
    static const char *const plants[] = {
        "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/far.png'}))",
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color:red\">planted</p>')",
        "document.body.append(Object.assign(document.createElement('script'), {text: '0'}))",
        "setTimeout(() => { nosuch.thing(); })",
        "fetch('/nosuch')",
    };
    for (size_t i = 0; i < COUNT(plants); i++) {
        live_open(fx.server[0], "/");
        live_clean(NULL);
        fx_browser_do(live_browser, "%s;", plants[i]);
        if (!fx_wait_until(is_noticed, NULL, BROWSER_MS))
            fail_msg("nobody complained about %s", plants[i]);
    }
}

/* ---- texts from elsewhere -------------------------------------------------------------------- */

#define MARKUP "<img src=x onerror=window.planted=1>"

/* Every text of the document that the page is drawn from becomes markup. */
static void texts_are_shown_as_texts(void **state)
{
    (void)state;
    static const char lie[] =
        "window.EventSource = class { close() {} };" /* it asks, then */
        "const real = window.fetch, kept = ['state', 'redis', 'admin'];"
        "const each = (object, make) => Object.fromEntries(Object.entries(object).map(make));"
        "const plant = v => typeof v === 'string' ? v + '" MARKUP "' : Array.isArray(v) ?"
        "  v.map(plant) : v && typeof v === 'object' ? each(v, ([k, x]) => [k, kept.includes(k) ? "
        "x :"
        "  k === 'outcomes' ? each(x, ([name, n]) => [plant(name), n]) : plant(x)]) : v;"
        "window.fetch = async (...args) => {"
        "  const reply = await real(...args);"
        "  if (!/dashboard|strategies|stale/.test(args[0])) return reply;"
        "  return new Response(JSON.stringify(plant(await reply.json())), {status: reply.status});"
        "};";
    fx_need_browser();
    cJSON *planted = fx_browser_plant(live_browser, lie);
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "document.body.innerText.includes('" MARKUP "')");
    assert_true(
        fx_browser_holds(live_browser, "!document.querySelector('img') && !window.planted"));
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
    live_open(fx.server[0], "/?item=%3Cimg%20src=x%20onerror=window.planted=1%3E");
    fx_browser_await(live_browser, "document.body.innerText.includes('" MARKUP "')");
    assert_true(
        fx_browser_holds(live_browser, "!document.querySelector('img') && !window.planted"));
    live_clean((const char *const[]){"/dashboard?item=", NULL}); /* 400: there is no such name */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_shows_the_sale_as_it_is),
        cmocka_unit_test(it_shows_how_far_the_database_is),
        cmocka_unit_test(what_is_oversold_stands_out),
        cmocka_unit_test(nothing_is_lost_while_it_is_open),
        cmocka_unit_test(it_shows_who_has_the_lock),
        cmocka_unit_test(it_shows_who_gets_the_lock_of_a_stopped_holder),
        cmocka_unit_test(it_shows_that_nobody_wanted_the_lock),
        cmocka_unit_test(a_killed_instance_is_down_and_comes_back),
        cmocka_unit_test(one_that_drains_is_shown_to),
        cmocka_unit_test(it_says_when_its_own_instance_is_gone),
        cmocka_unit_test(it_says_when_its_own_instance_hangs),
        cmocka_unit_test(it_says_when_redis_is_gone),
        cmocka_unit_test(it_is_told_twice_a_second_and_nothing_unseen),
        cmocka_unit_test(it_asks_where_there_is_no_stream),
        cmocka_unit_test(what_is_not_its_own_is_noticed),
        cmocka_unit_test(texts_are_shown_as_texts),
    };
    return cmocka_run_group_tests(tests, setup, live_stop);
}
