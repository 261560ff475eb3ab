/*
 * test_try_it.c - what can be tried on the live page, done in a real browser by its own buttons: to
 * buy, to start a sale unlocked and locked, to send a crowd, to see the stale write. What the page
 * says is held to what the service has on its books.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/browser/live.h"

enum { STOCK = 60, BUYERS = 150, TRIES = 5 };

/* Whether an element's text contains these words. */
#define SAYS "document.querySelector('%s').textContent.includes('%s')"

static bool has_said(void *words)
{
    return fx_browser_holds(live_browser, "document.querySelector('%s').textContent.match(/%s/)",
                            ((const char **)words)[0], ((const char **)words)[1]);
}

/* Waits for longer than the browser is given for one answer: a crowd takes its time. */
static void await_saying(const char *selector, const char *pattern)
{
    const char *words[] = {selector, pattern};
    if (!fx_wait_until(has_said, (void *)words, 3 * BROWSER_MS))
        fail_msg("%s does not say %s: %s", selector, pattern,
                 fx_browser_text(live_browser, "return document.querySelector('%s').textContent",
                                 selector));
}

/* ---- buying ---------------------------------------------------------------------------------- */

static void the_button_buys_one(void **state)
{
    (void)state;
    fx_sell("'stock':2,'strategy':'combined'");
    live_open(fx.server[0], "/");
    fx_browser_click(live_browser, "#buy");
    await_saying("#said", "^Bought: order ");
    live_await_number("sold", 1);
    assert_int_equal(fx_stock("orders"), 1);
    fx_browser_click(live_browser, "#buy");
    live_await_number("sold", 2);
    await_saying("#said", "^Bought: order .*-2,");
    fx_browser_click(live_browser, "#buy");
    await_saying("#said", "^Not bought .*sold.out");
    live_await_agreement("P0001");
    assert_int_equal(fx_stock("orders"), 2);
    live_clean(NULL);
}

/* The answer to every buy is lost: on its way back; or the question on its way there, or it comes
 * there late, when the page has been told "no such order so far". */
static void an_answer_that_is_lost_is_neither_yes_nor_no(void **state)
{
    (void)state;
    static const struct {
        const char *script, *first, *then;
        int orders;
    } table[] = {
        {"const real = fetch; window.fetch = async (...a) => { const reply = await real(...a);"
         "if (/^.buy/.test(a[0])) throw new TypeError('lost'); return reply; }",
         "unknown|Bought", "^Bought: order ", 1},
        {"const real = fetch; window.fetch = async (...a) => {"
         "if (/^.buy/.test(a[0])) throw new TypeError('lost'); return real(...a); }",
         "unknown", "^Not bought: no answer came", 0},
        {"const real = fetch; window.fetch = async (...a) => { if (!/^.buy/.test(a[0]))"
         "return real(...a); setTimeout(() => real(...a), 1500); throw new TypeError('lost'); }",
         "unknown", "^Bought: order ", 1},
    };
    for (int i = 0; i < 3; i++) {
        fx_sell("'stock':5,'strategy':'combined','wait_ms':1000");
        fx_need_browser();
        cJSON *planted = fx_browser_plant(live_browser, table[i].script);
        live_open(fx.server[0], "/");
        fx_browser_click(live_browser, "#buy");
        await_saying("#said", table[i].first);
        await_saying("#said", table[i].then);
        assert_int_equal(fx_stock("orders"), table[i].orders);
        live_clean((const char *const[]){"/orders/", NULL}); /* 404: not yet */
        fx_browser_weed(live_browser, planted);
    }
}

/* ---- sales ----------------------------------------------------------------------------------- */

/* Presses the button of the form, and again while it asks whether the sale that runs may end. */
static void press_start(void)
{
    bool asked = true;
    for (int i = 0; asked && i < TRIES; i++) {
        fx_browser_do(live_browser, "document.querySelector('#sale-said').textContent = '';");
        fx_browser_click(live_browser, "#start-sale");
        fx_browser_await(live_browser, "!document.querySelector('#start-sale').disabled && "
                                       "document.querySelector('#sale-said').textContent !== ''");
        asked = fx_browser_holds(live_browser, SAYS, "#sale-said", "Press again");
    }
    await_saying("#sale-said", "^Started: sale ");
}

/* Starts a sale of P0001 by the form. */
static void start_sale(const char *strategy, int stock, int hold_ms)
{
    char old[64], number[16];
    snprintf(old, sizeof(old), "%s", fx_current_sale("P0001"));
    live_unfold("try");
    fx_browser_choose(live_browser, "#sale-strategy", strategy);
    snprintf(number, sizeof(number), "%d", stock);
    fx_browser_type(live_browser, "#sale-stock", number);
    snprintf(number, sizeof(number), "%d", hold_ms);
    fx_browser_type(live_browser, "#sale-hold", number);
    press_start();
    fx_browser_await(live_browser, SAYS, "#strategy-now", strategy);
    live_await_number("initial", stock);
    live_await_number("sold", 0);
    assert_string_not_equal(fx_current_sale("P0001"), old);
}

static void send_buyers(int buyers)
{
    char number[16];
    live_unfold("try");
    snprintf(number, sizeof(number), "%d", buyers);
    fx_browser_do(live_browser, "document.querySelector('#burst-said').textContent = '';");
    fx_browser_type(live_browser, "#burst-buyers", number);
    fx_browser_click(live_browser, "#start-burst");
    await_saying("#burst-said", "buyers in .* s: ");
    live_await_agreement("P0001");
}

/* The page has one origin, and five connections: without a lock they may meet, or not. */
static void unlocked_it_oversells_and_locked_it_does_not(void **state)
{
    (void)state;
    fx_sell("'stock':5,'strategy':'atomic'");
    live_open(fx.server[0], "/");
    for (int i = 0; i == 0 || (live_number("oversold") == 0 && i < TRIES); i++) {
        start_sale("none", STOCK, 0);
        send_buyers(BUYERS);
    }
    assert_true(live_number("oversold") > 0);
    assert_true(fx_stock("oversold") > 0);
    assert_true(
        fx_browser_holds(live_browser, "document.querySelector('#oversold').matches('.bad')"));

    start_sale("combined", STOCK, 1);
    send_buyers(BUYERS);
    assert_int_equal(live_number("sold"), STOCK);
    assert_int_equal(live_number("oversold"), 0);
    assert_int_equal(fx_stock("oversold"), 0);
    assert_int_equal(fx_stock("orders"), STOCK);
    assert_true(
        fx_browser_holds(live_browser, "!document.querySelector('#oversold').matches('.bad')"));
    live_clean(NULL);
}

static bool is_compared(void *arg)
{
    (void)arg;
    return fx_browser_holds(live_browser,
                            "document.querySelector('#verdict').dataset.oversoldLocked");
}

static void the_comparison_says_who_oversold(void **state)
{
    (void)state;
    char before[64];
    snprintf(before, sizeof(before), "%s", fx_sell("'stock':5,'strategy':'atomic'"));
    live_open(fx.server[0], "/");
    int unlocked = 0;
    for (int i = 0; i < TRIES && unlocked == 0; i++) {
        fx_browser_do(live_browser,
                      "delete document.querySelector('#verdict').dataset.oversoldLocked");
        fx_browser_click(live_browser, "#compare");
        assert_true(fx_wait_until(is_compared, NULL, 3 * BROWSER_MS));
        unlocked = (int)fx_browser_number(
            live_browser,
            "return Number(document.querySelector('#verdict').dataset.oversoldUnlocked)");
    }
    assert_true(unlocked > 0);
    assert_true(fx_browser_holds(
        live_browser, "document.querySelector('#verdict').dataset.oversoldLocked === '0'"));
    await_saying("#verdict", "none: OVERSOLD by [0-9,]+\\.[^]*combined: nothing oversold");
    live_await_number("unlocked-oversold", unlocked);
    await_saying("#locked-oversold", "^0$");
    fx_browser_await(live_browser, "document.querySelector('#unlocked-curve svg path') &&"
                                   "document.querySelector('#locked-curve svg path')");
    assert_string_equal(fx_current_sale("P0001"), before); /* it has an item of its own */
    live_clean(NULL);
}

/* A comparison of five buyers of five units, in which the page meets something. */
static void compare_meeting(const char *script, const char *says, const char *oversold_locked)
{
    fx_need_browser();
    cJSON *planted = fx_browser_plant(live_browser, script);
    live_open(fx.server[0], "/");
    fx_browser_type(live_browser, "#compare-stock", "5");
    fx_browser_type(live_browser, "#compare-buyers", "5");
    fx_browser_click(live_browser, "#compare");
    assert_true(fx_wait_until(is_compared, NULL, 3 * BROWSER_MS));
    await_saying("#verdict", says);
    assert_true(fx_browser_holds(
        live_browser, "document.querySelector('#verdict').dataset.oversoldLocked === '%s'",
        oversold_locked));
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
}

/* "Nothing oversold" takes books that can be read, that have what was told, and no stock left for
 * those who were refused. */
static void a_comparison_that_proves_nothing_says_so(void **state)
{
    (void)state;
    fx_sell("'stock':5,'strategy':'atomic'");
    compare_meeting("const real = fetch; window.fetch = async (...a) => {"
                    "if (/^.stock/.test(a[0])) throw new TypeError('lost'); return real(...a); }",
                    "combined: not certain", "unknown");
    compare_meeting("const real = fetch; window.fetch = async (...a) => /^.buy/.test(a[0])"
                    "? new Response('{\"code\":\"busy\"}', {status: 503}) : real(...a);",
                    "combined: 5 units are left, though 5 buyers were refused", "0");
    compare_meeting("const real = fetch; window.fetch = async (...a) => /^.buy/.test(a[0])"
                    "? new Response('{\"remaining\":1}', {status: 201}) : real(...a);",
                    "combined: 5 units that were told as sold are in no order", "0");
}

/* Which may be running all the same: it takes the second press. */
static void a_sale_that_can_not_be_read_is_not_closed_at_once(void **state)
{
    (void)state;
    char before[64];
    snprintf(before, sizeof(before), "%s", fx_sell("'stock':5,'strategy':'atomic'"));
    fx_need_browser();
    cJSON *planted = fx_browser_plant(
        live_browser,
        "const real = fetch; window.fetch = async (...a) => {"
        "if (/^.stock/.test(a[0])) throw new TypeError('lost'); return real(...a); }");
    live_open(fx.server[0], "/");
    live_unfold("try");
    fx_browser_click(live_browser, "#start-sale");
    await_saying("#sale-said", "could not be read. Press again");
    assert_string_equal(fx_current_sale("P0001"), before);
    fx_browser_await(live_browser, "!document.querySelector('#start-sale').disabled");
    fx_browser_click(live_browser, "#start-sale");
    await_saying("#sale-said", "^Started: sale ");
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
}

/* ---- what is explained ----------------------------------------------------------------------- */

static void a_strategy_is_explained_as_the_service_does(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    live_unfold("try");
    const cJSON *each;
    cJSON *answer = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /strategies"));
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "strategies")) {
        const char *const members[] = {"name", "source", "weakness"};
        fx_browser_choose(live_browser, "#sale-strategy", fx_json_text(each, "name"));
        for (int i = 0; i < 3; i++) {
            cJSON *quoted = cJSON_CreateString(fx_json_text(each, members[i]));
            char *text = cJSON_PrintUnformatted(quoted);
            fx_browser_await(live_browser,
                             "document.querySelector('#explain').textContent.includes(%s)", text);
            free(text);
            cJSON_Delete(quoted);
        }
    }
    cJSON_Delete(answer);
    live_clean(NULL);
}

/* The whole of a record at first; then each of its steps, one a press; and what it comes to. */
static void the_stale_write_is_shown_step_by_step(void **state)
{
    (void)state;
    cJSON *record = fx_json_file("server/page/stale.json");
    assert_non_null(record);
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(record, "runs"), *each, *step;
    int n = 0;
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "document.querySelectorAll('#stale-run option').length === 2");
    cJSON_ArrayForEach(each, runs) {
        fx_browser_do(live_browser,
                      "const s = document.querySelector('#stale-run'); s.selectedIndex = %d;"
                      "s.dispatchEvent(new Event('change'));",
                      n++);
        fx_browser_await(live_browser,
                         SAYS " && document.querySelectorAll('#stale-steps li').length === %d",
                         "#stale-verdict", fx_json_text(each, "verdict"),
                         cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(each, "steps")));
        fx_browser_click(live_browser, "#stale-reset");
        assert_true(fx_browser_holds(live_browser, "!(" SAYS ")", "#stale-verdict",
                                     fx_json_text(each, "verdict")));
        int steps = 0;
        cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(each, "steps")) {
            assert_true(fx_browser_holds(
                live_browser, "document.querySelectorAll('#stale-steps li').length === %d",
                steps++));
            fx_browser_click(live_browser, "#stale-step");
            fx_browser_await(live_browser,
                             "document.querySelector('#stale-steps li:last-child').dataset.does"
                             " === '%s' && document.querySelector('#stale-orders').textContent"
                             " === '%d'",
                             fx_json_text(step, "does"), (int)fx_json_number(step, "orders"));
        }
        fx_browser_await(live_browser, SAYS, "#stale-verdict", fx_json_text(each, "verdict"));
    }
    fx_browser_click(live_browser, "#stale-reset");
    fx_browser_click(live_browser, "#stale-play");
    fx_browser_await(live_browser, "document.querySelectorAll('#stale-steps li').length >= 2");
    cJSON_Delete(record);
    live_clean(NULL);
}

/* ---- without a mouse ------------------------------------------------------------------------- */

enum { TABS_MOST = 60 };

/* Presses Tab until an element has the focus, which must then be seen to have it. */
static void tab_to(const char *id)
{
    fx_browser_do(live_browser, "document.activeElement.blur(); scrollTo(0, 0);");
    for (int i = 0; i < TABS_MOST; i++) {
        fx_browser_press(live_browser, KEY_TAB);
        if (fx_browser_holds(live_browser, "document.activeElement.id === '%s'", id)) {
            assert_true(fx_browser_holds(
                live_browser, "(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0)"
                              "(getComputedStyle(document.activeElement))"));
            return;
        }
    }
    fail_msg("%d times Tab do not lead to #%s", TABS_MOST, id);
}

static void all_can_be_done_by_keys_alone(void **state)
{
    (void)state;
    static const char *const others[] = {"start-burst", "compare", "stale-step", "stale-run"};
    fx_sell("'stock':9,'strategy':'combined'");
    live_open(fx.server[0], "/");
    live_await_number("initial", 9);
    tab_to("buy");
    fx_browser_press(live_browser, KEY_ENTER);
    live_await_number("sold", 1);
    fx_browser_await(live_browser, "document.activeElement.id === 'buy'");
    fx_browser_do(live_browser, "document.querySelector('#try > summary').id = 'unfold';");
    tab_to("unfold");
    fx_browser_press(live_browser, KEY_ENTER);
    fx_browser_await(live_browser, "document.querySelector('#try').open");
    tab_to("sale-stock");
    fx_browser_press(live_browser, "77");
    tab_to("start-sale");
    fx_browser_press(live_browser, KEY_ENTER); /* asks first: there is stock left */
    await_saying("#sale-said", "Press again");
    fx_browser_await(live_browser, "document.activeElement.id === 'start-sale'");
    fx_browser_press(live_browser, KEY_SPACE);
    live_await_number("initial", 77);
    for (size_t i = 0; i < COUNT(others); i++)
        tab_to(others[i]);
    live_clean(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_button_buys_one),
        cmocka_unit_test(an_answer_that_is_lost_is_neither_yes_nor_no),
        cmocka_unit_test(unlocked_it_oversells_and_locked_it_does_not),
        cmocka_unit_test(the_comparison_says_who_oversold),
        cmocka_unit_test(a_comparison_that_proves_nothing_says_so),
        cmocka_unit_test(a_sale_that_can_not_be_read_is_not_closed_at_once),
        cmocka_unit_test(a_strategy_is_explained_as_the_service_does),
        cmocka_unit_test(the_stale_write_is_shown_step_by_step),
        cmocka_unit_test(all_can_be_done_by_keys_alone),
    };
    return live_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001));
}
