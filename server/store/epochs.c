/* epochs.c - reads the epochs of a ledger, and begins one. */
#include "server/store/epochs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/store/begin.lua.h"
#include "server/store/epoch.lua.h"

/* Beginning an epoch makes a sale safe, so a full Redis does not refuse it. */
static dlock_script begin = DLOCK_SCRIPT("epoch", "#!lua flags=allow-oom\n" BEGIN_LUA EPOCH_LUA);

/* As strict as the scripts are, so that both find the same damage. */
const char *epochs_next(const char *at, epoch_row *ret)
{
    static const char hex[] = "0123456789abcdef";
    if (strspn(at, hex) != EPOCH_LEN || at[EPOCH_LEN] != ' ')
        return NULL;
    const char *first = at + EPOCH_LEN + 1;
    size_t digits = strspn(first, "0123456789");
    if (digits == 0 || digits > 15 || first[0] == '0' || first[digits] != ' ')
        return NULL;
    memcpy(ret->name, at, EPOCH_LEN);
    ret->name[EPOCH_LEN] = '\0';
    ret->first = strtoll(first, NULL, 10);
    return first + digits + 1;
}

bool epochs_ok(const char *text, int64_t orders)
{
    epoch_row row;
    const char *at = text;
    int64_t end = orders + 1;
    bool good = epochs_next(text, &row);
    for (const char *next; good && (next = epochs_next(at, &row)); at = next) {
        good = row.first >= 1 && row.first <= end;
        end = row.first - 1;
    }
    return good && at[0] != '\0' && !strchr(at, ' ');
}

int64_t epochs_last(const char *text, int64_t orders, const char *epoch)
{
    epoch_row row;
    int64_t last = orders;
    for (const char *at = text; (at = epochs_next(at, &row)); last = row.first - 1)
        if (strcmp(row.name, epoch) == 0)
            return last;
    return -1;
}

bool epochs_are_of(const char *text, const char *run)
{
    const char *last = strrchr(text, ' ');
    return run[0] != '\0' && last && server_run_goes_on(last + 1, run);
}

bool epoch_make(char ret[EPOCH_LEN + 1])
{
    uint64_t bits;
    if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
        return false;
    snprintf(ret, EPOCH_LEN + 1, "%012" PRIx64, bits >> 16);
    return true;
}

bool epochs_first(fs_store *store, const char *key, char ret[EPOCHS_FIRST_MAX])
{
    char name[EPOCH_LEN + 1], run[RUN_NAME_MAX + 1];
    server_run_name(&store_node(store, key)->run, run);
    if (!epoch_make(name))
        return false;
    snprintf(ret, EPOCHS_FIRST_MAX, "%s 1 %s", name, run[0] != '\0' ? run : "-");
    return true;
}

redisReply *epochs_begin(fs_store *store, const sale_keys *keys, const char *sale, const char *seen,
                         const char *run, dlock_time deadline)
{
    char name[EPOCH_LEN + 1];
    if (!epoch_make(name))
        return NULL;
    dlock_args args =
        store_words(WORDS(keys->current, keys->ledger, keys->epochs, sale, seen, name, run));
    redisReply *reply = store_eval(store->looking, &begin, 3, &args, deadline, store_is_text);
    if (reply && reply->len > 0)
        return reply;
    freeReplyObject(reply);
    return NULL;
}
