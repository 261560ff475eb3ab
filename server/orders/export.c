/* export.c - one line per order, also lost ones, with its state after its moves. */
#include "server/orders/export.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "server/orders/say.h"

#define NAMES                                                                                      \
    "item,sale,segment,number,epoch,order_id,request,username,quantity,state,remaining,fence,"     \
    "instance,time_us,expires_us,lost_us"

static void put_value(const char *value)
{
    bool quoted = value && strpbrk(value, ",\"\r\n");
    if (quoted)
        putchar('"');
    for (const char *at = value ? value : ""; *at != '\0'; at++) {
        if (*at == '"')
            putchar('"');
        putchar(*at);
    }
    if (quoted)
        putchar('"');
}

static void put_row(void *arg, int count, const char *const *values)
{
    (void)arg;
    for (int i = 0; i < count; i++) {
        if (i > 0)
            putchar(',');
        put_value(values[i]);
    }
    fputs("\r\n", stdout);
}

int export_csv(database *db, const char *item, const char *sale)
{
    bool printed = database_connect(db);
    if (printed)
        fputs(NAMES "\r\n", stdout);
    printed =
        printed && database_run(db,
                                "SELECT " NAMES " FROM flashsale_order_states"
                                " WHERE ($1 = '' OR item = $1) AND ($2 = '' OR sale = $2)"
                                " ORDER BY item, sale, segment, number, time_us",
                                PARAMS(item ? item : "", sale ? sale : ""), put_row, NULL, NULL);
    if (!printed)
        say("the database: %s", database_error(db));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("stdout can not be written");
        printed = false;
    }
    return printed ? 0 : EX_UNAVAILABLE;
}
