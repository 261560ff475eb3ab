/*
 * test_reservations.c - the visitor's own reservation on the live page, in a real browser: it is
 * paid, it is cancelled, or its time runs out; and what is said when no answer comes.
 */
#include <stdio.h>

#include "tests/support/browser/live.h"

#define IS_OPEN  "document.querySelector('#mine').checkVisibility()"
#define HAS_TEXT "document.querySelector('%s').textContent === '%s'"
#define TERMS    "'strategy':'combined','per_user_limit':9"

static void await_saying(const char *pattern)
{
    fx_browser_await(live_browser, "document.querySelector('#said').textContent.match(/%s/)",
                     pattern);
}

/* A sale whose buyers may reserve for so long, on the first instance's page. */
static void open_sale(int stock, int reserve_max_s)
{
    fx_sell("'stock':%d," TERMS ",'reserve_max_s':%d", stock, reserve_max_s);
    live_open(fx.server[0], "/");
    live_await_number("initial", stock);
    fx_browser_await(live_browser, "document.querySelector('#reserve').checkVisibility()");
}

/* What the page and the service say is left, reserved and sold. */
static void await_numbers(int remaining, int reserved, int sold)
{
    live_await_number("remaining", remaining);
    live_await_number("reserved", reserved);
    live_await_number("sold", sold);
    assert_int_equal(fx_stock("remaining"), remaining);
    assert_int_equal(fx_stock("reserved"), reserved);
    assert_int_equal(fx_stock("sold"), sold);
}

static void reserve(void)
{
    fx_browser_click(live_browser, "#reserve");
    await_saying("^Reserved: order ");
    fx_browser_await(live_browser, IS_OPEN);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void it_is_reserved_then_paid(void **state)
{
    (void)state;
    open_sale(5, 600);
    reserve();
    await_numbers(4, 1, 0);
    fx_browser_await(live_browser,
                     "(s => s > 0 && s <= 60)(parseInt("
                     "document.querySelector('#mine-left').textContent, 10)) &&"
                     "document.querySelector('#gauge .reserved').getBBox().width === 200 &&"
                     "document.querySelector('#gauge title').textContent ==="
                     "  '0 sold and 1 reserved of 5'");
    fx_browser_click(live_browser, "#reserve"); /* one at a time */
    await_saying("^You have one reserved");
    fx_browser_click(live_browser, "#buy"); /* beside it */
    await_saying("^Bought: order ");
    await_numbers(3, 1, 1);
    fx_browser_click(live_browser, "#pay");
    await_saying("^Paid");
    await_numbers(3, 0, 2);
    fx_browser_await(live_browser, "!" IS_OPEN);
    live_clean(NULL);
}

/* By keys alone. */
static void it_is_reserved_then_cancelled(void **state)
{
    (void)state;
    open_sale(1, 600);
    fx_browser_do(live_browser, "document.querySelector('#buy').focus()");
    fx_browser_press(live_browser, KEY_TAB KEY_ENTER);
    await_saying("^Reserved: order ");
    await_numbers(0, 1, 0);
    fx_browser_await(live_browser, "document.activeElement.id === 'reserve'");
    fx_browser_press(live_browser, KEY_TAB);
    fx_browser_await(live_browser, "document.activeElement.id === 'pay'");
    fx_browser_press(live_browser, KEY_TAB KEY_ENTER);
    await_saying("^Cancelled");
    await_numbers(1, 0, 0);
    assert_true(
        fx_browser_holds(live_browser, "!" IS_OPEN " && document.activeElement.id === 'reserve'"));
    live_clean(NULL);
}

/* What the countdown shows is kept in `seen`. */
#define COUNT_SEEN                                                                                 \
    "window.seen = []; new MutationObserver(() => seen.push(parseInt("                             \
    "  document.querySelector('#mine-left').textContent, 10)))"                                    \
    "  .observe(document.querySelector('#mine-left'), {childList: true});"

static void it_is_reserved_then_over(void **state)
{
    (void)state;
    open_sale(1, 3);
    fx_browser_await(live_browser, HAS_TEXT, "#reserve", "Reserve one for 3 s");
    fx_browser_do(live_browser, COUNT_SEEN);
    fx_browser_click(live_browser, "#reserve");
    await_saying("^The reservation is over. The unit is for sale again");
    fx_browser_await(live_browser, "!" IS_OPEN " && seen.length > 0 && seen.at(-1) === 0 &&"
                                   "seen.every((s, i) => i === 0 || s < seen[i - 1])");
    await_numbers(1, 0, 0);
    assert_int_equal(fx_stock("orders"), 1);
    fx_browser_click(live_browser, "#buy");
    await_saying("^Bought: order ");
    await_numbers(0, 0, 1);
    live_clean(NULL);
}

/* ---- what else is answered ------------------------------------------------------------------- */

static void sold_out_is_not_for_good_where_some_are_reserved(void **state)
{
    (void)state;
    open_sale(2, 600);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=other&reserve_s=600");
    fx_browser_click(live_browser, "#buy");
    await_saying("^Bought: order ");
    fx_browser_click(live_browser, "#buy");
    await_saying("^Not bought, sold out for now: 1 is reserved and may come back");
    fx_browser_click(live_browser, "#reserve");
    await_saying("^Not reserved, sold out for now: 1 is reserved and may come back");
    fx_browser_await(live_browser, "!" IS_OPEN);
    live_clean(NULL);
}

/* Something happens to the page's questions: `at(address)` is asked before each. */
#define MEET(at)                                                                                   \
    "const real = fetch, to = (a, how) => a.replace(/confirm|cancel/, how), at = " at ";"          \
    "let times = 0;"                                                                               \
    "window.fetch = async (...a) => await at(a[0], a) || real(...a);"
#define LOSE_FIRST(how)                                                                            \
    MEET("async (url, a) => { if (!/" how "/.test(url) || times++ > 0) return null;"               \
         "await real(...a); throw new TypeError('lost'); }")
#define REFUSE_FIRST                                                                               \
    MEET("async url => !/confirm/.test(url) || times++ > 0 ? null : new Response("                 \
         "'{\"code\":\"busy\",\"detail\":\"nothing was done\"}', {status: 503})")

static cJSON *open_meeting(const char *script)
{
    fx_need_browser();
    cJSON *planted = fx_browser_plant(live_browser, script);
    open_sale(1, 600);
    reserve();
    return planted;
}

/* The first answer is lost on its way back, or is "not now": it is sent again. */
static void what_is_not_answered_is_sent_again(void **state)
{
    (void)state;
    static const struct {
        const char *script, *button, *first, *label, *then;
        int sold;
    } table[] = {
        {LOSE_FIRST("confirm"), "#pay", "^No answer. It may be paid, or not", "Send it again",
         "^Paid", 1},
        {LOSE_FIRST("cancel"), "#cancel", "^No answer. It may be cancelled, or not",
         "Send it again", "^Cancelled", 0},
        {REFUSE_FIRST, "#pay", "^Not paid \\(busy\\): nothing was done. You can try again", "Pay",
         "^Paid", 1},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        cJSON *planted = open_meeting(table[i].script);
        fx_browser_click(live_browser, table[i].button);
        await_saying(table[i].first);
        fx_browser_await(live_browser, IS_OPEN " && " HAS_TEXT, table[i].button, table[i].label);
        fx_browser_click(live_browser, table[i].button);
        await_saying(table[i].then);
        await_numbers(1 - table[i].sold, 0, table[i].sold);
        live_clean(NULL);
        fx_browser_weed(live_browser, planted);
    }
}

/* Another has cancelled it, or paid it, just before the button does its work. */
static void what_another_has_done_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *script, *button, *says;
    } table[] = {
        {MEET(
             "async (url, a) => { if (/confirm/.test(url)) await real(to(url, 'cancel'), a[1]); }"),
         "#pay", "^This order was cancelled before"},
        {MEET(
             "async (url, a) => { if (/cancel/.test(url)) await real(to(url, 'confirm'), a[1]); }"),
         "#cancel", "^This order is paid already"},
        {MEET("async (url, a) => { if (/confirm/.test(url)) a[0] = url.replace(/user=/, "
              "'user=not-'); }"),
         "#pay", "^The service has no such order"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        cJSON *planted = open_meeting(table[i].script);
        fx_browser_click(live_browser, table[i].button);
        await_saying(table[i].says);
        fx_browser_await(live_browser, "!" IS_OPEN);
        live_clean((const char *const[]){"/confirm", "/cancel", NULL});
        fx_browser_weed(live_browser, planted);
    }
}

/* Whatever is bought is paid at once, and not by the button: as after an answer that was lost. */
#define PAID_UNSEEN                                                                                \
    "const real = fetch; window.fetch = async (...a) => { const reply = await real(...a);"         \
    "if (/^.buy/.test(a[0])) { const {request, sale} = await reply.clone().json();"                \
    "await real(`/orders/${request}/confirm?item=P0001&sale=${sale}`, {method: 'POST'}); }"        \
    "return reply; }"

/* The button is pressed in time, and reaches the service when it is over. The page that only looks
 * hears nothing until then. */
#define PAID_TOO_LATE                                                                              \
    "const real = fetch, order = a => a[0].replace(/.confirm|&user.*/g, '');"                      \
    "const state = async a => (await (await real(order(a))).json()).state;"                        \
    "window.fetch = async (...a) => { if (!/orders/.test(a[0])) return real(...a);"                \
    "if (!/confirm/.test(a[0])) return new Promise(() => {});"                                     \
    "while (await state(a) !== 'expired'); return real(...a); };"                                  \
    "const press = setInterval(() => { const pay = document.querySelector('#pay');"                \
    "if (pay?.checkVisibility()) { clearInterval(press); pay.click(); } }, 20);"

static void the_service_says_how_it_ended(void **state)
{
    (void)state;
    static const char *const table[][2] = {{PAID_UNSEEN, "^Paid"},
                                           {PAID_TOO_LATE, "^The reservation is over"}};
    for (int i = 0; i < 2; i++) {
        fx_need_browser();
        cJSON *planted = fx_browser_plant(live_browser, table[i][0]);
        open_sale(1, 2);
        fx_browser_click(live_browser, "#reserve");
        await_saying(table[i][1]);
        await_numbers(i, 0, 1 - i);
        fx_browser_await(live_browser, "!" IS_OPEN);
        live_clean((const char *const[]){"/confirm", NULL});
        fx_browser_weed(live_browser, planted);
    }
}

/* ---- sales ----------------------------------------------------------------------------------- */

/* Fills the form, and presses its button until it does not ask any more. */
static void start_sale(const char *strategy, const char *limit, const char *reserve_s,
                       const char *pattern)
{
    live_unfold("try");
    fx_browser_choose(live_browser, "#sale-strategy", strategy);
    fx_browser_type(live_browser, "#sale-limit", limit);
    fx_browser_type(live_browser, "#sale-reserve", reserve_s);
    for (int i = 0; i < 2; i++) {
        fx_browser_do(live_browser, "document.querySelector('#sale-said').textContent = '';");
        fx_browser_click(live_browser, "#start-sale");
        fx_browser_await(live_browser, "!document.querySelector('#start-sale').disabled && "
                                       "document.querySelector('#sale-said').textContent !== ''");
        if (!fx_browser_holds(live_browser,
                              "document.querySelector('#sale-said').textContent.match(/again/)"))
            break;
    }
    fx_browser_await(live_browser, "document.querySelector('#sale-said').textContent.match(/%s/)",
                     pattern);
}

static void the_form_starts_a_sale_with_reservations(void **state)
{
    (void)state;
    fx_sell("'stock':5,'strategy':'combined'");
    live_open(fx.server[0], "/");
    live_await_number("initial", 5);
    fx_browser_await(live_browser,
                     "!document.querySelector('#reserve').checkVisibility() &&"
                     "!document.querySelector('#reserved').checkVisibility() &&"
                     "!document.querySelector('#gauge .reserved') && getComputedStyle("
                     "  document.querySelector('dt.sold'), '::before').content === 'none'");
    start_sale("combined", "0", "60", "^Not started \\(bad_sale\\): .*per_user_limit");
    start_sale("none", "2", "60", "^Not started \\(reservations_not_supported\\): ");
    start_sale("combined", "2", "60", "^Started: sale ");
    fx_browser_await(live_browser, "document.querySelector('#reserve').checkVisibility() &&"
                                   "document.querySelector('#reserved').checkVisibility()");
    live_clean((const char *const[]){"/sales", NULL});
}

/* Nothing is left, but what is reserved would come back: it takes the second press. */
static void a_sale_with_reserved_units_is_not_closed_at_once(void **state)
{
    (void)state;
    char before[64];
    open_sale(1, 600);
    snprintf(before, sizeof(before), "%s", fx_current_sale("P0001"));
    reserve();
    live_unfold("try");
    fx_browser_click(live_browser, "#start-sale");
    fx_browser_await(live_browser, "document.querySelector('#sale-said').textContent.includes("
                                   "'0 left, 1 reserved. Press again')");
    assert_string_equal(fx_current_sale("P0001"), before);
    fx_browser_await(live_browser, "!document.querySelector('#start-sale').disabled");
    fx_browser_click(live_browser, "#start-sale");
    fx_browser_await(live_browser, "document.querySelector('#sale-said').textContent.match("
                                   "/^Started: sale /)");
    fx_browser_click(live_browser, "#pay"); /* in the sale before */
    await_saying("^Paid");
    live_clean(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_reserved_then_paid),
        cmocka_unit_test(it_is_reserved_then_cancelled),
        cmocka_unit_test(it_is_reserved_then_over),
        cmocka_unit_test(sold_out_is_not_for_good_where_some_are_reserved),
        cmocka_unit_test(what_is_not_answered_is_sent_again),
        cmocka_unit_test(what_another_has_done_is_told),
        cmocka_unit_test(the_service_says_how_it_ended),
        cmocka_unit_test(the_form_starts_a_sale_with_reservations),
        cmocka_unit_test(a_sale_with_reserved_units_is_not_closed_at_once),
    };
    return live_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001));
}
