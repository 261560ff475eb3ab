/*
 * A shop that lies: each field of each answer in turn, and each thing it can do wrong, against the
 * verdict that must come of it. What is true, or a fault that was survived, is SAFE.
 *
 * The stub has 100 units and gets 300 requests; what it says and does wrong is one lie at a time.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void what_a_buyer_is_told(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie told.order=\"1\"", "", "DUPLICATED", "order of another request"},
        {"--lie told.order=\"x-1\"", "--requests 1", "LOST", "as it was told"},
        {"--lie told.order=", "", "INVALID", "without all that they must say"},
        {"--lie told.request=\"another\"", "", "LOST", "not what was asked for"},
        {"--lie told.request=", "", "INVALID", "without all that they must say"},
        {"--lie told.item=\"P0002\"", "", "LOST", "not what was asked for"},
        {"--lie told.item=", "", "INVALID", "without all that they must say"},
        {"--lie told.sale=\"s9\"", "", "LOST", "not what was asked for"},
        {"--lie told.sale=", "", "INVALID", "without all that they must say"},
        {"--lie told.user=\"mallory\"", "", "LOST", "not what was asked for"},
        {"--lie told.user=\"mallory\"", "--same-names", "LOST", "not what was asked for"},
        {"--lie told.user=", "", "INVALID", "without all that they must say"},
        {"--lie told.quantity=2", "", "LOST", "not what was asked for"},
        {"--lie told.quantity=1", "--quantity 2", "LOST", "not what was asked for"},
        {"--lie told.quantity=", "", "INVALID", "without all that they must say"},
        {"--lie told.remaining=-1", "", "LOST", "not what was asked for"},
        {"--lie told.remaining=100", "", "LOST", "not what was asked for"},
        {"--lie told.remaining=50", "", "LOST", "as it was told"},
        {"--lie told.remaining=", "", "INVALID", "without all that they must say"},
        {"--lie told.quantity=\"1\"", "", "INVALID", "without all that they must say"},
        {"--lie told.remaining=\"5\"", "", "INVALID", "without all that they must say"},
        {"--lie told.quantity=1x", "", "INVALID", "without all that they must say"},
        {"--lie told.fence=1,\"quantity\":7", "", "INVALID", "without all that they must say"},
        {"--lie told.tail=}", "", "INVALID", "without all that they must say"},
        {"--lie told.tail={}", "", "INVALID", "without all that they must say"},
        {"--lie told.fence=[", "", "INVALID", "without all that they must say"},
        /* Sold, and answered otherwise: unknown, looked up, and found. */
        {"--lie told.status=200", "", "SAFE", NULL},
        {"--lie told.status=500", "", "SAFE", NULL},
        {"--lie told.status=502", "", "SAFE", NULL},
        {"--lie told.status=503", "", "SAFE", NULL},
        /* A definite no, and yet sold. */
        {"--lie told.status=409", "", "LOST", "refused requests that have an order"},
        {"--lie told.status=422", "", "LOST", "refused requests that have an order"},
        /* Sold out, and yet 201. */
        {"--defect oversell", "", "OVERSOLD", "I2 units told sold"},
        /* Refused, and yet units are left. */
        {"--defect early", "", "UNDERSOLD", "units left while"},
        {"--defect early", "--quantity 3", "UNDERSOLD", "units left while"},
        {"--defect early", "--strategy sharded", "UNDERSOLD", "units left while"},
        {"", "--stock 0", "SAFE", NULL},
        {"", "--quantity 3", "SAFE", NULL}, /* one unit is left, and nobody could buy it */
        {"--busy-every 3", "--quantity 3", "SAFE", NULL},
        {"--busy-every 3", "--stock 300", "UNDERSOLD", "units left while"},
        {"--defect early", "--strategy sharded --quantity 3", "SAFE", NULL}, /* in which segment? */
        {"--defect limit", "", "UNDERSOLD", "by a limit"},
        {"--defect limit", "--per-user-limit 1", "UNDERSOLD", "by a limit"},
        {"--defect limit", "--per-user-limit 1000 --same-names", "UNDERSOLD", "by a limit"},
        {"", "--per-user-limit 3 --same-names", "OVERSOLD", "by the limit"},
        {"--lie told.status=500", "--per-user-limit 3 --same-names", "OVERSOLD", "by the limit"},
        {"--lie told.status=500", "--per-user-limit 3", "SAFE", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* The terms decide what is right, so the shop has no say in them. */
static void what_the_sale_is(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie sale.segments=100000 --busy-every 3", "--stock 300", "INVALID", "100000 segments"},
        {"--lie sale.segments=2", "", "INVALID", "2 segments"},
        {"--lie sale.segments=0", "", "SAFE", NULL},
        {"--lie sale.segments=-1", "--strategy sharded", "INVALID", "-1 segments"},
        {"--lie sale.segments=1025", "--strategy sharded", "INVALID", "1025 segments"},
        {"--lie sale.segments=8", "--strategy sharded --segments 4", "INVALID", "another segments"},
        {"", "--strategy sharded --segments 4", "SAFE", NULL},
        {"--lie sale.strategy=\"none\"", "", "INVALID", "another strategy"},
        {"--lie sale.item=\"P0002\"", "", "INVALID", "another item"},
        {"--lie sale.stock=101", "", "INVALID", "another stock"},
        {"--lie sale.per_user_limit=0", "--per-user-limit 1", "INVALID", "another per_user_limit"},
        {"--lie sale.lease_ms=7", "--lease-ms 500", "INVALID", "another lease_ms"},
        {"--lie sale.wait_ms=7", "--wait-ms 500", "INVALID", "another wait_ms"},
        {"--lie sale.hold_ms=7", "--hold-ms 1", "INVALID", "another hold_ms"},
        {"--lie sale.durability=\"none\"", "--durability replicated", "INVALID",
         "another durability"},
        {"", "--lease-ms 500 --wait-ms 500 --hold-ms 1 --durability replicated", "SAFE", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_the_stock_says(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie stock.status=500", "", "INVALID", "no stock after the run"},
        {"--lie stock.item=\"P0002\"", "", "INVALID", "not a stock of"},
        {"--lie stock.sale=\"s9\"", "", "INVALID", "another sale"},
        {"--lie stock.sale=\"s9\" --lie stock.remaining=500", "", "INVALID", "another sale"},
        {"--lie stock.sale=\"s9\" --lie stock.units=500", "", "INVALID", "another sale"},
        {"--lie stock.strategy=\"none\"", "", "INVALID", "strategy"},
        {"--lie stock.strategy=", "", "INVALID", "not a stock of"},
        {"--lie stock.initial=200", "", "INVALID", "not the 100 asked for"},
        {"--lie stock.initial=", "", "INVALID", "not a stock of"},
        {"--lie stock.remaining=+1", "", "LOST", "I1"},
        {"--lie stock.remaining=-1", "", "OVERSOLD", "I2"},
        {"--lie stock.remaining=", "", "INVALID", "not a stock of"},
        {"--lie stock.remaining=1.5", "", "INVALID", "not a stock of"},
        {"--lie stock.orders=+1", "", "LOST", "counts the orders"},
        {"--lie stock.orders=", "", "INVALID", "not a stock of"},
        {"--lie stock.units=+1", "", "OVERSOLD", "I2 units ordered"},
        {"--lie stock.units=+-1", "", "LOST", "I1"},
        {"--lie stock.units=", "", "INVALID", "not a stock of"},
        {"--lie stock.oversold=1", "", "OVERSOLD", "own count"},
        {"--lie stock.oversold=", "", "INVALID", "not a stock of"},
        {"--lie stock.lost_updates=1", "", "LOST", "own count"},
        {"--lie stock.lost_updates=", "", "INVALID", "not a stock of"},
        {"--defect lose", "--requests 60", "LOST", "I1"},
        /* Half is sold, all is said to be. */
        {"--defect early --lie stock.remaining=0 --lie stock.units=100", "", "LOST", "I1 units in"},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* 300 requests of 10 users take half a second; the stock is read some 25 times meanwhile. */
static void what_the_stock_says_meanwhile(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--delay-us 15000", "", "SAFE", NULL},
        {"--delay-us 15000 --lie mid.sale=\"s9\"", "", "INVALID", "another sale"},
        {"--delay-us 15000 --lie mid.initial=200", "", "INVALID", "another initial"},
        {"--delay-us 15000 --lie mid.strategy=\"none\"", "", "INVALID", "another initial"},
        {"--delay-us 15000 --lie mid.oversold=1", "", "OVERSOLD", "own count"},
        {"--delay-us 15000 --lie mid.lost_updates=1", "", "LOST", "own count"},
        {"--delay-us 15000 --lie mid.remaining=-1", "", "OVERSOLD", "lowest seen"},
        {"--delay-us 15000 --lie mid.units=101", "", "OVERSOLD", "most seen"},
        {"--delay-us 15000 --lie mid.status=500", "", "INVALID", "readings of the stock failed"},
        {"--delay-us 15000 --lie mid.status=500", "--requests 1000", "SAFE", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_the_ledger_lists(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie ledger.order=\"7\"", "", "LOST", "as it was told"},
        {"--lie ledger.order=", "--requests 1 --users 1", "LOST", "as it was told"},
        {"--lie told.status=500 --lie ledger.order=", "", "INVALID", "orders without id"},
        {"--lie told.status=500 --lie ledger.order=\"1\"", "", "DUPLICATED", "of another request"},
        {"--lie told.status=500 --lie ledger.order=1", "", "DUPLICATED", "of another request"},
        {"--defect zeroes", "", "LOST", "as it was told"},
        {"--lie ledger.request=\"another\"", "", "LOST", "as it was told"},
        {"--lie ledger.request=", "", "INVALID", "an entry is no order"},
        {"--lie ledger.item=\"P0002\"", "", "LOST", "another user, item"},
        {"--lie ledger.item=", "", "SAFE", NULL}, /* its page says so */
        {"--lie ledger.item= --lie page.item=", "", "INVALID", "user, item"},
        {"--lie page.item=\"P0002\"", "", "INVALID", "another item's (page 1)"},
        {"--lie page.tail=]", "", "INVALID", "not a page of orders (page 1)"},
        {"--lie stock.tail=]", "", "INVALID", "not a stock of"},
        {"--lie ledger.sale=\"s9\"", "", "LOST", "another user, item"},
        {"--lie ledger.sale=", "", "SAFE", NULL}, /* its page says so */
        {"--lie ledger.sale= --lie page.sale=", "", "INVALID", "user, item"},
        {"--lie page.sale=\"s9\"", "", "INVALID", "another sale's (page 1)"},
        {"--lie ledger.user=\"mallory\"", "", "LOST", "another user, item"},
        {"--lie ledger.user=", "", "INVALID", "user, item"},
        {"--lie ledger.quantity=5", "", "OVERSOLD", "orders in the ledger"},
        {"--lie ledger.quantity=5", "--requests 20", "LOST", "units in the ledger"},
        {"--lie ledger.quantity=", "", "LOST", "units in the ledger"},
        {"--lie ledger.remaining=7", "", "LOST", "as it was told"},
        {"--lie ledger.remaining=\"x\"", "", "INVALID", "orders without id"},
        {"--lie ledger.user=\"mallory\" --lie ledger.quantity=5", "--requests 20", "LOST",
         "another user"},
        {"--defect forget", "", "LOST", "as it was told"},
        {"--defect twice", "", "DUPLICATED", "I3 orders"},
        {"--defect duplicate", "", "DUPLICATED", "I3 orders"},
        {"--defect stranger", "", "INVALID", "other buyers"},
        {"--defect invented", "", "OVERSOLD", "orders in the ledger"},
        {"--defect invented", "--requests 50", "LOST", "refused requests that have an order"},
        {"--defect oversell --lie told.status=409 --lie stock.units=100 --lie stock.oversold=0", "",
         "OVERSOLD", "orders in the ledger"},
        {"--defect unannounced", "", "LOST", "refused requests that have an order"},
        {"--defect loop", "", "INVALID", "leads back"},
        {"--defect endless", "", "INVALID", "no end"},
        {"--empty-pages 1024", "--requests 20 --stock 20", "SAFE", NULL}, /* as many segments */
    };
    fx_judge_all(lies, COUNT(lies));
}

/* "Could not check" is not "fine"; but one lost reply is no reason to give up. */
static void what_can_not_be_read(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--ports 2 --hang-last", "--rate 100 --users 20 --duration 1s", "INVALID",
         "answered nothing at all"},
        {"--drop-pages 1", "", "SAFE", NULL},
        {"--drop-pages 2 --unknown-every 10", "", "SAFE", NULL},
        {"--drop-pages 1000", "", "INVALID", "GET /orders"},
        {"--drop-pages 1000 --defect twice", "", "INVALID", "GET /orders"},
        {"--lie page.status=500", "", "INVALID",
         "GET /orders: the ledger can not be relied upon: page 1: status 500"},
        {"--lie page.status=500 --unknown-every 2", "", "INVALID", "GET /orders"},
        {"--lie page.status=401", "", "INVALID", "page 1: status 401"},
        {"--lie page.status=204", "", "INVALID", "page 1: status 204"},
        {"--lie page2.status=503", "", "INVALID", "page 2: status 503"},
        {"--lie page2.status=404", "", "INVALID", "page 2: status 404"},
        /* No ledger at all: its counts have to do, and nothing may be unknown. */
        {"--lie page.status=404", "", "SAFE", NULL},
        {"--lie page.status=405", "--replay 0.5", "SAFE", NULL},
        {"--lie page.status=404 --unknown-every 10", "", "INVALID", "no whole ledger"},
        {"--lie page.status=404 --reset-every 100", "", "INVALID", "no whole ledger"},
        {"--lie page.status=404 --lie told.status=502", "", "INVALID", "no whole ledger"},
        {"--lie page.status=404 --defect twice --lie stock.orders=+5", "", "LOST", "counts"},
        {"--lie page.status=404 --defect forget", "", "LOST", "I1"},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_a_replay_is_told(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"", "--replay 1", "SAFE", NULL},
        {"--defect amnesia", "--replay 0.5", "DUPLICATED", "another order"},
        {"--lie replayed.order=\"7\"", "--replay 0.5", "DUPLICATED", "another order"},
        {"--lie replayed.user=\"mallory\"", "--replay 0.5", "LOST", "not what was asked for"},
        {"--lie replayed.remaining=+1", "--replay 0.5", "LOST", "not what was asked for"},
        {"--lie replayed.quantity=7", "--replay 0.5", "LOST", "not what was asked for"},
        {"--defect deny", "--replay 0.5", "LOST", "as if nothing had been sold"},
        {"--lie replayed.status=422", "--replay 0.5", "LOST", "as if nothing had been sold"},
        {"--lie replayed.status=400", "--replay 0.5", "LOST", "as if nothing had been sold"},
        {"--lie replayed.status=401", "--replay 0.5", "LOST", "as if nothing had been sold"},
        {"--lie replayed.status=403", "--replay 0.5", "LOST", "as if nothing had been sold"},
        {"--lie told.status=500", "--replay 0.5", "INVALID", "sent again"},
        /* "Busy", 429 and the like say nothing, unless they are all that is said. */
        {"--replay-busy 2", "--replay 0.5", "SAFE", NULL},
        {"--defect busy_again", "--replay 0.5", "INVALID", "replays whose answer tells"},
        {"--lie replayed.status=429", "--replay 0.5", "INVALID", "replays whose answer tells"},
        {"--lie replayed.status=502", "--replay 0.5", "INVALID", "replays whose answer tells"},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void the_truth_is_safe_every_time(void **unused)
{
    (void)unused;
    static const fx_case truth[] = {
        {"--ports 3", "--replay 0.5 --rotate", "SAFE", NULL},
        {"--delay-us 500,0x7", "--same-names", "SAFE", NULL},
        {"", "--rate 1000 --users 300 --same-names --replay 0.3", "SAFE", NULL},
        {"", "--flash --users 150 --requests 300", "SAFE", NULL},
        {"--busy-every 5 --unknown-every 7", "--stock 40 --replay 0.5", "SAFE", NULL},
    };
    for (int i = 0; i < 4; i++)
        fx_judge_all(truth, COUNT(truth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_buyer_is_told),
        cmocka_unit_test(what_the_sale_is),
        cmocka_unit_test(what_the_stock_says_meanwhile),
        cmocka_unit_test(what_the_stock_says),
        cmocka_unit_test(what_the_ledger_lists),
        cmocka_unit_test(what_can_not_be_read),
        cmocka_unit_test(what_a_replay_is_told),
        cmocka_unit_test(the_truth_is_safe_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
