/*
 * A shop that is honest, and ugly: it writes its answers as other servers and proxies do, loses
 * connections, is busy, limits its rates, or leaves out what the contract lets it leave out. None
 * may be accused. It is SAFE; or, where evidence is truly missing, it can not be told.
 *
 * The stub (tests/tools/stubserver: lies.h, service.h, wire.h) has 100 units and gets 300 requests.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

/* Evidence may be missing: but nothing is held against the shop. */
#define UNACCUSED "SAFE|COUNTS_ONLY|INVALID"

static void sales_of_all_kinds(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"", "--replay 1", "SAFE", NULL},
        {"--ports 3", "--replay 0.5 --rotate", "SAFE", NULL},
        {"--ports 3 --earlier-sale", "--replay 1 --strategy fenced", "SAFE", NULL},
        {"--ports 3 --style backwards", "--replay 0.5 --rotate --strategy atomic", "SAFE", NULL},
        {"--delay-us 500,0x7", "--same-names", "SAFE", NULL},
        {"--delay-us 5000,0x3,20000", "--strategy fair", "SAFE", NULL},
        {"--stall 100:60", "--stock 200 --requests 1000", "SAFE", NULL},
        {"", "--rate 1000 --users 300 --same-names --replay 0.3", "SAFE", NULL},
        {"", "--flash --users 150 --requests 300", "SAFE", NULL},
        {"", "--until-sold-out", "SAFE", NULL},
        {"--earlier-sale", "--runs 2", "SAFE", NULL},
        {"", "--stock 0", "SAFE", NULL},
        {"", "--stock 1000", "SAFE", NULL}, /* nobody is turned away */
        {"", "--quantity 3", "SAFE", NULL}, /* one unit is left, and nobody could buy it */
        {"", "--quantity 3 --stock 2", "SAFE", NULL},
        {"--busy-every 3", "--quantity 3", "SAFE", NULL},
        {"--ports 2", "--strategy sharded", "SAFE", NULL},
        {"--ports 2", "--strategy sharded --segments 16", "SAFE", NULL},
        {"", "--strategy sharded --segments 4 --quantity 3 --replay 0.5", "SAFE", NULL},
        {"", "--per-user-limit 5 --same-names", "SAFE", NULL}, /* half is left, rightly */
        {"--ports 2 --unknown-every 7", "--per-user-limit 5 --same-names", "SAFE", NULL},
        {"", "--per-user-limit 2 --quantity 3", UNACCUSED, NULL}, /* nobody may buy */
        {"", "--lease-ms 500 --wait-ms 500 --hold-ms 1 --durability replicated", "SAFE", NULL},
        {"--lie sale.segments=0", "", "SAFE", NULL},
        /* Units on their way; without a guard they come back, too. */
        {"--delay-us 15000 --lie mid.unordered=+3 --lie mid.units=+-3 --lie mid.sold=+-3 "
         "--lie mid.orders=+-3",
         "--strategy none", "SAFE", NULL},
        {"--delay-us 15000 --lie every=3,to=80:mid.remaining=+-1 --lie "
         "every=3,to=80:mid.unordered=+1",
         "--strategy fair", "SAFE", NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

static void answers_as_others_write_them(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"--style chunked", "--replay 0.5", "SAFE", NULL},
        {"--style close", "--replay 0.5", "SAFE", NULL},
        {"--style http10", "--replay 0.5", "SAFE", NULL},
        {"--style lower", "--replay 0.5", "SAFE", NULL},
        {"--style pretty", "--replay 0.5", "SAFE", NULL},
        {"--style escaped", "--replay 0.5", "SAFE", NULL},
        {"--style extra", "--replay 0.5", "SAFE", NULL},
        {"--style padded", "--replay 0.5", "SAFE", NULL}, /* a 201 of 6 KB */
        {"--style backwards", "--replay 0.5", "SAFE", NULL},
        {"--style lower,pretty,escaped,extra,padded,chunked,close --ports 2", "--replay 0.5",
         "SAFE", NULL},
        {"--style extra,pretty,http10 --ports 2", "--strategy sharded", "SAFE", NULL},
        {"--lie *.tail=\t\t", "--replay 0.5", "SAFE", NULL},
        {"--style gzip", "--replay 0.5", UNACCUSED, NULL},
        {"--style gzip,chunked", "", UNACCUSED, NULL},
        {"--style decimal", "--replay 0.5", UNACCUSED, NULL}, /* 99.0 for 99 */
        {"--style decimal --unknown-every 10", "", UNACCUSED, NULL},
        {"--lie buy.redirect=1", "", UNACCUSED, NULL},
        {"--lie every=3:buy.redirect=1", "--stock 50", UNACCUSED, NULL},
        /* Ids. */
        {"--ids plain", "--replay 0.5", "SAFE", NULL},
        {"--ids gaps", "--replay 0.5", "SAFE", NULL},
        {"--ids uuid", "--replay 0.5", "SAFE", NULL},
        {"--ids uuid --ports 2", "--strategy sharded", "SAFE", NULL},
        {"--ids big", "--replay 0.5", "SAFE", NULL},
        {"--ids big --lie *.order=#", "--replay 0.5", UNACCUSED, NULL}, /* a number beyond 2^53 */
        {"--ids big --lie *.order=# --unknown-every 10", "", UNACCUSED, NULL},
        {"--ids plain --lie *.order=#", "--replay 0.5", UNACCUSED, NULL},
        {"--ids gaps --lie *.order=# --style decimal", "", UNACCUSED, NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

static void members_that_are_not_there(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"--lie *.fence= --lie *.instance= --lie *.time_us=", "--strategy atomic", "SAFE", NULL},
        {"--lie *.fence= --lie *.instance= --lie *.time_us=", "--strategy none", "SAFE", NULL},
        {"--lie *.fence= --lie *.instance= --lie *.time_us=", "--strategy fenced", UNACCUSED, NULL},
        {"--lie *.instance=", "--replay 0.5", "SAFE", NULL},
        {"--lie *.time_us=", "--replay 0.5", "SAFE", NULL},
        {"--lie *.time_us=/1000000", "--replay 0.5", "SAFE", NULL}, /* whole seconds */
        {"--lie told.location= --lie replayed.location=", "--replay 0.5", "SAFE", NULL},
        {"--lie ledger.item= --lie ledger.sale=", "", "SAFE", NULL}, /* its page says so */
        {"--lie stock.unordered=", "", UNACCUSED, NULL},
        {"--lie strategies.status=404", "", UNACCUSED, NULL},
        {"--lie strategies.status=500", "--strategy fenced", UNACCUSED, NULL},
        {"--lie strategies.tail=]", "--strategy sharded", UNACCUSED, NULL},
        {"--lie refused.request= --lie refused.sale= --lie refused.detail=", "", "SAFE", NULL},
        {"--lie refused.type= --lie refused.title=", "", "SAFE", NULL},
        {"--lie every=9:buy.as=busy --lie refused.code=", "", UNACCUSED, NULL}, /* 503, 409: why? */
        {"--lie refused.not_after= --unknown-every 10", "", "SAFE", NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

/* What is unknown is looked up, so nothing is lost by it. */
static void answers_that_do_not_come(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"--reset-every 16", "", "SAFE", NULL},
        {"--reset-every 10 --ports 2", "--requests 1000", "SAFE", NULL},
        {"--lie every=8:told.reset=1", "", "SAFE", NULL}, /* sold, and the answer is lost */
        {"--reset-every 14 --lie every=10:told.reset=1", "--requests 1000", "SAFE", NULL},
        {"--reset-every 14 --lie every=10:told.reset=1", "--requests 1000 --retry 5", "SAFE", NULL},
        {"--lie every=3:replayed.reset=1", "--replay 0.5", "SAFE", NULL},
        {"--lie every=4:found.reset=1 --lie every=4:missing.reset=1 --unknown-every 10", "", "SAFE",
         NULL},
        {"--lie every=4:mid.reset=1", "--stock 200 --requests 1000", "SAFE", NULL},
        {"--unknown-every 3", "--requests 3000 --stock 1000 --users 50", "SAFE", NULL},
        {"--unknown-every 3 --ports 2", "--requests 3000 --stock 1000 --users 50 --rotate", "SAFE",
         NULL},
        {"--unknown-every 3", "--requests 1000 --retry 9", "SAFE", NULL},
        {"--unknown-every 10 --final-after-ms 1500", "", "SAFE", NULL},
        {"--busy-every 5 --unknown-every 7", "--stock 40 --replay 0.5", "SAFE", NULL},
        {"--lie every=5:told.status=500", "", "SAFE", NULL},
        {"--lie every=5:told.status=502", "", "SAFE", NULL},
        {"--lie every=5:told.status=503", "", "SAFE", NULL}, /* without a code */
        {"--lie told.status=200", "", UNACCUSED, NULL},
        {"--lie told.status=500", "--replay 0.5", UNACCUSED, NULL},
        {"--lie told.status=500", "--per-user-limit 3", UNACCUSED, NULL},
        {"--lie every=5:told.as=unknown", "--retry 3 --replay 0.5", "SAFE", NULL},
        /* The retry is answered while the first try is still under way. */
        {"--delay-us 300000,0x9", "--timeout-ms 100 --retry 5", "SAFE", NULL},
        {"--ports 2 --delay-us 150000,0x19", "--timeout-ms 100 --retry 5 --rotate", "SAFE", NULL},
        {"--ports 2 --delay-us 150000,0x19", "--timeout-ms 100", "SAFE", NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

static void not_now(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"--lie every=9:buy.as=rate_limited", "", "SAFE", NULL},
        {"--lie every=9:buy.as=rate_limited", "--same-names --users 50", "SAFE", NULL},
        {"--lie every=9:buy.as=rate_limited --lie every=4:replayed.as=rate_limited",
         "--replay 0.5 --retry 3", "SAFE", NULL},
        /* A failover, a restart. */
        {"--lie from=40,to=70:buy.as=durability_lost", "", "SAFE", NULL},
        {"--lie from=40,to=70:buy.as=store_may_evict", "", "SAFE", NULL},
        {"--lie from=40,to=70:buy.as=writes_paused", "", "SAFE", NULL},
        {"--lie from=10,to=40:buy.as=starting --ports 2", "", "SAFE", NULL},
        {"--lie from=40,to=70:buy.as=store_unavailable --lie from=60,to=80:buy.as=unknown", "",
         "SAFE", NULL},
        {"--ports 2 --lie target=2,to=60:buy.as=draining", "", "SAFE", NULL},
        {"--lie every=7:buy.as=sale_damaged", "", UNACCUSED, NULL},
        /* Questions, and repetitions. */
        {"--replay-busy 2", "--replay 0.5", "SAFE", NULL},
        {"--lie every=2:replayed.as=rate_limited", "--replay 0.5", "SAFE", NULL},
        {"--lie every=2:replayed.as=unknown", "--replay 0.5", "SAFE", NULL},
        {"--lie every=3:found.as=durability_lost", "", "SAFE", NULL},
        {"--lie every=3:found.as=rate_limited --lie every=3:missing.as=rate_limited", "", "SAFE",
         NULL},
        {"--lie every=3:found.as=store_unavailable --lie every=3:missing.as=starting "
         "--unknown-every 10",
         "", "SAFE", NULL},
        {"--lie found.as=rate_limited --lie missing.as=rate_limited", "", UNACCUSED, NULL},
        {"--lie every=4:mid.as=store_unavailable --delay-us 15000", "", UNACCUSED, NULL},
        {"--lie every=2:stock.as=starting", "", UNACCUSED, NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

static void ledgers(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"--page-orders 1", "", "SAFE", NULL},
        {"--page-orders 1 --page-delay-ms 5", "", "SAFE", NULL},
        {"--page-delay-ms 150 --ports 2", "", "SAFE", NULL},
        {"--page-orders 1000", "", "SAFE", NULL},
        {"--empty-pages 5", "", "SAFE", NULL},
        {"--empty-pages 1024", "--requests 20 --stock 20", "SAFE", NULL}, /* as many segments */
        {"--empty-pages 3", "--stock 0", "SAFE", NULL},
        {"--lie page.cursor=#", "", UNACCUSED, NULL}, /* a number */
        {"--lie page.reversed=1", "", "SAFE", NULL},
        {"--lie audit=2:page.reversed=1 --ports 2", "--strategy fenced", "SAFE", NULL},
        {"--drop-pages 1", "", "SAFE", NULL},
        {"--drop-pages 2 --unknown-every 10", "", "SAFE", NULL},
        {"--lie every=6:page.as=rate_limited", "", UNACCUSED, NULL},
        {"--lie page.status=404", "", "COUNTS_ONLY", NULL},
        {"--lie page.status=405 --ports 2", "--replay 0.5", "COUNTS_ONLY", NULL},
        {"--lie page.status=404 --unknown-every 10", "", "COUNTS_ONLY|INVALID", NULL},
        {"--lie page.status=404 --reset-every 100", "", "COUNTS_ONLY|INVALID", NULL},
        {"--lie page.status=403", "", "COUNTS_ONLY|INVALID", NULL},
        {"--lie page.status=500 --busy-every 5", "", "COUNTS_ONLY|INVALID", NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

/* Some confirm, some cancel, and the rest expires: it is no fault that units are left then. */
static void reservations(void **unused)
{
    (void)unused;
    static const fx_case shops[] = {
        {"", "--reserve-s 1", "SAFE", NULL},
        {"--ports 2", "--reserve-s 1 --strategy fenced --replay 1", "SAFE", NULL},
        {"--ports 2 --earlier-sale --delay-us 15000", "--reserve-s 1 --strategy batched", "SAFE",
         NULL},
        {"--ports 2", "--reserve-s 1 --strategy atomic --quantity 3 --rotate", "SAFE", NULL},
        {"--ports 2", "--reserve-s 1 --rate 1000 --users 300", "SAFE", NULL},
        {"--ports 2", "--reserve-s 1 --flash --users 150 --requests 300", "SAFE", NULL},
        {"", "--reserve-s 1 --same-names --per-user-limit 5", "SAFE", NULL},
        {"", "--reserve-s 1 --confirm 0 --cancel 0", "SAFE", NULL},
        {"", "--reserve-s 1 --confirm 1", "SAFE", NULL},
        {"", "--reserve-s 1 --cancel 1", "SAFE", NULL},
        {"", "--reserve-s 1 --stock 1000", "SAFE", NULL},
        {"", "--reserve-s 1 --stock 0", "SAFE", NULL},
        {"", "--reserve-s 1 --until-sold-out --confirm 0.9", "SAFE", NULL},
        /* Units come back while others ask for them, for three seconds. */
        {"--ports 2", "--reserve-s 1 --rate 100 --duration 3s --cancel 0.3 --confirm 0.3", "SAFE",
         NULL},
        {"--busy-every 5", "--reserve-s 1", "SAFE", NULL},
        {"--unknown-every 4 --ports 2", "--reserve-s 1", "SAFE", NULL},
        {"--unknown-every 4 --ports 2", "--reserve-s 1 --retry 5 --rotate", "SAFE", NULL},
        {"--reset-every 10 --ports 2", "--reserve-s 1", "SAFE", NULL},
        /* Nobody knows at first whether it was confirmed; or it was not. */
        {"--lie every=3:confirmed.as=unknown", "--reserve-s 1", "SAFE", NULL},
        {"--lie every=3:confirmed.reset=1 --lie every=3:cancelled.reset=1",
         "--reserve-s 1 --retry 3", "SAFE", NULL},
        {"--lie every=3:ending.as=unknown", "--reserve-s 1", "SAFE", NULL},
        {"--lie every=4:ending.as=busy", "--reserve-s 1", "SAFE", NULL},
        {"--lie every=4:ending.as=rate_limited", "--reserve-s 1", "SAFE", NULL},
    };
    fx_judge_all(shops, COUNT(shops));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sales_of_all_kinds),
        cmocka_unit_test(answers_as_others_write_them),
        cmocka_unit_test(members_that_are_not_there),
        cmocka_unit_test(answers_that_do_not_come),
        cmocka_unit_test(not_now),
        cmocka_unit_test(ledgers),
        cmocka_unit_test(reservations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
