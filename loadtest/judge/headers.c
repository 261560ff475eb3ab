/* headers.c - what the headers of an answer say: whether it is a repetition, and where the order
 * is. */
#include "loadtest/judge/checks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Checks one answer: a repetition has an answer before it, and what comes after an answer is
 * one. */
static void check_answer(lt_judging *j, const lt_ask *ask)
{
    const lt_request *request = &j->requests[ask->request];
    bool definite = ask->answer != ANSWER_UNKNOWN && ask->answer != ANSWER_ELSEWHERE;
    if (definite && ask->replayed == 1 && is_first(request, ask))
        violated(j, "the first attempt of %s was answered as a repetition (line %" PRId64 ")",
                 text_of(j, ask->request_name), ask->line);
    if (ask->answer == ANSWER_YES && ask->replayed == 0 && ask->from_us > request->known_us &&
        has_payload(request, ask))
        violated(j, "a repetition of %s was not answered as one (line %" PRId64 ")",
                 text_of(j, ask->request_name), ask->line);
}

/* Of simultaneous attempts exactly one is told that it made the order. */
static void check_at_once(lt_judging *j, uint32_t i)
{
    const lt_history *h = j->history;
    const lt_ask *ask = &h->asks[i];
    const lt_request *request = &j->requests[ask->request];
    const lt_ask *made = request->made == NO_ELEMENT ? NULL : &h->asks[request->made];
    if (ask->answer != ANSWER_YES)
        return;
    if (made && made != ask && made->replayed == 0 && ask->replayed == 0 &&
        ask->from_us <= request->known_us && made->told.order == ask->told.order)
        violated(j, "%s's order was made twice (lines %" PRId64 ", %" PRId64 ")",
                 text_of(j, ask->request_name), made->line, ask->line);
    if (!made && request->yes == i && request->unknown == 0 && !is_first(request, ask))
        violated(j, "%s's order was only told as a repetition (line %" PRId64 ")",
                 text_of(j, ask->request_name), ask->line);
}

void check_replayed(lt_judging *j)
{
    const lt_history *h = j->history;
    for (size_t i = 0; j->whole && i < h->asks_len; i++) {
        check_answer(j, &h->asks[i]);
        check_at_once(j, (uint32_t)i);
    }
    settle(j, STATE_OK, "");
}

/* The value of a query's member, `len` characters; NULL if it is not there. */
static const char *query_value(const char *query, const char *name, size_t *len)
{
    size_t name_len = strlen(name);
    for (; query; query = strchr(query, '&')) {
        query++;
        if (strncmp(query, name, name_len) == 0 && query[name_len] == '=') {
            *len = strcspn(query + name_len + 1, "&#");
            return query + name_len + 1;
        }
    }
    return NULL;
}

/* Compares a value, in which %HH stands for a character, with what it is to be. */
static bool is_other(const char *value, size_t len, const char *is)
{
    for (size_t i = 0; value && i < len; i++) {
        char c = value[i] == '+' ? ' ' : value[i];
        if (c == '%' && len - i > 2 && isxdigit((unsigned char)value[i + 1]) &&
            isxdigit((unsigned char)value[i + 2])) {
            c = (char)strtol((const char[]){value[i + 1], value[i + 2], '\0'}, NULL, 16);
            i += 2;
        }
        if (c == '\0' || c != *is++)
            return true;
    }
    return value && *is != '\0';
}

/* "/orders/REQUEST?item=ITEM&sale=SALE", perhaps behind the server's name. */
static bool names_other(const lt_judging *j, const lt_ask *ask)
{
    static const char path[] = "/orders/";
    const lt_sale_line *sale = &j->history->sale;
    const char *at = strstr(text_of(j, ask->location), path);
    if (!at)
        return true;
    at += strlen(path);
    const char *query = strchr(at, '?');
    size_t len = strcspn(at, "?#"), item_len = 0, sale_len = 0;
    const char *item_at = query_value(query, "item", &item_len);
    const char *sale_at = query_value(query, "sale", &sale_len);
    return is_other(at, len, text_of(j, ask->request_name)) ||
           is_other(item_at, item_len, text_of(j, sale->item)) ||
           is_other(sale_at, sale_len, text_of(j, sale->id));
}

void check_location(lt_judging *j)
{
    const lt_history *h = j->history;
    size_t told = 0;
    EACH(const lt_ask, ask, h->asks) {
        told += ask->answer == ANSWER_YES && text_told(ask->location);
    }
    EACH(const lt_ask, ask, h->asks) {
        bool whole = ask->replayed != UNKNOWN; /* such a recorder writes both headers */
        if (ask->answer != ANSWER_YES)
            continue;
        if (text_told(ask->location) && names_other(j, ask))
            violated(j, "%s was sent to another order (line %" PRId64 ")",
                     text_of(j, ask->request_name), ask->line);
        else if (!text_told(ask->location) && whole && told > 1)
            violated(j, "%s was not told where its order is (line %" PRId64 "), and others were",
                     text_of(j, ask->request_name), ask->line);
    }
    settle(j, told > 0 ? STATE_OK : STATE_NOTHING, "");
}
