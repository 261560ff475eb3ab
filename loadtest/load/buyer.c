/*
 * A buyer goes through up to three stages: the warm-up that opens the connection, the purchase with
 * its retries, and, if it reserved, the confirm or cancel as the user's next request. All use the
 * same easy handle; the end of an attempt decides what comes next. Each attempt is a line of the
 * history.
 */
#include "loadtest/load/buyer.h"

#include "loadtest/base/number.h"
#include "loadtest/load/answer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATH_MAX_BYTES 1024
#define WARM_UP_MS     3000L
#define CONNECT_MAX_MS 5000L
#define KEY_HEADER     "Idempotency-Key: "
#define KEY_HEADER_MAX (sizeof(KEY_HEADER) + REQUEST_ID_MAX)

typedef struct lt_request {
    bool is_open; /* a purchase, not the warm-up, and not settled */
    int64_t ticket;
    mono_ns due, sent;  /* sent: the first attempt */
    mono_ns attempted;  /* the latest */
    int attempt;        /* 0 for the first */
    bool was_unknown;   /* an earlier attempt's outcome was unknown */
    const char *ending; /* what its user does with the order, see plan_ending(); or NULL */
} lt_request;

struct lt_buyer {
    lt_run_state *state;
    lt_tally *tally;
    lt_pen *pen;             /* (borrowed) of its thread */
    lt_transfers *transfers; /* that performs the easy handle */
    CURL *easy;
    CURLSH *connections; /* of this buyer only, see transfers.h */
    int user;
    int home;   /* its target */
    int target; /* of this attempt: another one when it is a retry */
    lt_request request;
    char path[PATH_MAX_BYTES]; /* of the request, with its query */
    size_t prefix;             /* of the path: the part that all purchases share */
    char key_header[KEY_HEADER_MAX];
    struct curl_slist headers[2];
    lt_body body;
};

/* ---- the connection -------------------------------------------------------------------------- */

static curl_socket_t open_connection(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
    lt_buyer *buyer = user;
    long sent = 0;
    (void)purpose;
    curl_easy_getinfo(buyer->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (sent > 0 || run_state_is_cut(buyer->state))
        return CURL_SOCKET_BAD; /* libcurl's own second try, see buyer.h */
    counter_add(&buyer->tally->connects, 1);
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    transfers_remember(buyer->transfers, fd);
    return fd;
}

static int close_connection(void *user, curl_socket_t fd)
{
    lt_buyer *buyer = user;
    transfers_forget(buyer->transfers, fd);
    return close(fd);
}

static void set_up_easy(lt_buyer *buyer)
{
    CURL *easy = buyer->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MAX_MS);
    curl_easy_setopt(easy, CURLOPT_MAXCONNECTS,
                     buyer->state->plan->rotate || buyer->state->plan->retries > 0
                         ? (long)buyer->state->plan->target_count
                         : 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &buyer->body);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_connection);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_connection);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, buyer);
    curl_easy_setopt(easy, CURLOPT_URL, buyer->state->plan->targets[buyer->target]);
    buyer->headers[0] = (struct curl_slist){.data = buyer->key_header, .next = &buyer->headers[1]};
    buyer->headers[1] = (struct curl_slist){.data = (char *)"Content-Type:"};
}

/* The easy handle, with a cache for its own connection. */
static bool make_easy(lt_buyer *buyer)
{
    buyer->easy = curl_easy_init();
    buyer->connections = curl_share_init();
    if (!buyer->easy || !buyer->connections)
        return false;
    curl_share_setopt(buyer->connections, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    curl_easy_setopt(buyer->easy, CURLOPT_SHARE, buyer->connections);
    return true;
}

lt_buyer *buyer_new(lt_run_state *state, lt_tally *tally, lt_pen *pen, lt_transfers *transfers,
                    int user)
{
    lt_buyer *buyer = calloc(1, sizeof(*buyer));
    if (!buyer)
        return NULL;
    *buyer = (lt_buyer){.state = state,
                        .tally = tally,
                        .pen = pen,
                        .transfers = transfers,
                        .user = user,
                        .home = user % state->plan->target_count,
                        .target = user % state->plan->target_count};
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
    body_release(&buyer->body);
    free(buyer);
}

CURL *buyer_easy(lt_buyer *buyer)
{
    return buyer->easy;
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
    buyer->request = (lt_request){.is_open = false};
    buyer->body.length = 0;
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(buyer->easy, CURLOPT_TIMEOUT_MS, WARM_UP_MS);
    curl_easy_setopt(buyer->easy, CURLOPT_REQUEST_TARGET, "/livez");
}

/*
 * Switches from the warm-up to buying: sets what stays the same for all requests. libcurl gets the
 * path as the request's target, beside a URL that names only the server: it would parse a URL for
 * every request and copy its query letter by letter, a tenth of a request's cost.
 */
void buyer_skip_warm_up(lt_buyer *buyer)
{
    const lt_plan *plan = buyer->state->plan;
    char quantity[32] = "", reserve[32] = "";
    if (plan->quantity != 1)
        snprintf(quantity, sizeof(quantity), "&quantity=%ld", plan->quantity);
    if (plan->reserve_s > 0)
        snprintf(reserve, sizeof(reserve), "&reserve_s=%ld", plan->reserve_s);
    buyer->prefix = (size_t)snprintf(buyer->path, sizeof(buyer->path) - USER_NAME_MAX,
                                     "/buy?item=%s&sale=%s%s%s&user=", plan->item,
                                     buyer->state->sale, quantity, reserve);
    memcpy(buyer->key_header, KEY_HEADER, sizeof(KEY_HEADER));
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

static void count_error(lt_buyer *buyer, lt_error_phase phase, const lt_answer *answer)
{
    char code[64];
    snprintf(code, sizeof(code), "%s", answer->code);
    if (answer->unread)
        snprintf(code, sizeof(code), "%ld_%s", answer->status, answer->unread);
    else if (code[0] == '\0')
        snprintf(code, sizeof(code), "http_%ld", answer->status);
    text_make_printable(code);
    errors_add(&buyer->state->errors, phase, code, buyer->target);
}

void buyer_warmed_up(lt_buyer *buyer, CURLcode code)
{
    lt_answer answer;
    answer_read(buyer->easy, code, &buyer->body, &answer);
    buyer_skip_warm_up(buyer);
    if (!answer.came || answer.status >= 400)
        count_error(buyer, PHASE_WARM_UP, &answer);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool prepare_attempt(lt_buyer *buyer)
{
    buyer->body.length = 0;
    buyer->body.cut = false;
    buyer->request.attempted = clock_now();
    return true;
}

static void point_at(lt_buyer *buyer, int target)
{
    if (buyer->target != target)
        curl_easy_setopt(buyer->easy, CURLOPT_URL, buyer->state->plan->targets[target]);
    buyer->target = target;
}

void buyer_take(lt_buyer *buyer, int64_t ticket, mono_ns due)
{
    const lt_plan *plan = buyer->state->plan;
    buyer->request = (lt_request){.is_open = true, .ticket = ticket, .due = due};
    point_at(buyer, plan->rotate ? (int)(ticket % plan->target_count) : buyer->home);
    plan_user_name(plan, ticket, buyer->path + buyer->prefix);
    curl_easy_setopt(buyer->easy, CURLOPT_REQUEST_TARGET, buyer->path);
    run_state_request_id(buyer->state, ticket, buyer->key_header + sizeof(KEY_HEADER) - 1);
    prepare_attempt(buyer);
    counter_add(&buyer->tally->issued, 1);
    buyer->request.sent = buyer->request.attempted;
}

/* Writes the attempt that has just ended into the history. */
static void record(lt_buyer *buyer, const lt_answer *answer, mono_ns ended)
{
    const lt_question question = {.request = buyer->key_header + sizeof(KEY_HEADER) - 1,
                                  .user = buyer->path + buyer->prefix,
                                  .ending = buyer->request.ending,
                                  .quantity = buyer->state->plan->quantity,
                                  .target = buyer->target,
                                  .from = buyer->request.attempted,
                                  .to = ended};
    answer_write(buyer->pen, &question, answer);
}

static void settle_as(lt_buyer *buyer, const lt_answer *answer, lt_ending ending, mono_ns ended)
{
    lt_settled settled = {.outcome = answer->outcome,
                          .ending = ending,
                          .target = buyer->target,
                          .due = buyer->request.due,
                          .sent = buyer->request.sent,
                          .done = ended};
    buyer->request.is_open = false;
    tally_settle(buyer->tally, &settled);
    run_state_note(buyer->state, buyer->user, buyer->request.ticket, &settled);
}

static bool retry_wanted(const lt_buyer *buyer, const lt_answer *answer)
{
    return answer->outcome == OUT_UNKNOWN && !run_state_is_cut(buyer->state) &&
           buyer->request.attempt < buyer->state->plan->retries;
}

/* Sends the same request to another target, which a user behind a proxy might meet. */
static bool prepare_retry(lt_buyer *buyer)
{
    buyer->request.attempt++;
    buyer->request.was_unknown = true;
    point_at(buyer, (buyer->target + 1) % buyer->state->plan->target_count);
    counter_add(&buyer->tally->retries, 1);
    return prepare_attempt(buyer);
}

/*
 * A later refusal does not undo an attempt that may still be executed: "busy" then only means that
 * this attempt did not buy. "Sold out" is final unless buys reserve or a failover may undo an
 * order, because otherwise stock never rises.
 */
static void respect_earlier_attempts(const lt_buyer *buyer, lt_answer *answer)
{
    bool final = (answer->outcome == OUT_SOLD_OUT || answer->outcome == OUT_LIMIT) &&
                 buyer->state->plan->reserve_s == 0 && !buyer->state->plan->expect_failover;
    if (buyer->request.was_unknown && answer->outcome != OUT_SOLD && !final)
        answer->outcome = OUT_UNKNOWN;
}

static void count_attempt(lt_buyer *buyer, const lt_answer *answer)
{
    counter_add(&buyer->tally->bytes_received, answer->bytes_received);
    counter_add(&buyer->tally->bytes_sent, answer->bytes_sent);
    if (answer->is_error)
        count_error(buyer, answer->phase, answer);
}

/* ---- what becomes of a reserved order -------------------------------------------------------- */

/* False: its user does nothing. */
static bool prepare_ending(lt_buyer *buyer)
{
    lt_run_state *state = buyer->state;
    const char *ending = plan_ending(state->plan, buyer->request.ticket);
    char path[PATH_MAX_BYTES];
    if (!ending || run_state_is_cut(state))
        return false;
    snprintf(path, sizeof(path), "/orders/%s/%s?item=%s&sale=%s&user=%s",
             buyer->key_header + sizeof(KEY_HEADER) - 1, ending, state->plan->item, state->sale,
             buyer->path + buyer->prefix);
    curl_easy_setopt(buyer->easy, CURLOPT_REQUEST_TARGET, path);
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, &buyer->headers[1]);
    buyer->request.ending = ending;
    buyer->request.attempt = 0;
    return prepare_attempt(buyer);
}

/* An order whose ending is unknown is looked up after the load, as a purchase is. */
static void leave_ending(lt_buyer *buyer, const lt_answer *answer, mono_ns ended)
{
    lt_run_state *state = buyer->state;
    if (answer->outcome == OUT_UNKNOWN)
        followups_note(state->followups, buyer->request.ticket, OUT_UNKNOWN, buyer->target, ended);
    else if ((answer->status == 503 || answer->status == 429) && buyer->request.ending[1] == 'o')
        followups_put_off(state->followups, buyer->request.ticket, buyer->target, ended);
    buyer->request.ending = NULL;
    curl_easy_setopt(buyer->easy, CURLOPT_HTTPHEADER, buyer->headers);
}

bool buyer_settle(lt_buyer *buyer, CURLcode code)
{
    lt_answer answer;
    mono_ns ended = clock_now();
    answer_read(buyer->easy, code, &buyer->body, &answer);
    if (!answer.came && run_state_is_cut(buyer->state)) {
        buyer_abandon(buyer);
        return false;
    }
    record(buyer, &answer, ended);
    if (buyer->request.ending && answer.status == 200)
        answer.outcome = OUT_SOLD;
    if (buyer->request.ending && answer.status > 0)
        answer.is_error = answer.unread || answer.status >= 500;
    count_attempt(buyer, &answer);
    if (buyer->request.ending && !retry_wanted(buyer, &answer)) {
        leave_ending(buyer, &answer, ended);
        return false;
    }
    respect_earlier_attempts(buyer, &answer);
    if (retry_wanted(buyer, &answer))
        return prepare_retry(buyer);
    settle_as(buyer, &answer, answer.came ? END_COMPLETED : END_FAILED, ended);
    return answer.outcome == OUT_SOLD && prepare_ending(buyer);
}

void buyer_abandon(lt_buyer *buyer)
{
    lt_answer none = {.outcome = OUT_UNKNOWN, .sent = true};
    mono_ns ended = clock_now();
    if (!buyer->request.is_open && !buyer->request.ending)
        return;
    record(buyer, &none, ended);
    if (buyer->request.ending)
        leave_ending(buyer, &none, ended);
    else
        settle_as(buyer, &none, END_UNFINISHED, ended);
}
