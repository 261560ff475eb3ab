/*
 * test_looks.c - the live page for everybody: wide and narrow, by day and by night, seen or read
 * out. FX_PICTURES names a directory where its pictures are kept; `make pictures` sets it.
 */

#include "tests/support/browser/live.h"

static const struct {
    const char *name, *colours;
    int width, height;
} looks[] = {
    {"desktop", "light", 1280, 900},  {"dark", "dark", 1280, 900},    {"phone", "light", 375, 812},
    {"phone-dark", "dark", 375, 812}, {"tablet", "light", 768, 1024}, {"wide", "light", 1920, 1080},
};

#define LOOKS (COUNT(looks))

static void look(size_t i)
{
    fx_browser_resize(live_browser, looks[i].width, looks[i].height);
    fx_browser_prefer(live_browser, looks[i].colours);
}

/* A sale that everything on the page has something to show of. */
static void sell_something(void)
{
    int code;
    cJSON_Delete(fx_loadtest(FX_ARGS("run", "--strategy", "combined", "--stock", "1000",
                                     "--requests", "700", "--users", "50"),
                             60000, &code));
    assert_int_equal(code, 0);
    live_await_number("sold", 700);
}

static void unfold(void)
{
    live_unfold("orders");
    live_unfold("try");
}

/* A page with a reservation that can be paid or cancelled. */
static void reserve_something(void)
{
    fx_sell("'stock':9,'strategy':'combined','per_user_limit':1,'reserve_max_s':600");
    live_open(fx.server[0], "/");
    fx_browser_await(live_browser, "document.querySelector('#reserve').checkVisibility()");
    fx_browser_click(live_browser, "#reserve");
    fx_browser_await(live_browser, "document.querySelector('#mine').checkVisibility() &&"
                                   "document.querySelector('#gauge .reserved')");
}

static void assert_nothing_cut_off(void)
{
    for (size_t i = 0; i < LOOKS; i++) {
        look(i);
        fx_browser_await(live_browser, "document.documentElement.clientWidth === %d",
                         looks[i].width);
        const char *wide = fx_browser_text(
            live_browser,
            "const edge = document.documentElement.clientWidth;"
            "if (document.documentElement.scrollWidth > edge) return 'the page';"
            "const out = [...document.body.querySelectorAll('main *, header *, footer *')].find(e "
            "=>"
            "  e.checkVisibility() && !e.closest('svg') && e.getBoundingClientRect().width > 0 &&"
            "  e.getBoundingClientRect().right > edge + 1);"
            "return out ? out.outerHTML.slice(0, 200) : '';");
        if (wide[0] != '\0')
            fail_msg("at %d: %s", looks[i].width, wide);
    }
    live_clean(NULL);
}

static void nothing_is_cut_off_at_any_width(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    sell_something();
    assert_nothing_cut_off();
    unfold();
    assert_nothing_cut_off();
    reserve_something();
    assert_nothing_cut_off();
}

/* ---- a story --------------------------------------------------------------------------------- */

/* The height of the whole page in a window of this size, at most so many windows. */
static void assert_screens(int width, int height, int most)
{
    fx_browser_resize(live_browser, width, height);
    fx_browser_await(live_browser, "document.documentElement.clientWidth === %d", width);
    int whole =
        (int)fx_browser_number(live_browser, "return document.documentElement.scrollHeight");
    if (whole > most * height)
        fail_msg("at %d x %d the page is %d high", width, height, whole);
}

static void it_fits_two_screens_or_three_of_a_phone(void **state)
{
    (void)state;
    live_open(fx.server[0], "/");
    sell_something();
    fx_browser_await(live_browser, "document.querySelector('#stale-verdict').textContent.length > "
                                   "1 && document.querySelectorAll('#instances li').length === 3");
    fx_browser_do(live_browser,
                  "document.getElementById('stop-said').textContent ="
                  "  'vm-7001 held the lock (fence 1795847765694857) and is stopped for 15 s. '"
                  "  + 'vm-7002 got it (fence 1795847767695772), seen after 2,001 ms.'");
    assert_screens(1280, 800, 2);
    assert_screens(375, 812, 3);
    live_clean(NULL);
}

/* What it is, the two experiments, the instruments, what is folded: for eyes and for readers. */
static void it_is_told_in_order(void **state)
{
    (void)state;
    static const char order[] =
        "const parts = ['about', 'compare', 'verdict', 'stale-steps', 'remaining', 'lock-holder',"
        "  'instances', 'chart-throughput', 'orders', 'try'].map(id => "
        "document.getElementById(id));"
        "const top = e => e.getBoundingClientRect().top;"
        "return parts.slice(1).filter((e, i) => top(e) < top(parts[i]) && !%s ||"
        "  !(parts[i].compareDocumentPosition(e) & 4)).map(e => e.id).join(' ');";
    live_open(fx.server[0], "/");
    look(2);
    fx_browser_await(live_browser, "document.documentElement.clientWidth === %d", looks[2].width);
    assert_string_equal(fx_browser_text(live_browser, order, "false"), "");
    look(0); /* the button may stand beside its verdict */
    fx_browser_await(live_browser, "document.documentElement.clientWidth === %d", looks[0].width);
    assert_string_equal(fx_browser_text(live_browser, order, "/verdict|lock-holder/.test(e.id)"),
                        "");
    live_clean(NULL);
}

/* What comes late has its place kept: 0.1 is what https://web.dev/articles/cls calls good. */
static void nothing_jumps_while_it_is_loaded(void **state)
{
    (void)state;
    fx_need_browser();
    cJSON *planted = fx_browser_plant(
        live_browser,
        "window.jumped = 0; new PerformanceObserver(list => list.getEntries().forEach("
        "  e => { window.jumped += e.value; })).observe("
        "  {type: 'layout-shift', buffered: true});");
    live_open(fx.server[0], "/");
    for (size_t i = 0; i < 3; i += 2) {
        look(i);
        fx_browser_do(live_browser, "location.reload()");
        fx_browser_await(live_browser,
                         "document.documentElement.dataset.ready === 'yes' &&"
                         "document.documentElement.clientWidth === %d &&"
                         "document.querySelector('#stale-verdict').textContent.length > 1 &&"
                         "document.querySelector('#compare-strategy').options.length > 0",
                         looks[i].width);
        double jumped =
            fx_browser_number(live_browser, "return new Promise(done => requestAnimationFrame(() =>"
                                            "  setTimeout(() => done(window.jumped))))");
        if (jumped > 0.1)
            fail_msg("%s: %g", looks[i].name, jumped);
    }
    live_clean(NULL);
    fx_browser_weed(live_browser, planted);
}

/* Fingers need room: WCAG 2.2's 24 pixels. */
static void buttons_are_large_enough_for_a_finger(void **state)
{
    (void)state;
    reserve_something();
    unfold();
    look(2);
    assert_string_equal(
        fx_browser_text(live_browser,
                        "return [...document.querySelectorAll('button, input, select')].filter(e =>"
                        "  e.checkVisibility()).filter(e => { const r = e.getBoundingClientRect();"
                        "  return r.height < 24 || r.width < 24; }).map(e => e.id).join(' ');"),
        "");
    live_clean(NULL);
}

/* Text against what is behind it, as WCAG has it: 4.5, or 3 where it is large. What is off may be
 * paler. */
#define CONTRASTS                                                                                  \
    "const rgb = c => (c.match(/[0-9.]+/g) || [0, 0, 0]).map(Number);"                             \
    "const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;"          \
    "const light = c => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);"          \
    "const behind = e => { for (; e; e = e.parentElement) {"                                       \
    "  const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return "  \
    "c;}"                                                                                          \
    "  return rgb(getComputedStyle(document.documentElement).backgroundColor); };"                 \
    "const poor = [...document.body.querySelectorAll('*')].filter(e => e.checkVisibility() &&"     \
    "  !e.closest('svg, option, [disabled], [aria-disabled=true], .skip') &&"                      \
    "  [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).filter(e => {"       \
    "  const s = getComputedStyle(e), px = parseFloat(s.fontSize);"                                \
    "  const a = light(rgb(s.color)), b = light(behind(e));"                                       \
    "  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);"                           \
    "  return ratio < (px >= 24 || px >= 18.66 && s.fontWeight >= 700 ? 3 : 4.5); });"             \
    "return poor.slice(0, 3).map(e => e.outerHTML.slice(0, 150)).join('; ');"

static void every_text_can_be_read(void **state)
{
    (void)state;
    reserve_something();
    unfold();
    for (size_t i = 0; i < 2; i++) {
        look(i);
        const char *poor = fx_browser_text(live_browser, CONTRASTS);
        if (poor[0] != '\0')
            fail_msg("%s: %s", looks[i].name, poor);
    }
    fx_browser_do(live_browser,
                  "const s = document.createElement('p'); s.textContent = 'pale';"
                  "s.style.color = '#999'; document.querySelector('main').append(s);");
    look(0);
    assert_non_null(strstr(fx_browser_text(live_browser, CONTRASTS), "pale")); /* it can fail */
}

/* ---- read out -------------------------------------------------------------------------------- */

static const char *text_in(const cJSON *node, const char *member)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(node, member);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "value");
    return cJSON_IsString(value) ? value->valuestring : "";
}

/* How many elements of a role a screen reader meets; one without a name fails the case. */
static int count_named(const cJSON *nodes, const char *role)
{
    int count = 0;
    const cJSON *node;
    cJSON_ArrayForEach(node, nodes) {
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(node, "ignored")) ||
            strcmp(text_in(node, "role"), role) != 0)
            continue;
        count++;
        if (text_in(node, "name")[0] == '\0' && strcmp(role, "main") != 0) {
            char *text = cJSON_Print(node);
            fail_msg("a %s without a name: %s", role, text);
        }
    }
    return count;
}

static void everything_has_a_name_to_be_read_out(void **state)
{
    (void)state;
    static const struct {
        const char *role;
        int least, most;
    } table[] = {
        {"main", 1, 1},        {"button", 6, 99},   {"textbox", 1, 99},
        {"spinbutton", 3, 99}, {"combobox", 2, 99}, {"heading", 5, 99},
        {"link", 0, 99},       {"image", 1, 99},    {"columnheader", 2, 99},
    };
    live_open(fx.server[0], "/");
    unfold();
    cJSON *tree = fx_browser_command(live_browser, "Accessibility.getFullAXTree", NULL);
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(tree, "nodes");
    for (size_t i = 0; i < COUNT(table); i++) {
        int count = count_named(nodes, table[i].role);
        if (count < table[i].least || count > table[i].most)
            fail_msg("%d of the role %s", count, table[i].role);
    }
    cJSON_Delete(tree);
    assert_true(fx_browser_holds(live_browser, "document.documentElement.lang === 'en' &&"
                                               "document.title !== ''"));
    assert_string_equal(
        fx_browser_text(live_browser,
                        "return [...document.querySelectorAll('input, select')].filter(e =>"
                        "  !e.labels.length).map(e => e.id).join(' ');"),
        "");
    /* Nobody wants to hear numbers twice a second. */
    assert_string_equal(
        fx_browser_text(live_browser, "return ['sold', 'remaining', 'instances', 'latest'].filter("
                                      "  id => document.getElementById(id).closest("
                                      "  '[aria-live]:not([aria-live=off])')).join(' ');"),
        "");
    assert_true(fx_browser_holds(live_browser, "document.querySelector('#said').ariaLive"));
    live_clean(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_cut_off_at_any_width),
        cmocka_unit_test(it_fits_two_screens_or_three_of_a_phone),
        cmocka_unit_test(it_is_told_in_order),
        cmocka_unit_test(nothing_jumps_while_it_is_loaded),
        cmocka_unit_test(buttons_are_large_enough_for_a_finger),
        cmocka_unit_test(every_text_can_be_read),
        cmocka_unit_test(everything_has_a_name_to_be_read_out),
    };
    return live_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--demo", "yes"));
}
