/*
 * A shop that lies, one lie a row, against the verdicts that may come of it: never SAFE. The rows
 * are written from the promises of server/API.md alone, so that the judge is not asked for what it
 * happens to see.
 *
 * The stub (tests/tools/stubserver: lies.h, service.h) has 100 units and gets 300 requests. A
 * comment says what a user loses by the lie where that is not plain.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

/* What is told and what is kept differ: whichever of these it is called. */
#define WRONG   "LOST|BROKEN"
#define TWICE   "DUPLICATED|LOST|BROKEN"
#define DOUBTED "INVALID|BROKEN|LOST"

#define RESERVE "--reserve-s 1"

/* 201s whose order is not there, for some, or at some time. */
static void orders_that_are_gone(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie every=2:sell.record=0 --lie page.status=404", "", TWICE, NULL},
        {"--lie every=2:sell.record=hidden --lie page.status=404", "", WRONG, NULL},
        {"--lie every=2:sell.record=hidden --lie page.status=404 --lie missing.final=true", "",
         WRONG, NULL},
        {"--lie every=2:sell.record=hidden --lie page.status=404 --lie missing.final=false", "",
         WRONG, NULL},
        {"--lie every=20:sell.record=hidden", "", WRONG, NULL},
        {"--ports 2 --lie target=2,every=20:sell.record=hidden", "", WRONG, NULL},
        {"--lie left=10,every=3:sell.record=hidden", "", WRONG, NULL}, /* the last ones */
        {"--defect forget", "", TWICE, NULL},
        {"--defect lose", "--requests 60", "LOST", NULL},
        {"--lie nth=20:ledger.times=0", "", WRONG, NULL},
        {"--lie page=2,nth=13:ledger.times=0", "", WRONG, NULL},
        {"--lie audit=1,nth=9:ledger.times=0", "", WRONG, NULL}, /* billed too late */
        {"--lie audit=2,nth=9:ledger.times=0", "", WRONG, NULL},
        {"--ports 2 --lie target=2,nth=5:ledger.times=0", "", WRONG, NULL},
        {"--ports 3 --lie target=2,nth=5:ledger.times=0", "", WRONG, NULL},
        /* The ledger has it, and its buyer can not see it. */
        {"--lie found.missing=1", "", WRONG, NULL},
        {"--lie found.missing=1 --lie missing.final=true", "", WRONG, NULL},
        {"--lie every=2:found.missing=1", "", WRONG, NULL},
        {"--ports 2 --lie target=2:found.missing=1", "", WRONG, NULL},
        {"--ports 2 --lie away:found.missing=1", "", WRONG, NULL},
        {"--lie left=50:found.missing=1", "", WRONG, NULL},
        {"--lie found.as=no_such_sale", "", WRONG, NULL},
        /* For 50 ms: who asks at once is told no, and buys elsewhere. */
        {"--lie young=50:found.missing=1", "", WRONG, NULL},
        {"--lie young=50:found.missing=1 --lie missing.final=true", "", WRONG, NULL},
        /* It is there at first, and then no more. */
        {"--delay-us 15000 --lie old=100:ledger.times=0 --lie old=100:found.missing=1", "", WRONG,
         NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* Told no, and yet sold: who believes it buys a second one, and pays two. */
static void a_no_that_was_a_sale(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie told.status=409", "", WRONG, NULL},
        {"--lie told.status=422", "", WRONG, NULL},
        {"--lie every=15:told.as=busy", "", WRONG, NULL},
        {"--lie every=15:told.as=sold_out", "", WRONG, NULL},
        {"--lie every=15:told.as=limit_reached", "", WRONG, NULL},
        {"--lie every=15:told.as=rate_limited", "", WRONG, NULL},
        {"--lie every=15:told.as=durability_lost", "", WRONG, NULL},
        {"--ports 2 --lie target=2,every=10:told.as=starting", "", WRONG, NULL},
        /* Busy, then final that there is none, then there is one. */
        {"--lie every=5:told.as=busy --lie young=100:found.missing=1 --lie missing.final=true", "",
         WRONG, NULL},
        {"--defect invented", "", "OVERSOLD|LOST|BROKEN", NULL},
        {"--defect invented", "--requests 50", WRONG, NULL},
        {"--lie audit=2:page.extra=-1000000", "--requests 50", WRONG, NULL},
        /* Unknown, then final that there is none, then there is one. */
        {"--lie every=5:told.as=unknown --lie young=1000:found.missing=1 --lie missing.final=true",
         "", WRONG, NULL},
        {"--lie every=5:told.as=unknown --lie first=20:found.missing=1 --lie missing.final=true",
         "", WRONG, NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void repetitions(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        /* A retry pays twice. */
        {"--lie replayed.forget=1", "--replay 0.5", TWICE, NULL},
        {"--ports 2 --lie away:replayed.forget=1", "--stock 1000", TWICE, NULL},
        {"--ports 2 --lie target=2:replayed.forget=1", "--stock 1000", TWICE, NULL},
        {"--delay-us 15000 --lie old=200:replayed.forget=1", "--stock 1000", TWICE, NULL},
        {"--lie every=20:replayed.forget=1", "--replay 1 --stock 1000", TWICE, NULL},
        {"--defect amnesia", "--replay 0.5", TWICE, NULL},
        {"--lie every=20:replayed.order=+1", "--replay 1", TWICE, NULL},
        {"--lie every=10:replayed.order=other", "--replay 1", TWICE, NULL},
        /* The same bytes. */
        {"--lie replayed.tail=\t", "", WRONG, NULL},
        {"--lie replayed.instance=\"stub-9\"", "", WRONG, NULL},
        {"--lie replayed.instance=", "", WRONG, NULL},
        {"--lie replayed.fence=+1", "--strategy fenced", WRONG, NULL},
        {"--lie replayed.remaining=+1", "", WRONG, NULL},
        {"--lie replayed.quantity=7", "", WRONG, NULL},
        {"--lie replayed.user=\"mallory\"", "", WRONG, NULL},
        {"--lie every=20:replayed.remaining=+1", "--replay 1", WRONG, NULL},
        {"--ports 2 --lie target=2:replayed.remaining=+1", "", WRONG, NULL},
        {"--delay-us 15000 --lie old=200:replayed.remaining=+1", "", WRONG, NULL},
        /* A client that goes by it takes its first answer for an old one, or the reverse. */
        {"--lie told.replayed=true", "", "BROKEN", NULL},
        {"--lie every=20:told.replayed=true", "", "BROKEN", NULL},
        {"--lie replayed.replayed=", "", "BROKEN", NULL},
        {"--lie refused.replayed=true", "", "BROKEN", NULL},
        {"--lie nth=2:replayed.status=200 --lie nth=2:replayed.order=other", "--replay 1", TWICE,
         NULL},
        /* Denied. */
        {"--defect deny", "", WRONG, NULL},
        {"--lie left=0:replayed.as=sold_out", "--replay 1", WRONG, NULL},
        {"--lie every=20:replayed.as=sold_out", "--replay 1", WRONG, NULL},
        {"--lie replayed.as=sale_closed", "", WRONG, NULL},
        {"--delay-us 15000 --lie old=200:replayed.as=request_void", "", WRONG, NULL},
        {"--ports 2 --lie target=2:replayed.as=limit_reached", "", WRONG, NULL},
        {"--lie replayed.status=422", "", WRONG, NULL},
        {"--lie replayed.status=400", "", WRONG, NULL},
        {"--lie replayed.status=403", "", WRONG, NULL},
        {"--defect busy_again", "--replay 0.5", "INVALID|BROKEN", NULL}, /* never answered */
    };
    fx_judge_all(lies, COUNT(lies));
}

/* One key is one payload, and sale= one sale. */
static void keys_and_sales(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie reused.told=1", "", "BROKEN|DUPLICATED", NULL}, /* two units asked for, one had */
        {"--lie reused.sell=1", "", TWICE, NULL},
        {"--lie reused.as=sold_out", "", WRONG, NULL},
        {"--lie reused.as=too_late", "", WRONG, NULL}, /* it named no end */
        {"--lie every=20:buy.as=too_late", "", "BROKEN", NULL},
        {"--lie every=20:buy.as=request_void", "", "BROKEN", NULL}, /* nobody asked for its end */
        {"--lie every=20:buy.as=no_such_sale", "", "BROKEN", NULL},
        {"--lie every=20:buy.as=not_found", "", "BROKEN", NULL}, /* another buyer was there */
        {"--lie every=20:buy.as=method_not_allowed", "", "BROKEN", NULL},
        {"--lie every=20:buy.as=unknown_parameter", "", "BROKEN", NULL},
        {"--lie every=20:buy.as=reservation_not_offered", "", "BROKEN", NULL}, /* none asked for */
        {"--lie every=20:buy.as=bad_quantity", "", "BROKEN", NULL},
        {"--lie buy.not_after=ignore", "", WRONG, NULL}, /* his first try, after he has given up */
        {"--ports 2 --lie target=1:buy.not_after=ignore", "", WRONG, NULL},
        {"--ports 2 --lie target=2:buy.not_after=ignore", "", WRONG, NULL},
        {"--ports 2 --lie target=2:reused.told=1", "", "BROKEN|DUPLICATED", NULL},
        {"--lie closed.ignore=1", "--stock 1000", TWICE "|OVERSOLD",
         NULL}, /* a late retry buys again */
        {"--earlier-sale --lie closed.ignore=1", "--stock 1000", TWICE "|OVERSOLD", NULL},
        {"--ports 2 --lie target=2:closed.ignore=1", "--stock 1000", TWICE "|OVERSOLD", NULL},
        {"--lie closed.as=sold_out", "--stock 1000", "BROKEN|UNDERSOLD", NULL},
        {"--earlier-sale --lie told.sale=\"s1\"", "", WRONG, NULL},
        {"--earlier-sale --lie page.sale=\"s1\"", "", DOUBTED, NULL},
        {"--earlier-sale --lie nth=20:ledger.sale=\"s1\"", "", WRONG, NULL},
        {"--lie buy.limit=never", "", "OVERSOLD", NULL}, /* two clicks at once tell */
        {"--lie buy.limit=never", "--per-user-limit 3 --same-names", "OVERSOLD", NULL},
        {"--lie buy.limit=never --lie told.status=500", "--per-user-limit 3 --same-names",
         "OVERSOLD", NULL},
        {"--lie every=20:buy.limit=never", "--per-user-limit 3 --same-names", "OVERSOLD", NULL},
        {"--ports 2 --lie target=2:buy.limit=never", "--per-user-limit 3 --same-names", "OVERSOLD",
         NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void lookups(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--unknown-every 10 --lie missing.found=1", "", TWICE "|OVERSOLD|INVALID", NULL},
        {"--lie missing.found=1", "", TWICE "|OVERSOLD|INVALID", NULL},
        {"--lie found.order=other", "", TWICE, NULL},
        {"--lie every=2:found.order=other", "", TWICE, NULL},
        {"--lie found.user=\"mallory\"", "", WRONG, NULL},
        {"--lie found.user=other", "", WRONG, NULL},
        {"--lie found.item=\"P0002\"", "", WRONG, NULL},
        {"--lie found.sale=\"s9\"", "", WRONG, NULL},
        {"--lie found.quantity=2", "", WRONG, NULL},
        {"--lie found.instance=\"stub-9\"", "", WRONG, NULL},
        {"--lie found.time_us=1", "", WRONG, NULL},
        {"--ports 2 --lie target=2:found.remaining=+1", "", WRONG, NULL},
        {"--unknown-every 10 --lie found.user=\"mallory\"", "", WRONG, NULL},
        {"--unknown-every 10 --lie missing.final=", "", "INVALID|BROKEN", NULL},
        {"--lie missing.sale=\"s9\"", "", WRONG, NULL}, /* what is final there is not so here */
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_a_buyer_is_told(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie told.order=\"1\"", "", TWICE, NULL},
        {"--lie told.order=other", "", TWICE, NULL},
        {"--lie told.order=\"x-1\"", "--requests 1", TWICE, NULL},
        {"--lie told.request=\"another\"", "", WRONG, NULL},
        {"--lie told.item=\"P0002\"", "", WRONG, NULL},
        {"--lie told.sale=\"s9\"", "", WRONG, NULL},
        {"--lie told.user=\"mallory\"", "--same-names", WRONG, NULL},
        {"--lie every=20:told.user=other", "", WRONG, NULL},
        {"--lie told.quantity=2", "", WRONG, NULL},
        {"--lie told.quantity=1", "--quantity 2", WRONG, NULL},
        {"--lie told.remaining=-1", "", "OVERSOLD|" WRONG, NULL},
        {"--lie told.remaining=100", "", WRONG, NULL},
        {"--lie told.remaining=50", "", WRONG, NULL},
        {"--lie told.fence=+1", "--strategy fenced", WRONG, NULL},
        {"--lie told.instance=\"stub-9\"", "", WRONG, NULL},
        {"--lie told.location=other", "", "BROKEN", NULL}, /* shown somebody else's order */
        {"--lie every=20:told.location=other", "", "BROKEN", NULL},
        {"--lie replayed.location=other", "", "BROKEN", NULL},
        {"--lie every=20:told.location=", "", "BROKEN", NULL},
        {"--lie every=20:told.location=http://shop/orders/%6ct-1?item=P0001", "", "BROKEN", NULL},
        {"--lie refused.request=\"another\"", "", WRONG, NULL},
        /* Two asked for and told, one had. */
        {"--lie sell.quantity=1 --lie told.quantity=2 --lie replayed.quantity=2", "--quantity 2",
         TWICE, NULL},
        /* It can not be read: nothing is known. */
        {"--lie told.order=", "", DOUBTED, NULL},
        {"--lie told.request=", "", DOUBTED, NULL},
        {"--lie told.sale=", "", DOUBTED, NULL},
        {"--lie told.user=", "", DOUBTED, NULL},
        {"--lie told.quantity=", "", DOUBTED, NULL},
        {"--lie told.quantity=\"1\"", "", DOUBTED, NULL},
        {"--lie told.quantity=1x", "", DOUBTED, NULL},
        {"--lie told.fence=1,\"quantity\":7", "", DOUBTED, NULL},
        {"--lie told.tail=}", "", DOUBTED, NULL},
        {"--lie told.tail={}", "", DOUBTED, NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void numbers_and_fences(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie every=10:sell.skip=3", "", WRONG, NULL},
        {"--lie every=20:sell.skip=-1", "", TWICE, NULL},
        {"--lie every=20:sell.skip=-1", "--strategy sharded --segments 4", TWICE, NULL},
        {"--lie page=2,nth=7:ledger.order=+-7", "", TWICE, NULL},
        {"--lie audit=2,nth=7:ledger.order=+1", "", TWICE, NULL},
        {"--lie *.fence=100000-", "--strategy fenced", "BROKEN", NULL}, /* a late write gets in */
        {"--lie nth=30:*.fence=+-50", "--strategy fenced", "BROKEN", NULL},
        {"--lie *.fence=0", "--strategy fenced", "BROKEN", NULL},
        {"--lie nth=20:*.fence=0", "--strategy fenced", "BROKEN", NULL},
        {"--ports 2 --lie target=2:told.fence=0", "--strategy combined", WRONG, NULL},
        {"--lie *.fence=7", "--strategy atomic", "BROKEN", NULL}, /* a lock that there was not */
        {"--lie ledger.fence=+1", "--strategy fenced", WRONG, NULL},
        {"--lie nth=20:ledger.fence=+1", "--strategy fenced", WRONG, NULL},
        {"--lie audit=2:ledger.fence=+1", "--strategy fenced", WRONG, NULL},
        /* All agree on it, and it can not be: the last buyer is told that 7 are left. */
        {"--lie told.remaining=7 --lie replayed.remaining=7 --lie found.remaining=7 "
         "--lie ledger.remaining=7",
         "", WRONG, NULL},
        {"--lie told.remaining=+1 --lie replayed.remaining=+1 --lie found.remaining=+1 "
         "--lie ledger.remaining=+1",
         "", WRONG, NULL},
        {"--lie nth=20:told.remaining=+1 --lie nth=20:replayed.remaining=+1 "
         "--lie nth=20:found.remaining=+1 --lie nth=20:ledger.remaining=+1",
         "", WRONG, NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_the_ledger_lists(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie ledger.order=\"7\"", "", TWICE, NULL},
        {"--lie ledger.order=", "--requests 1 --users 1", DOUBTED, NULL},
        {"--lie told.status=500 --lie ledger.order=\"1\"", "", TWICE, NULL},
        {"--defect zeroes", "", TWICE, NULL},
        {"--lie ledger.request=\"another\"", "", TWICE "|INVALID", NULL},
        {"--lie nth=20:ledger.item=\"P0002\"", "", WRONG, NULL},
        {"--lie nth=20:ledger.user=other", "", WRONG, NULL}, /* two users become one */
        {"--lie nth=20:ledger.sale=\"s9\"", "", WRONG, NULL},
        {"--lie nth=20:ledger.remaining=+1", "", WRONG, NULL},
        {"--lie nth=20:ledger.instance=\"stub-9\"", "", WRONG, NULL},
        {"--lie ledger.instance=\"stub-9\"", "", WRONG, NULL},
        {"--lie ledger.time_us=1", "", WRONG, NULL},
        {"--lie *.time_us=1", "", WRONG, NULL}, /* sold in 1970: no receipt holds in court */
        {"--lie ledger.quantity=5", "", "OVERSOLD|" WRONG, NULL},
        {"--lie nth=20:ledger.quantity=2", "--requests 60", WRONG, NULL},
        {"--lie ledger.quantity=5", "--requests 20", WRONG "|OVERSOLD", NULL},
        {"--lie nth=20:ledger.times=2", "", TWICE, NULL}, /* billed twice */
        {"--lie audit=2,nth=20:ledger.times=2", "", TWICE, NULL},
        {"--lie page=3,nth=19:ledger.times=2", "", TWICE, NULL},
        {"--defect duplicate", "", TWICE "|OVERSOLD", NULL},
        {"--defect stranger", "", DOUBTED "|OVERSOLD", NULL},
        {"--ports 2 --lie target=2:page.extra=somebody-else", "", DOUBTED "|OVERSOLD", NULL},
        /* It can not be read to its end, or is another one's. */
        {"--lie ledger.request=", "", DOUBTED, NULL},
        {"--lie ledger.quantity=", "", DOUBTED, NULL},
        {"--lie page.item=\"P0002\"", "", DOUBTED, NULL},
        {"--lie page.sale=\"s9\"", "", DOUBTED, NULL},
        {"--lie page.tail=]", "", "INVALID|BROKEN", NULL},
        {"--defect loop", "", TWICE "|INVALID", NULL},
        {"--defect endless", "", "INVALID|BROKEN", NULL},
        {"--drop-pages 1000", "", "INVALID", NULL},
        {"--lie page.status=500", "", "INVALID", NULL},
        {"--lie page.status=401", "", "INVALID", NULL},
        {"--lie page.status=204", "", "INVALID|BROKEN", NULL},
        {"--lie page=2:page.status=503", "", "INVALID", NULL},
        {"--lie page=2:page.status=404", "", "INVALID|BROKEN", NULL},
        {"--lie page.status=404", "", "COUNTS_ONLY", NULL},
        {"--lie page.status=404 --lie stock.orders=+5", "", WRONG, NULL},
        {"--lie page.status=404 --defect forget", "", TWICE, NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_the_stock_says(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie stock.remaining=+1", "", WRONG, NULL},
        {"--lie stock.remaining=-1", "", "OVERSOLD", NULL},
        {"--lie stock.orders=+1", "", WRONG, NULL},
        {"--lie stock.units=+1", "", "OVERSOLD|" WRONG, NULL},
        {"--lie stock.units=+-1", "", WRONG, NULL},
        {"--lie stock.oversold=1", "", "OVERSOLD|" WRONG, NULL},
        {"--lie stock.lost_updates=1", "", WRONG, NULL},
        {"--lie stock.unordered=5", "", WRONG, NULL}, /* units that nobody can buy */
        {"--lie stock.halted={\"why\":\"rolled_back\",\"known\":100,\"found\":93,"
         "\"lost_orders\":7}",
         "", WRONG, NULL},
        {"--lie stock.sale=\"s9\"", "", DOUBTED, NULL},
        {"--lie stock.item=\"P0002\"", "", DOUBTED, NULL},
        {"--lie stock.strategy=\"none\"", "", DOUBTED, NULL},
        {"--lie stock.initial=200", "", DOUBTED, NULL},
        {"--lie stock.remaining=", "", DOUBTED, NULL},
        {"--lie stock.remaining=1.5", "", DOUBTED, NULL},
        {"--lie stock.units=", "", DOUBTED, NULL},
        {"--lie stock.tail=]", "", DOUBTED, NULL},
        {"--lie stock.status=500", "", "INVALID", NULL},
        /* Half is sold, all is said to be. */
        {"--defect early --lie stock.remaining=0 --lie stock.units=100", "", WRONG, NULL},
        /* One of two says so. */
        {"--ports 2 --lie target=2:stock.remaining=+1", "", WRONG, NULL},
        {"--ports 2 --lie target=2:stock.units=+-1", "", WRONG, NULL},
        {"--ports 2 --lie target=2:stock.lost_updates=1", "", WRONG, NULL},
        {"--ports 2 --lie target=2:stock.sale=\"s9\"", "", DOUBTED, NULL},
        /* Meanwhile: 300 requests of 10 users take half a second. Stock that comes and goes sends
         * buyers away. */
        {"--delay-us 15000 --lie every=2:mid.remaining=99", "", WRONG, NULL},
        {"--delay-us 15000 --lie to=60:mid.remaining=10 --lie mid.remaining=99", "", WRONG, NULL},
        {"--delay-us 15000 --lie mid.remaining=-1", "", "OVERSOLD", NULL},
        {"--delay-us 15000 --lie mid.units=101", "", "OVERSOLD|" WRONG, NULL},
        {"--delay-us 15000 --lie mid.oversold=1", "", "OVERSOLD|" WRONG, NULL},
        {"--delay-us 15000 --lie mid.lost_updates=1", "", WRONG, NULL},
        {"--delay-us 15000 --lie mid.sale=\"s9\"", "", DOUBTED, NULL},
        {"--delay-us 15000 --lie mid.initial=200", "", DOUBTED, NULL},
        {"--delay-us 15000 --lie mid.status=500", "", "INVALID", NULL},
        {"--delay-us 15000 --lie from=20:mid.orders=0", "--strategy sharded", WRONG, NULL},
        {"--delay-us 15000 --lie from=20:mid.orders=+1000", "--strategy fair", WRONG, NULL},
        {"--delay-us 15000 --lie from=20:mid.sold=+-5", "--strategy fair", WRONG, NULL},
        {"--delay-us 15000 --lie from=20:mid.remaining=0", "--strategy sharded", WRONG, NULL},
        {"--lie stock.time_us=1", "", WRONG, NULL}, /* his not_after has passed at once */
        {"--lie stock.time_us=+10000000", "", WRONG, NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void too_much_and_too_little(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--defect oversell", "", "OVERSOLD", NULL},
        {"--ports 2 --lie target=2:buy.sold_out=never", "", "OVERSOLD", NULL},
        {"--lie every=40:buy.sold_out=never", "", "OVERSOLD", NULL},
        {"--defect oversell --lie told.status=409 --lie stock.units=100 --lie stock.oversold=0", "",
         "OVERSOLD", NULL},
        {"--lie every=20:sell.take=0", "", "OVERSOLD|LOST", NULL},
        {"--lie every=20:sell.take=0", "--requests 60", "LOST", NULL},
        {"--defect early", "", "UNDERSOLD|BROKEN", NULL},
        {"--defect early", "--quantity 3", "UNDERSOLD|BROKEN", NULL},
        {"--defect early", "--strategy sharded", "UNDERSOLD|BROKEN", NULL},
        {"--defect limit", "", "UNDERSOLD|BROKEN", NULL},
        {"--defect limit", "--per-user-limit 1", "UNDERSOLD|BROKEN", NULL},
        {"--defect limit", "--per-user-limit 1000 --same-names", "UNDERSOLD|BROKEN", NULL},
        /* Sold out for one, and the next may buy. */
        {"--lie to=100,every=20:buy.as=sold_out", "--strategy atomic", "UNDERSOLD|BROKEN", NULL},
        {"--lie to=100,every=20:buy.as=limit_reached", "", "UNDERSOLD|BROKEN", NULL},
        {"--ports 2 --lie target=2:buy.as=sold_out", "--strategy atomic --users 20",
         "UNDERSOLD|BROKEN|LOST", NULL},
        {"--busy-every 3", "--stock 300", "UNDERSOLD", NULL},
        {"--ports 2 --hang-last", "--rate 100 --users 20 --duration 1s --timeout-ms 1000",
         "INVALID", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* The terms decide what is right, so the shop has no say in them. */
static void what_the_sale_is(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie sale.segments=100000 --busy-every 3", "--stock 300", "INVALID|BROKEN", NULL},
        {"--lie sale.segments=2", "", "INVALID|BROKEN", NULL},
        {"--lie sale.segments=-1", "--strategy sharded", "INVALID|BROKEN", NULL},
        {"--lie sale.segments=8", "--strategy sharded --segments 4", "INVALID|BROKEN", NULL},
        {"--lie sale.strategy=\"none\"", "", "INVALID|BROKEN", NULL},
        {"--lie sale.item=\"P0002\"", "", "INVALID|BROKEN", NULL},
        {"--lie sale.stock=101", "", "INVALID|BROKEN", NULL},
        {"--lie sale.per_user_limit=0", "--per-user-limit 1", "INVALID|BROKEN", NULL},
        {"--lie sale.lease_ms=7", "--lease-ms 500", "INVALID|BROKEN", NULL},
        {"--lie sale.wait_ms=7", "--wait-ms 500", "INVALID|BROKEN", NULL},
        /* Its first sale is not held, in which one key is sent twice at once. */
        {"--lie first=3:sale.status=503", "", DOUBTED, NULL},
        {"--lie sale.durability=\"none\"", "--durability replicated", "INVALID|BROKEN", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

/* Of reservations: the run's own share is confirmed, cancelled, and left to expire. */
static void reservations(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        /* Sold to two: what is reserved is for sale, or can be bought when it is somebody's. */
        {"--lie reserving.free=1", RESERVE, "OVERSOLD", "reserved for or sold to two"},
        {"--lie every=5:reserving.free=1", RESERVE, "OVERSOLD", NULL},
        {"--defect oversell", RESERVE, "OVERSOLD", NULL},
        {"--lie reserving.late=1", RESERVE, WRONG, "stays so"},
        {"--ports 2 --lie target=2:reserving.late=1", RESERVE, WRONG, NULL},
        {"--lie reserving.both=1", RESERVE, WRONG "|OVERSOLD", "stays so"},
        /* A buyer was told that it is his. */
        {"--lie reserving.unconfirmed=1", RESERVE, WRONG "|OVERSOLD", "stays so"},
        {"--lie every=10:reserving.unconfirmed=1", RESERVE, WRONG "|OVERSOLD", "stays so"},
        {"--lie old=300:found.state=\"expired\"", RESERVE, WRONG, NULL},
        {"--lie nth=7:ledger.state=\"expired\"", RESERVE " --confirm 1", WRONG, "stays so"},
        {"--lie told.state=\"sold\" --lie replayed.state=\"sold\"", RESERVE, WRONG "|OVERSOLD",
         NULL},
        {"--lie confirmed.state=\"reserved\"", RESERVE, WRONG, NULL},
        {"--lie confirmed.order=other", RESERVE, TWICE, NULL},
        {"--lie confirmed.user=\"mallory\"", RESERVE, WRONG, NULL},
        {"--lie every=2:confirmed.tail=\t", RESERVE, WRONG, NULL}, /* not the same bytes again */
        {"--lie every=2:cancelled.tail=\t", RESERVE " --cancel 1", WRONG, NULL},
        {"--ports 2 --lie away:ending.as=no_such_order", RESERVE, WRONG, NULL},
        /* He was told that nothing was done, or that nothing can be. */
        {"--lie confirmed.as=busy", RESERVE, "BROKEN", "ends as requested"},
        {"--lie every=5:confirmed.as=rate_limited", RESERVE, "BROKEN", NULL},
        {"--lie cancelled.as=busy", RESERVE " --cancel 0.3", "BROKEN", "ends as requested"},
        {"--lie ending.as=bad_sale", RESERVE, "BROKEN", "ends as requested"},
        {"--lie every=5:ending.as=too_late", RESERVE, "BROKEN", NULL},
        {"--lie ending.as=order_cancelled", RESERVE, WRONG, NULL},
        {"--lie ending.as=busy", RESERVE, "UNDERSOLD", "a buyer was turned away"},
        {"--lie ending.as=rate_limited", RESERVE " --confirm 1", "UNDERSOLD", NULL},
        /* He was told that it is over. */
        {"--lie reserving.uncancelled=1", RESERVE, WRONG "|OVERSOLD", "stays so"},
        {"--lie nth=7:ledger.state=\"sold\"", RESERVE " --cancel 1", WRONG, "stays so"},
        {"--lie reserving.early=1", RESERVE, WRONG "|OVERSOLD", "as long as requested"},
        {"--lie every=30:reserving.early=1", RESERVE " --confirm 0 --cancel 0", WRONG "|OVERSOLD",
         NULL},
        {"--lie *.expires_us=+100000", RESERVE, "BROKEN", "as long as requested"},
        {"--lie told.expires_us=+100000", RESERVE, WRONG, NULL},
        {"--lie reserving.never=1", RESERVE, WRONG, "as long as requested"},
        {"--lie ending.as=order_sold", RESERVE, WRONG, NULL}, /* though nobody confirmed it */
        {"--lie ending.as=reservation_expired", RESERVE, WRONG, NULL},
        /* Units that nobody has, and nobody can buy. */
        {"--lie reserving.kept=1", RESERVE, WRONG, "units come back"},
        {"--lie every=6:reserving.lost=1", RESERVE, WRONG, "at any time"},
        {"--lie stock.reserved=+1", RESERVE, WRONG, "at any time"},
        {"--lie mid.sold=+1", RESERVE, WRONG, "at any time"},
        {"--defect early", RESERVE, "UNDERSOLD", NULL},
        {"--busy-every 5", RESERVE " --stock 1000", "UNDERSOLD", NULL},
        {"--lie buy.as=limit_reached", RESERVE, "UNDERSOLD", NULL},
    };
    fx_judge_all(lies, COUNT(lies));
}

static void what_became_of_reservations_is_not_told(void **unused)
{
    (void)unused;
    static const fx_case lies[] = {
        {"--lie *.state=", RESERVE, DOUBTED, NULL},
        {"--lie *.expires_us=", RESERVE, DOUBTED, NULL},
        {"--lie ledger.state=\"frozen\"", RESERVE, DOUBTED, NULL},
        {"--lie stock.reserved=", RESERVE, DOUBTED, NULL},
        {"--lie page.status=404", RESERVE, DOUBTED, NULL},
        {"--lie sale.reserve_max_s=2", RESERVE, DOUBTED, NULL},
        /* Nobody is told whether he has bought. */
        {"--lie ending.as=unknown", RESERVE, DOUBTED, "got a conclusive answer"},
        {"--lie ending.as=unknown --lie found.as=unknown", RESERVE, DOUBTED, NULL},
        {"--lie confirmed.as=unknown --lie found.as=unknown", RESERVE, DOUBTED,
         "what became of some orders"},
    };
    fx_judge_all(lies, COUNT(lies));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_that_are_gone),
        cmocka_unit_test(a_no_that_was_a_sale),
        cmocka_unit_test(repetitions),
        cmocka_unit_test(keys_and_sales),
        cmocka_unit_test(lookups),
        cmocka_unit_test(what_a_buyer_is_told),
        cmocka_unit_test(numbers_and_fences),
        cmocka_unit_test(what_the_ledger_lists),
        cmocka_unit_test(what_the_stock_says),
        cmocka_unit_test(too_much_and_too_little),
        cmocka_unit_test(what_the_sale_is),
        cmocka_unit_test(reservations),
        cmocka_unit_test(what_became_of_reservations_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
