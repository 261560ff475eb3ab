/*
 * A buyer's request goes through up to three stages: the warm-up that opens the connection, the
 * purchase with its retries, and the replay. All of them use the same easy handle; what an attempt
 * ended with decides what it does next.
 */
#include "loadtest/load/buyer.h"

#include "loadtest/load/response.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define URL_MAX        1024
#define BODY_MAX       4096 /* more of an answer is counted, not kept */
#define WARM_UP_MS     3000L
#define CONNECT_MAX_MS 5000L
#define REPLAY_TRIES   50

typedef enum lt_stage { STAGE_WARM_UP, STAGE_BUYING, STAGE_REPLAYING } lt_stage;

typedef struct lt_request {
    lt_stage stage;
    int64_t ticket;
    mono_ns due, sent; /* sent: the first attempt */
    int attempt;       /* 0 for the first */
    bool was_unknown;  /* an earlier attempt's outcome was */
    lt_response sale;  /* the answer that settled it, while its replay runs */
} lt_request;

struct lt_buyer {
    lt_run_state *state;
    lt_tally *tally;
    lt_transfers *transfers; /* that performs the easy handle, or NULL */
    CURL *easy;
    CURLSH *connections; /* of this buyer only, see transfers.h; NULL in blocking calls */
    int user;
    int target;
    lt_request request;
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
    lt_buyer *buyer = user;
    size_t length = size * count;
    size_t room = sizeof(buyer->body) - buyer->body_length;
    size_t kept = length < room ? length : room;
    memcpy(buyer->body + buyer->body_length, data, kept);
    buyer->body_length += kept;
    return length;
}

static curl_socket_t open_connection(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
    lt_buyer *buyer = user;
    long sent = 0;
    (void)purpose;
    curl_easy_getinfo(buyer->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (sent > 0 || run_state_is_cut(buyer->state))
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
    lt_buyer *buyer = user;
    pthread_mutex_lock(&buyer->fds_mutex);
    for (int i = 0; i < buyer->fd_count; i++) {
        if (buyer->fds[i] == fd)
            buyer->fds[i--] = buyer->fds[--buyer->fd_count];
    }
    pthread_mutex_unlock(&buyer->fds_mutex);
    if (buyer->transfers)
        transfers_forget(buyer->transfers, fd);
    return close(fd);
}

void buyer_break(lt_buyer *buyer)
{
    pthread_mutex_lock(&buyer->fds_mutex);
    for (int i = 0; i < buyer->fd_count; i++)
        shutdown(buyer->fds[i], SHUT_RDWR);
    pthread_mutex_unlock(&buyer->fds_mutex);
}

static void set_up_easy(lt_buyer *buyer)
{
    CURL *easy = buyer->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MAX_MS);
    curl_easy_setopt(easy, CURLOPT_MAXCONNECTS,
                     buyer->state->plan->rotate ? (long)buyer->state->plan->target_count : 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_connection);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_connection);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, buyer);
    buyer->headers[0] = (struct curl_slist){.data = buyer->key_header, .next = &buyer->headers[1]};
    buyer->headers[1] = (struct curl_slist){.data = (char *)"Content-Type:"};
}

/* The easy handle; under a multi handle with a cache for its own connection. */
static bool make_easy(lt_buyer *buyer)
{
    buyer->easy = curl_easy_init();
    if (!buyer->easy || !buyer->transfers)
        return buyer->easy;
    buyer->connections = curl_share_init();
    if (!buyer->connections)
        return false;
    curl_share_setopt(buyer->connections, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    curl_easy_setopt(buyer->easy, CURLOPT_SHARE, buyer->connections);
    return true;
}

lt_buyer *buyer_new(lt_run_state *state, lt_tally *tally, lt_transfers *transfers, int user)
{
    lt_buyer *buyer = calloc(1, sizeof(*buyer));
    if (!buyer)
        return NULL;
    *buyer = (lt_buyer){.state = state,
                        .tally = tally,
                        .transfers = transfers,
                        .user = user,
                        .target = user % state->plan->target_count};
    pthread_mutex_init(&buyer->fds_mutex, NULL);
    if (!make_easy(buyer)) {
        buyer_free(buyer);
        return NULL;
    }
    set_up_easy(buyer);
    return buyer;
}

void buyer_leave(lt_buyer *buyer)
{
    if (buyer->easy)
        curl_easy_cleanup(buyer->easy);
    if (buyer->connections)
        curl_share_cleanup(buyer->connections);
    buyer->easy = NULL;
    buyer->connections = NULL;
}

void buyer_free(lt_buyer *buyer)
{
    if (!buyer)
        return;
    buyer_leave(buyer);
    pthread_mutex_destroy(&buyer->fds_mutex);
    free(buyer);
}

CURL *buyer_easy(lt_buyer *buyer)
{
    return buyer->easy;
}

lt_run_state *buyer_state(const lt_buyer *buyer)
{
    return buyer->state;
}

int buyer_user(const lt_buyer *buyer)
{
    return buyer->user;
}

int buyer_target(const lt_buyer *buyer)
{
    return buyer->target;
}

/* ---- the warm-up ----------------------------------------------------------------------------- */

void buyer_warm_up(lt_buyer *buyer)
{
    buyer->request = (lt_request){.stage = STAGE_WARM_UP};
    buyer->body_length = 0;
    snprintf(buyer->url, sizeof(buyer->url), "%s/livez",
             buyer->state->plan->targets[buyer->target]);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(buyer->easy, CURLOPT_TIMEOUT_MS, WARM_UP_MS);
    curl_easy_setopt(buyer->easy, CURLOPT_URL, buyer->url);
}

/* From the warm-up to buying: what stays the same for all requests. */
void buyer_skip_warm_up(lt_buyer *buyer)
{
    curl_easy_setopt(buyer->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(buyer->easy, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(buyer->easy, CURLOPT_POSTFIELDSIZE, 0L);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, buyer->headers);
    curl_easy_setopt(buyer->easy, CURLOPT_TIMEOUT_MS, buyer->state->plan->timeout_ms);
}

void buyer_miss_warm_up(lt_buyer *buyer)
{
    buyer_skip_warm_up(buyer);
    errors_add(&buyer->state->errors, PHASE_WARM_UP, "timeout", buyer->target);
}

void buyer_warmed_up(lt_buyer *buyer, CURLcode code)
{
    lt_response response = response_read(buyer->easy, code, buyer->body, buyer->body_length);
    buyer_skip_warm_up(buyer);
    if (!response.came || response.status >= 400)
        errors_add(&buyer->state->errors, PHASE_WARM_UP, response.code, buyer->target);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void write_url(lt_buyer *buyer)
{
    const lt_plan *plan = buyer->state->plan;
    char user[USER_NAME_MAX];
    plan_user_name(plan, buyer->request.ticket, user);
    int length = snprintf(buyer->url, sizeof(buyer->url), "%s/buy?item=%s&sale=%s&user=%s",
                          plan->targets[buyer->target], plan->item, buyer->state->sale, user);
    if (plan->quantity != 1)
        snprintf(buyer->url + length, sizeof(buyer->url) - (size_t)length, "&quantity=%ld",
                 plan->quantity);
}

static bool prepare_attempt(lt_buyer *buyer)
{
    buyer->body_length = 0;
    curl_easy_setopt(buyer->easy, CURLOPT_URL, buyer->url);
    return true;
}

void buyer_take(lt_buyer *buyer, int64_t ticket, mono_ns due)
{
    const lt_plan *plan = buyer->state->plan;
    char request[REQUEST_ID_MAX];
    buyer->request = (lt_request){.stage = STAGE_BUYING, .ticket = ticket, .due = due};
    if (plan->rotate)
        buyer->target = (int)(ticket % plan->target_count);
    write_url(buyer);
    run_state_request_id(buyer->state, ticket, request);
    snprintf(buyer->key_header, sizeof(buyer->key_header), "Idempotency-Key: %s", request);
    prepare_attempt(buyer);
    counter_add(&buyer->tally->issued, 1);
    buyer->request.sent = clock_now();
}

static void keep_receipt(lt_buyer *buyer, const lt_response *response)
{
    lt_receipt receipt = {.ticket = buyer->request.ticket, .remaining = -1};
    switch (response->outcome) {
    case OUT_SOLD:
        receipt.kind = RECEIPT_SOLD;
        if (response->told.order[0] != '\0')
            receipt.order_hash = receipt_hash(response->told.order);
        receipt.remaining = told_remaining(&response->told);
        break;
    case OUT_UNKNOWN:
        receipt.kind = RECEIPT_UNKNOWN;
        break;
    case OUT_LIMIT:
        receipt.kind = RECEIPT_LIMITED;
        break;
    default:
        return;
    }
    tally_keep_receipt(buyer->tally, receipt);
}

/* Whether a 201 is the sale that was asked for; what is not becomes one of the errors. */
static void check_told(lt_buyer *buyer, lt_response *response)
{
    if (response->outcome != OUT_SOLD)
        return;
    lt_told_truth truth = told_check(&response->told, buyer->state, buyer->request.ticket,
                                     response->code, sizeof(response->code));
    counter_add(&buyer->tally->told_less, truth == TOLD_LESS);
    counter_add(&buyer->tally->told_other, truth == TOLD_OTHER);
    response->is_error = truth != TOLD_AS_ASKED;
}

static void settle_as(lt_buyer *buyer, const lt_response *response, lt_ending ending)
{
    lt_settled settled = {.outcome = response->outcome,
                          .ending = ending,
                          .target = buyer->target,
                          .due = buyer->request.due,
                          .sent = buyer->request.sent,
                          .done = clock_now()};
    tally_settle(buyer->tally, &settled);
    run_state_note(buyer->state, buyer->user, buyer->request.ticket, &settled);
    keep_receipt(buyer, response);
}

/* What the answer to a replay says about the sale before; "busy", an error of the service, or no
 * answer say nothing. */
static void judge_replay(lt_buyer *buyer, const lt_response *response)
{
    lt_tally *tally = buyer->tally;
    bool sold = response->outcome == OUT_SOLD;
    const lt_told *before = &buyer->request.sale.told;
    bool same = sold && strcmp(response->told.order, before->order) == 0;
    bool left_other = same && strcmp(response->told.remaining, before->remaining) != 0;
    counter_add(&tally->replays, 1);
    counter_add(&tally->replays_same, same);
    counter_add(&tally->told_other, left_other && !response->is_error);
    counter_add(&tally->replays_other, sold && !same);
    counter_add(&tally->replays_refused, response_denies_sale(response));
}

/* "Busy", or no answer, tells nothing about the order: it is asked for again, a few times. */
static bool replay_again(lt_buyer *buyer, const lt_response *response)
{
    return response->outcome != OUT_SOLD && !response_denies_sale(response) &&
           !run_state_is_cut(buyer->state) && ++buyer->request.attempt < REPLAY_TRIES;
}

static bool retry_wanted(const lt_buyer *buyer, const lt_response *response)
{
    return response->outcome == OUT_UNKNOWN && !run_state_is_cut(buyer->state) &&
           buyer->request.attempt < buyer->state->plan->retries;
}

/*
 * An attempt that may still be executed later is not undone by a later refusal: "busy" then only
 * means that this attempt did not buy. "Sold out" is final, because stock never rises.
 */
static void respect_earlier_attempts(const lt_buyer *buyer, lt_response *response)
{
    if (buyer->request.was_unknown && response->outcome != OUT_SOLD &&
        response->outcome != OUT_SOLD_OUT && response->outcome != OUT_LIMIT)
        response->outcome = OUT_UNKNOWN;
}

static void count_attempt(lt_buyer *buyer, const lt_response *response)
{
    counter_add(&buyer->tally->bytes_received, response->bytes_received);
    counter_add(&buyer->tally->bytes_sent, response->bytes_sent);
    if (response->is_error)
        errors_add(&buyer->state->errors, response->phase, response->code, buyer->target);
}

bool buyer_settle(lt_buyer *buyer, CURLcode code)
{
    lt_response response = response_read(buyer->easy, code, buyer->body, buyer->body_length);
    if (!response.came && run_state_is_cut(buyer->state)) {
        buyer_abandon(buyer);
        return false;
    }
    check_told(buyer, &response);
    count_attempt(buyer, &response);
    if (buyer->request.stage == STAGE_REPLAYING) {
        if (replay_again(buyer, &response))
            return prepare_attempt(buyer);
        judge_replay(buyer, &response);
        return false;
    }
    respect_earlier_attempts(buyer, &response);
    if (retry_wanted(buyer, &response)) {
        buyer->request.attempt++;
        buyer->request.was_unknown = true;
        counter_add(&buyer->tally->retries, 1);
        return prepare_attempt(buyer);
    }
    settle_as(buyer, &response, response.came ? END_COMPLETED : END_FAILED);
    if (response.outcome != OUT_SOLD || !plan_replays(buyer->state->plan, buyer->request.ticket))
        return false;
    buyer->request.stage = STAGE_REPLAYING;
    buyer->request.attempt = 0;
    buyer->request.sale = response;
    return prepare_attempt(buyer);
}

void buyer_abandon(lt_buyer *buyer)
{
    lt_response none = {.outcome = OUT_UNKNOWN};
    if (buyer->request.stage == STAGE_BUYING)
        settle_as(buyer, &none, END_UNFINISHED);
}
