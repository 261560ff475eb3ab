/*
 * fuzz_request.c - requests as bytes: request lines, headers and where each request ends.
 *
 * The service's HTTP server runs in this process, without a sale behind it: it is as if it were
 * starting, so what reaches the service is answered 503, or 404 and the like, and what is refused
 * for its form by the statuses of http.c. The bytes go over a real connection, many requests behind
 * each other; strict_http.c reads the same bytes. Of the two,
 *
 *   - the service never serves a request that the other does not find at that place: that would
 *     be how a stranger's bytes become somebody's request;
 *   - it never serves another behind one that it has refused;
 *   - it serves what is written as most clients write it.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http.h"
#include "tests/fuzz/strict_http.h"
#include "tests/support/raw.h"

enum {
    ANSWERS_MAX = 1 << 18,
    ANSWER_MS = 60000,
    BLANKS_MAX = 16, /* framing.c can not see so many */
    THREADS = 4
};

/* ---- the service ----------------------------------------------------------------------------- */

static fs_http *running;

static void stop(void)
{
    http_stop(running);
    running = NULL;
}

/* The port of the one server of this process, which is started at the first call. */
static int port_of_service(void)
{
    static fs_metrics metrics;
    static fs_store store; /* nobody connects to its Redis, for the service is not open */
    static fs_api api = {.metrics = &metrics, .store = &store};
    static int port;
    char err[256];
    if (running)
        return port;
    if (store_open(&store, "redis://127.0.0.1:1", NULL, "fuzz", err, sizeof(err)) == 0)
        running = http_start(&api, "127.0.0.1:0", THREADS, err, sizeof(err));
    if (!running) {
        fprintf(stderr, "fuzz: %s\n", err);
        exit(2);
    }
    atexit(stop);
    port = (int)strtol(strrchr(http_address(running), ':') + 1, NULL, 10);
    return port;
}

/* Sends the bytes and nothing behind them; all that comes back, NUL-terminated. */
static void exchange(const uint8_t *data, size_t len, char *ret)
{
    bool closed;
    int fd = fx_raw_connect(port_of_service(), NULL);
    FUZZ_HOLDS(fd >= 0, "the service takes a connection");
    fx_raw_send(fd, (const char *)data, len); /* it may have hung up on the first of them */
    shutdown(fd, SHUT_WR);
    fx_raw_read(fd, ret, ANSWERS_MAX, ANSWER_MS, &closed);
    close(fd);
    FUZZ_HOLDS(closed, "the service hangs up when nothing more can come");
}

/* ---- what came back -------------------------------------------------------------------------- */

/* Whether the transport refused: the service's own 400s leave the connection open, or can not be
 * told apart because nothing was to come behind them. */
static bool is_refusal(int status, const char *head, const char *end)
{
    const char *close = strstr(head, "Connection: close\r\n");
    bool ends = close && close < end;
    return status == 408 || status == 411 || status == 413 || status == 421 || status == 431 ||
           (status == 400 && ends);
}

/* The status of the answer at *at, which is moved behind it; 0 = there is none. */
static int next_answer(const char **at, bool *ret_refused)
{
    static const char version[] = "HTTP/1.1 ";
    if (strncmp(*at, version, strlen(version)) != 0)
        return 0;
    int status = (int)strtol(*at + strlen(version), NULL, 10);
    const char *end = strstr(*at, "\r\n\r\n"), *length = strstr(*at, "Content-Length: ");
    if (!end)
        return 0;
    *ret_refused = is_refusal(status, *at, end);
    *at = end + 4;
    size_t body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
    if (strncmp(*at, version, strlen(version)) != 0) /* an answer to HEAD has none */
        *at += strnlen(*at, body);
    return status;
}

/* Counts the answers of the service, and those that the transport gave instead. */
static void count(const char *answers, size_t *served, size_t *refused)
{
    *served = *refused = 0;
    bool is_refused;
    for (int status; (status = next_answer(&answers, &is_refused)) != 0;) {
        if (status == 100) /* go on with the body */
            continue;
        FUZZ_HOLDS(*refused == 0, "nothing is answered behind a refusal");
        *(is_refused ? refused : served) += 1;
    }
    FUZZ_HOLDS(*answers == '\0', "answers are whole");
}

/* ---- what should have ------------------------------------------------------------------------ */

static size_t blanks(const char *bytes, size_t len)
{
    size_t count = 0;
    while (count < len && isspace((unsigned char)bytes[count]))
        count++;
    return count;
}

/* How many requests there are, and how many of them are plain to their very end. False: what
 * begins with so many blanks is not judged. */
static bool find_requests(const char *bytes, size_t len, size_t *ret_all, size_t *ret_plain)
{
    strict_request one = {.last = false};
    bool plain = true;
    size_t at = 0;
    *ret_all = *ret_plain = 0;
    while (at < len && !one.last) {
        if (blanks(bytes + at, len - at) >= BLANKS_MAX)
            return false;
        if (!strict_read(bytes + at, len - at, &one))
            break;
        plain = plain && one.plain;
        *ret_all += 1;
        *ret_plain += plain;
        at += one.size;
    }
    if (at < len) /* unread bytes end the connection, and may take answers with them */
        *ret_plain = 0;
    return true;
}

void fuzz_request(const uint8_t *data, size_t len)
{
    static char answers[ANSWERS_MAX];
    size_t all, plain, served, refused;
    if (!find_requests((const char *)data, len, &all, &plain))
        return;
    exchange(data, len, answers);
    count(answers, &served, &refused);
    if (served > all)
        fuzz_broken("served %zu requests, and there are %zu:\n%s", served, all, answers);
    if (served < plain)
        fuzz_broken("served %zu of %zu plain requests:\n%s", served, plain, answers);
}
