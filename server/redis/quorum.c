/*
 * quorum.c - reads the list of servers, and looks at them.
 *
 * A majority is only safe if each vote is another server's. Two entries for one server are refused
 * if their addresses show it; otherwise the run id shows it, and they count as one.
 */
#include "server/redis/quorum.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/redis/server_run.h"

enum { URL_MAX = 512, LOOK_MS = 1000, ANSWER_MS = 500 };

/* ---- the list -------------------------------------------------------------------------------- */

/* Which server it leads to, "host:port" or a path: the URL without scheme, user, password and
 * number of the database. */
static void place_of(const char *url, char *ret, size_t ret_len)
{
    const char *at = strstr(url, "://");
    at = at ? at + 3 : url;
    size_t authority = strcspn(at, "/?");
    for (const char *user = memchr(at, '@', authority); user; user = memchr(at, '@', authority)) {
        authority -= (size_t)(user + 1 - at);
        at = user + 1;
    }
    if (strncmp(url, "unix:", 5) == 0)
        snprintf(ret, ret_len, "%.*s", (int)strcspn(at, "?"), at);
    else
        snprintf(ret, ret_len, "%.*s%s", (int)authority, at,
                 memchr(at, ':', authority) ? "" : ":6379");
}

static bool add(redis_quorum *q, const char *url, char places[][URL_MAX], char *err, size_t err_len)
{
    char why[256];
    dlock_redis_options options = {.url = url, .name = "flashsale-redlock"};
    if (q->len == QUORUM_SERVERS_MAX) {
        snprintf(err, err_len, "--redlock takes %d servers at most", QUORUM_SERVERS_MAX);
        return false;
    }
    place_of(url, places[q->len], URL_MAX);
    for (int i = 0; i < q->len; i++) {
        if (strcmp(places[i], places[q->len]) != 0)
            continue;
        snprintf(err, err_len, "servers %d and %d of --redlock are the same: it has one vote",
                 i + 1, q->len + 1);
        return false;
    }
    if (strncmp(url, "redis+", 6) == 0) {
        snprintf(why, sizeof(why), "each must be one server that is independent of the others");
    } else if (dlock_redis_open(&options, &q->servers[q->len], why, sizeof(why)) == 0) {
        q->len++;
        return true;
    }
    snprintf(err, err_len, "server %d of --redlock: %s", q->len + 1, why);
    return false;
}

static void warn(const redis_quorum *q, char places[][URL_MAX], const char *sale_url)
{
    char sale[URL_MAX], text[128];
    place_of(sale_url, sale, sizeof(sale));
    for (int i = 0; i < q->len; i++)
        if (strcmp(places[i], sale) == 0)
            log_event(LOG_WARN, "redlock_not_independent", "detail",
                      "a server of --redlock is --redis too: its loss is the sale's and a vote's",
                      NULL);
    if (q->len % 2 == 1 && q->len > 1)
        return;
    snprintf(text, sizeof(text), "%d of --redlock bear the loss of %d%s", q->len, (q->len - 1) / 2,
             q->len > 1 ? ", as one fewer do: take an odd number" : ": take 3 or more");
    log_event(LOG_WARN, "redlock_few", "detail", text, NULL);
}

int quorum_open(redis_quorum *q, const char *urls, const char *sale_url, char *err, size_t err_len)
{
    char list[2048], places[QUORUM_SERVERS_MAX][URL_MAX], *rest = list;
    memset(q, 0, sizeof(*q));
    if (!urls || urls[0] == '\0')
        return 0;
    if (strlen(urls) >= sizeof(list)) {
        snprintf(err, err_len, "--redlock takes %zu characters at most", sizeof(list) - 1);
        return -1;
    }
    memcpy(list, urls, strlen(urls) + 1);
    for (char *url; (url = strsep(&rest, ",")) != NULL;) {
        if (!add(q, url, places, err, err_len)) {
            quorum_close(q);
            return -1;
        }
    }
    warn(q, places, sale_url);
    return 0;
}

void quorum_close(redis_quorum *q)
{
    ticker_stop(q->looks);
    for (int i = 0; i < q->len; i++)
        dlock_redis_close(q->servers[i]);
    memset(q, 0, sizeof(*q));
}

/* ---- the looks ------------------------------------------------------------------------------- */

/* How many different servers answer. */
static int ask_all(const redis_quorum *q, bool *same)
{
    char runs[QUORUM_SERVERS_MAX][RUN_ID_MAX + 1];
    int answering = 0;
    *same = false;
    for (int i = 0; i < q->len; i++) {
        server_answer answer;
        if (!server_run_ask(q->servers[i], 0, dlock_in_ms(ANSWER_MS), &answer))
            continue;
        int known = 0;
        while (known < answering && strcmp(runs[known], answer.run_id) != 0)
            known++;
        *same = *same || known < answering;
        if (known == answering)
            snprintf(runs[answering++], sizeof(runs[0]), "%s", answer.run_id);
    }
    return answering;
}

static void look(void *arg)
{
    redis_quorum *q = arg;
    char answering[24], servers[24];
    bool same;
    int found = ask_all(q, &same);
    atomic_store(&q->answering, found);
    snprintf(answering, sizeof(answering), "%d", found);
    snprintf(servers, sizeof(servers), "%d", q->len);
    if (same && !q->same)
        log_event(LOG_ERROR, "redlock_same_server", "detail",
                  "two addresses of --redlock lead to one server: its one vote counts twice", NULL);
    bool lost = quorum_lost(q);
    if (lost && !q->lost)
        log_event(LOG_WARN, "redlock_lost", "answering", answering, "servers", servers, "detail",
                  "no majority of --redlock: nothing is sold with strategy redlock", NULL);
    else if (!lost && q->lost)
        log_event(LOG_INFO, "redlock_back", "answering", answering, "servers", servers, NULL);
    q->same = same;
    q->lost = lost;
}

bool quorum_watch(redis_quorum *q)
{
    atomic_store(&q->answering, q->len); /* until the first look */
    q->looks = q->len > 0 ? ticker_start(look, q, LOOK_MS) : NULL;
    return q->looks || q->len == 0;
}
