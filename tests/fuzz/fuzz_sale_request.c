/*
 * fuzz_sale_request.c - the body of POST /sales: terms that are taken are within their limits and
 * fit together, and are the same terms when they are written as JSON and read once more.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_request.h"
#include "server/strategies/registry.h"

static void hold_within(const char *name, int64_t value)
{
    int64_t least, most;
    FUZZ_HOLDS(sale_request_limits(name, &least, &most), "each number has limits");
    FUZZ_HOLDS(value >= least && value <= most, "each number is within them");
}

static void hold_terms(const sale_terms *terms)
{
    const fs_strategy *strategy = strategy_find(terms->strategy);
    FUZZ_HOLDS(strategy != NULL, "the strategy exists");
    FUZZ_HOLDS(ident_ok(terms->item, strlen(terms->item)), "the item is an identifier");
    FUZZ_HOLDS(!terms->replaces[0] || ident_ok(terms->replaces, strlen(terms->replaces)),
               "so is the sale that is replaced");
    FUZZ_HOLDS(terms->id[0] == '\0' && terms->previous[0] == '\0', "nobody else names the sale");
    hold_within("stock", terms->initial);
    hold_within("per_user_limit", terms->per_user_limit);
    hold_within("hold_ms", terms->hold_ms);
    hold_within("reserve_max_s", terms->reserve_max_s);
    FUZZ_HOLDS(terms->reserve_max_s == 0 || !strategy->reserves || terms->per_user_limit > 0,
               "who may reserve has a limit");
    FUZZ_HOLDS(strategy->sharded == (terms->segments > 0), "segments are of the sharded ones");
    FUZZ_HOLDS(!strategy->sharded || terms->per_user_limit == 0, "which have no limits");
    FUZZ_HOLDS(terms->segments <= SEGMENTS_MAX, "there are not too many");
    FUZZ_HOLDS((terms->durability == DURABILITY_REPLICATED) == (terms->min_replicas > 0),
               "replicas go with replication");
    FUZZ_HOLDS(terms->hold_ms <= terms_hold_most_ms(terms), "a buyer is answered in time");
}

static void write_again(const sale_terms *terms, fs_text *out)
{
    text_printf(out, "{\"stock\":%lld,\"hold_ms\":%lld,\"wait_ms\":%lld,\"lease_ms\":%lld",
                (long long)terms->initial, (long long)terms->hold_ms, (long long)terms->wait_ms,
                (long long)terms->lease_ms);
    text_printf(out, ",\"strategy\":\"%s\",\"durability\":\"%s\",\"item\":\"%s\"", terms->strategy,
                durability_name(terms->durability), terms->item);
    if (terms->segments > 0)
        text_printf(out, ",\"segments\":%d", terms->segments);
    else
        text_printf(out, ",\"per_user_limit\":%lld", (long long)terms->per_user_limit);
    if (terms->min_replicas > 0)
        text_printf(out, ",\"min_replicas\":%d", terms->min_replicas);
    text_printf(out, ",\"reserve_max_s\":%lld", (long long)terms->reserve_max_s);
    if (terms->replaces[0] != '\0')
        text_printf(out, ",\"replaces\":\"%s\"", terms->replaces);
    text_add(out, "}");
}

static json_fault take(const char *body, size_t len, sale_terms *ret)
{
    char err[256] = "";
    json_fault fault = sale_request_read(body, len, ret, err, sizeof(err));
    FUZZ_HOLDS((fault == JSON_FINE) == (err[0] == '\0'), "a fault, and only that, has a sentence");
    return fault;
}

static bool same(const sale_terms *a, const sale_terms *b)
{
    return strcmp(a->item, b->item) == 0 && strcmp(a->strategy, b->strategy) == 0 &&
           strcmp(a->replaces, b->replaces) == 0 && a->initial == b->initial &&
           a->per_user_limit == b->per_user_limit && a->reserve_max_s == b->reserve_max_s &&
           a->lease_ms == b->lease_ms && a->wait_ms == b->wait_ms && a->hold_ms == b->hold_ms &&
           a->durability == b->durability && a->min_replicas == b->min_replicas &&
           a->segments == b->segments;
}

/* A lease of 0 is a strategy's that has none, which nobody may ask for. */
static void hold_again(const sale_terms *terms)
{
    sale_terms again;
    fs_text text;
    text_init(&text);
    write_again(terms, &text);
    json_fault fault = take(text_bytes(&text), text.len, &again);
    if (terms->lease_ms > 0)
        FUZZ_HOLDS(fault == JSON_FINE && same(&again, terms), "the same terms are read once more");
    text_free(&text);
}

void fuzz_sale_request(const uint8_t *data, size_t len)
{
    sale_terms terms;
    char *body = fuzz_text(data, len);
    if (take(body, len, &terms) == JSON_FINE) {
        hold_terms(&terms);
        hold_again(&terms);
        FUZZ_HOLDS(!memchr(body, '[', len) && !memchr(body, '\0', len), "the object is flat");
        while (len > 0 && strchr(" \t\r\n", body[len - 1]))
            len--;
        FUZZ_HOLDS(take(body, len - 1, &terms) == JSON_NOT_OBJECT, "it has an end");
        body[len] = '}'; /* instead of a blank, or of the NUL */
        FUZZ_HOLDS(take(body, len + 1, &terms) == JSON_NOT_OBJECT, "and only one");
    }
    free(body);
}
