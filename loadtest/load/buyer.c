#include "loadtest/load/buyer.h"

#include "loadtest/load/response.h"
#include "loadtest/load/transfers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define URL_MAX        1024
#define BODY_MAX       4096 /* more of an answer is counted, not kept */
#define GREETING_MS    3000L
#define CONNECT_MAX_MS 5000L

enum stage { STAGE_GREETING, STAGE_BUYING, STAGE_REPLAYING };

struct request {
    enum stage stage;
    int64_t ticket;
    mono_ns due, sent;  /* sent: the first attempt */
    int attempt;        /* 0 for the first */
    bool was_unknown;   /* an earlier attempt's outcome was */
    struct answer sale; /* the answer that settled it, while its replay runs */
};

struct buyer {
    struct course *course;
    struct tally *tally;
    struct receipts *receipts;
    struct flight *flight; /* that performs the easy handle, or NULL */
    CURL *easy;
    CURLSH *connections; /* of this buyer only, see transfers.h; NULL without a flight */
    int user;
    int target;
    struct request request;
    char url[URL_MAX];
    char key_header[96];
    struct curl_slist headers[2];
    char body[BODY_MAX];
    size_t body_length;
    pthread_mutex_t fds_mutex;
    int fds[PLAN_TARGETS_MAX]; /* open connections, guarded by fds_mutex */
    int fd_count;
};

/* ---- the connection -------------------------------------------------------------------------- */

static size_t receive(char *data, size_t size, size_t count, void *user)
{
    struct buyer *buyer = user;
    size_t length = size * count;
    size_t room = sizeof(buyer->body) - buyer->body_length;
    size_t kept = length < room ? length : room;
    memcpy(buyer->body + buyer->body_length, data, kept);
    buyer->body_length += kept;
    return length;
}

static curl_socket_t open_connection(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct buyer *buyer = user;
    long sent = 0;
    (void)purpose;
    curl_easy_getinfo(buyer->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (sent > 0 || course_cut(buyer->course))
        return CURL_SOCKET_BAD; /* libcurl's own second try, see buyer.h */
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    pthread_mutex_lock(&buyer->fds_mutex);
    if (fd >= 0 && buyer->fd_count < PLAN_TARGETS_MAX)
        buyer->fds[buyer->fd_count++] = fd;
    pthread_mutex_unlock(&buyer->fds_mutex);
    counter_add(&buyer->tally->connects, 1);
    return fd;
}

static int close_connection(void *user, curl_socket_t fd)
{
    struct buyer *buyer = user;
    pthread_mutex_lock(&buyer->fds_mutex);
    for (int i = 0; i < buyer->fd_count; i++) {
        if (buyer->fds[i] == fd)
            buyer->fds[i--] = buyer->fds[--buyer->fd_count];
    }
    pthread_mutex_unlock(&buyer->fds_mutex);
    if (buyer->flight)
        flight_forget(buyer->flight, fd);
    return close(fd);
}

void buyer_break(struct buyer *buyer)
{
    pthread_mutex_lock(&buyer->fds_mutex);
    for (int i = 0; i < buyer->fd_count; i++)
        shutdown(buyer->fds[i], SHUT_RDWR);
    pthread_mutex_unlock(&buyer->fds_mutex);
}

static void set_up_easy(struct buyer *buyer)
{
    CURL *easy = buyer->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MAX_MS);
    curl_easy_setopt(easy, CURLOPT_MAXCONNECTS,
                     buyer->course->plan->rotate ? (long)buyer->course->plan->target_count : 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_connection);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_connection);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, buyer);
    buyer->headers[0] = (struct curl_slist){.data = buyer->key_header, .next = &buyer->headers[1]};
    buyer->headers[1] = (struct curl_slist){.data = (char *)"Content-Type:"};
}

/* The easy handle; in a flight with a cache for its own connection. */
static bool make_easy(struct buyer *buyer)
{
    buyer->easy = curl_easy_init();
    if (!buyer->easy || !buyer->flight)
        return buyer->easy;
    buyer->connections = curl_share_init();
    if (!buyer->connections)
        return false;
    curl_share_setopt(buyer->connections, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    curl_easy_setopt(buyer->easy, CURLOPT_SHARE, buyer->connections);
    return true;
}

struct buyer *buyer_new(struct course *course, struct tally *tally, struct receipts *receipts,
                        struct flight *flight, int user)
{
    struct buyer *buyer = calloc(1, sizeof(*buyer));
    if (!buyer)
        return NULL;
    *buyer = (struct buyer){.course = course,
                            .tally = tally,
                            .receipts = receipts,
                            .flight = flight,
                            .user = user,
                            .target = user % course->plan->target_count};
    pthread_mutex_init(&buyer->fds_mutex, NULL);
    if (!make_easy(buyer)) {
        buyer_free(buyer);
        return NULL;
    }
    set_up_easy(buyer);
    return buyer;
}

void buyer_free(struct buyer *buyer)
{
    if (!buyer)
        return;
    if (buyer->easy)
        curl_easy_cleanup(buyer->easy);
    if (buyer->connections)
        curl_share_cleanup(buyer->connections);
    pthread_mutex_destroy(&buyer->fds_mutex);
    free(buyer);
}

CURL *buyer_easy(struct buyer *buyer)
{
    return buyer->easy;
}

int buyer_target(const struct buyer *buyer)
{
    return buyer->target;
}

/* ---- the greeting ---------------------------------------------------------------------------- */

void buyer_greet(struct buyer *buyer)
{
    buyer->request = (struct request){.stage = STAGE_GREETING};
    buyer->body_length = 0;
    snprintf(buyer->url, sizeof(buyer->url), "%s/livez",
             buyer->course->plan->targets[buyer->target]);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(buyer->easy, CURLOPT_TIMEOUT_MS, GREETING_MS);
    curl_easy_setopt(buyer->easy, CURLOPT_URL, buyer->url);
}

/* From the greeting to buying: what stays the same for all requests. */
static void become_buyer(struct buyer *buyer)
{
    curl_easy_setopt(buyer->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(buyer->easy, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(buyer->easy, CURLOPT_POSTFIELDSIZE, 0L);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, buyer->headers);
    curl_easy_setopt(buyer->easy, CURLOPT_TIMEOUT_MS, buyer->course->plan->timeout_ms);
}

void buyer_skip_greeting(struct buyer *buyer)
{
    become_buyer(buyer);
}

void buyer_miss_greeting(struct buyer *buyer)
{
    become_buyer(buyer);
    error_book_add(buyer->course->errors, PHASE_WARM_UP, "timeout", buyer->target);
}

bool buyer_greeted(struct buyer *buyer, CURLcode code)
{
    struct answer answer = answer_read(buyer->easy, code, buyer->body, buyer->body_length);
    become_buyer(buyer);
    if (answer.came && answer.status < 400)
        return true;
    error_book_add(buyer->course->errors, PHASE_WARM_UP, answer.code, buyer->target);
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void write_url(struct buyer *buyer)
{
    const struct load_plan *plan = buyer->course->plan;
    int length = snprintf(buyer->url, sizeof(buyer->url),
                          "%s/buy?item=%s&sale=%s&user=", plan->targets[buyer->target], plan->item,
                          buyer->course->sale);
    char *at = buyer->url + length;
    size_t room = sizeof(buyer->url) - (size_t)length;
    if (plan->same_names)
        length = snprintf(at, room, "buyer-%d", buyer->user);
    else
        length = snprintf(at, room, "u%" PRId64, buyer->request.ticket);
    if (plan->quantity != 1)
        snprintf(at + length, room - (size_t)length, "&quantity=%ld", plan->quantity);
}

static void prepare_attempt(struct buyer *buyer)
{
    buyer->body_length = 0;
    curl_easy_setopt(buyer->easy, CURLOPT_URL, buyer->url);
}

void buyer_take(struct buyer *buyer, int64_t ticket, mono_ns due)
{
    const struct load_plan *plan = buyer->course->plan;
    buyer->request = (struct request){.stage = STAGE_BUYING, .ticket = ticket, .due = due};
    if (plan->rotate)
        buyer->target = (int)(ticket % plan->target_count);
    write_url(buyer);
    snprintf(buyer->key_header, sizeof(buyer->key_header), "Idempotency-Key: %s-%" PRId64,
             buyer->course->key_prefix, ticket);
    prepare_attempt(buyer);
    counter_add(&buyer->tally->issued, 1);
    counter_add(&buyer->course->users[buyer->user].issued, 1);
    buyer->request.sent = clock_now();
}

/* Whether this sold request is of the share that is sent again; the same for the same seed. */
static bool chosen_for_replay(const struct buyer *buyer)
{
    const struct load_plan *plan = buyer->course->plan;
    uint64_t mixed = ((uint64_t)buyer->request.ticket + plan->seed) * UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (double)(mixed >> 11) * 0x1p-53 < plan->replay;
}

static void keep_receipt(struct buyer *buyer, const struct answer *answer)
{
    struct receipt receipt = {.ticket = buyer->request.ticket, .target = buyer->target};
    if (answer->outcome == OUT_SOLD) {
        receipt.kind = RECEIPT_SOLD;
        receipt.order_hash = receipt_hash(answer->order);
    } else if (answer->outcome == OUT_UNKNOWN) {
        receipt.kind = RECEIPT_UNKNOWN;
    } else {
        return;
    }
    receipts_add(buyer->receipts, receipt);
}

static void settle_as(struct buyer *buyer, const struct answer *answer, enum ending ending)
{
    struct settled settled = {.outcome = answer->outcome,
                              .ending = ending,
                              .target = buyer->target,
                              .due = buyer->request.due,
                              .sent = buyer->request.sent,
                              .done = clock_now()};
    tally_settle(buyer->tally, &settled);
    course_note(buyer->course, buyer->user, buyer->request.ticket, &settled);
    keep_receipt(buyer, answer);
}

static void judge_replay(struct buyer *buyer, const struct answer *answer)
{
    if (!answer->came || answer->outcome == OUT_UNKNOWN)
        return; /* says nothing about the order */
    counter_add(&buyer->tally->replays, 1);
    if (answer->outcome != OUT_SOLD || strcmp(answer->order, buyer->request.sale.order) != 0)
        counter_add(&buyer->tally->replays_broken, 1);
}

static bool retry_wanted(const struct buyer *buyer, const struct answer *answer)
{
    return answer->outcome == OUT_UNKNOWN && !course_cut(buyer->course) &&
           buyer->request.attempt < buyer->course->plan->retries;
}

/*
 * An attempt that may still be executed later is not undone by a later refusal: "busy" then only
 * means that this attempt did not buy. "Sold out" is final, because stock never rises.
 */
static void respect_earlier_attempts(const struct buyer *buyer, struct answer *answer)
{
    if (buyer->request.was_unknown && answer->outcome != OUT_SOLD &&
        answer->outcome != OUT_SOLD_OUT && answer->outcome != OUT_LIMIT)
        answer->outcome = OUT_UNKNOWN;
}

static void count_attempt(struct buyer *buyer, const struct answer *answer)
{
    counter_add(&buyer->tally->bytes_received, answer->bytes_received);
    counter_add(&buyer->tally->bytes_sent, answer->bytes_sent);
    if (answer->is_error)
        error_book_add(buyer->course->errors, answer->phase, answer->code, buyer->target);
}

bool buyer_settle(struct buyer *buyer, CURLcode code)
{
    struct answer answer = answer_read(buyer->easy, code, buyer->body, buyer->body_length);
    if (!answer.came && course_cut(buyer->course)) {
        buyer_abandon(buyer);
        return false;
    }
    count_attempt(buyer, &answer);
    if (buyer->request.stage == STAGE_REPLAYING) {
        judge_replay(buyer, &answer);
        return false;
    }
    respect_earlier_attempts(buyer, &answer);
    if (retry_wanted(buyer, &answer)) {
        buyer->request.attempt++;
        buyer->request.was_unknown = true;
        counter_add(&buyer->tally->retries, 1);
        prepare_attempt(buyer);
        return true;
    }
    settle_as(buyer, &answer, answer.came ? END_COMPLETED : END_FAILED);
    if (answer.outcome != OUT_SOLD || !chosen_for_replay(buyer))
        return false;
    buyer->request.stage = STAGE_REPLAYING;
    buyer->request.sale = answer;
    prepare_attempt(buyer);
    return true;
}

void buyer_abandon(struct buyer *buyer)
{
    struct answer none = {.outcome = OUT_UNKNOWN};
    if (buyer->request.stage == STAGE_BUYING)
        settle_as(buyer, &none, END_UNFINISHED);
}
