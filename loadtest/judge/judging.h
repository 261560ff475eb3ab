/*
 * judging.h - one history while it is judged: what its lines say together, and what the checks of
 * the guarantees write their findings with.
 */
#ifndef LOADTEST_JUDGING_H
#define LOADTEST_JUDGING_H

#include "loadtest/history/history.h"
#include "loadtest/judge/judge.h"

#define NO_ELEMENT UINT32_MAX

enum { CLOCKS_US = 2000000 }; /* two clocks may be so far apart */

typedef enum lt_answer {
    ANSWER_YES,
    ANSWER_NEVER, /* no, for good */
    ANSWER_NO,    /* no, of this attempt */
    ANSWER_UNKNOWN,
    ANSWER_ELSEWHERE /* of another sale */
} lt_answer;

typedef enum lt_bought {
    BOUGHT_UNRESOLVED,
    BOUGHT_YES,
    BOUGHT_NO,
    BOUGHT_ELSEWHERE, /* it was asked for in other sales only */
    BOUGHT_NOBODY     /* nobody asked for it */
} lt_bought;

/* That an order was in this state at a moment between these. */
typedef struct lt_seen {
    int64_t from_us, to_us, line;
    uint32_t request;
    lt_text state;
    bool told; /* and not listed */
} lt_seen;

extern const lt_seen no_fate;

/* Units by a time: in a sorted array, those of all up to this one. */
typedef struct lt_given {
    int64_t at_us, units;
} lt_given;

/* When an order's units may be its own, from and until; and when they surely are. */
enum { SPAN_MAY, SPAN_MAY_END, SPAN_HAS, SPAN_HAS_END, SPANS };

/* What all attempts, looks and orders of one request id come to. Elements: NO_ELEMENT = none. */
typedef struct lt_request {
    lt_text name;
    lt_bought bought;
    uint32_t attempts;     /* to buy in this sale */
    uint32_t unknown;      /* of these: nobody knows */
    uint32_t ask;          /* the first in time */
    uint32_t yes, never;   /* the first ask that was told so; never: with the request's payload */
    uint32_t made;         /* the first ask that was told so, and not as of a repetition */
    uint32_t unkeyed;      /* the first ask without a key, whom the service gave this id */
    uint32_t found, final; /* the first look that said so; final: up to each not_after */
    uint32_t order;        /* its first in the ledger */
    uint32_t orders;
    bool voided;         /* told that its id is void */
    bool mixed;          /* attempts had different users, quantities, or times to reserve for */
    bool refused;        /* an attempt failed, or there were too few units, or the lock was busy */
    int64_t first_us;    /* its first attempt began; 0: perhaps before all that was seen */
    int64_t buying_us;   /* likewise, of those that were not refused; first_us if all were */
    int64_t second_us;   /* the second began; NEVER */
    int64_t known_us;    /* the first yes was there, by an ask or a look; NEVER */
    int64_t looked_us;   /* the first look began; NEVER */
    int64_t not_yet_us;  /* the last look that said "not yet" began; UNKNOWN */
    const lt_seen *fate; /* what it became first: sold, cancelled, expired; of no state: nothing */
    bool owed;           /* somebody was told that it is sold */
    bool released;       /* it was cancelled, or has expired, and is not owed */
    uint32_t ended;      /* the first confirm or cancel that succeeded */
    int64_t cancel_us;   /* the first try to cancel it began; NEVER */
    int64_t ending_us[ENDINGS]; /* the first of each kind that was not refused began; NEVER */
    int64_t put_off_us;         /* the first try to confirm it that was put off began; NEVER */
    int64_t put_off_to_us;      /* the last of them that ended before it expired began */
    int put_offs;               /* how many of them ended before it expired */
    bool unpaid;  /* it has expired, for tries to confirm it were put off again and again */
    lt_text user; /* of the yes, else of the first ask: the request's payload */
    int64_t quantity, reserve_us;
    int64_t not_after_us; /* the latest of attempts that may have made it; NEVER: one had none */
} lt_request;

/* An order's place in the sequence of its segment. UNKNOWN: its id does not tell. */
typedef struct lt_place {
    int64_t segment, number;
} lt_place;

struct lt_judging {
    lt_history *history;
    lt_judge_options options;
    lt_judgement *judgement;
    int row; /* the guarantee that is checked */
    lt_request *requests;
    uint32_t requests_len;
    uint32_t *request_of;            /* by the name's number */
    bool whole;                      /* the recorder lost nothing */
    bool steady;                     /* no clock was moved */
    bool calm;                       /* nor has anything failed over */
    int64_t fault_us, healed_us;     /* the first fault began, the last has healed; NEVER */
    bool ledger;                     /* all orders are there, in the audit `books` */
    bool counts_only;                /* the service shows no ledger */
    char no_ledger[160];             /* why it is not there */
    int64_t books;                   /* the audit whose orders are the ledger */
    int64_t current_us;              /* the latest reading of the stock that was the sale's */
    int64_t rest_us;                 /* what begins from here on sees the sale at rest; NEVER */
    int64_t ledger_units, remaining; /* at rest; UNKNOWN */
    int64_t open_units;              /* of the ledger's: reserved */
    lt_text sold, reserved, cancelled, expired; /* the states */
    lt_seen *seen;
    size_t seen_len;
    bool stateless;         /* something does not tell what an order is */
    lt_given *spans[SPANS]; /* of units, where buys reserve */
    size_t spans_len;
};

/* Judges what was read. Free with judgement_free(). */
lt_judgement *judge_history(lt_history *history, const lt_judge_options *options);

/* Counts a violation of the row; keeps the sentence on the first. */
void violated(lt_judging *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the row came to if nothing violates it; called behind it. `why` it is unchecked. */
void settle(lt_judging *j, lt_state state, const char *why);

/* The same of a row that needs the ledger. */
void settle_by_ledger(lt_judging *j, lt_state state);

/* The same of a row about reservations; `why` it is unchecked, or NULL. */
void settle_reserving(lt_judging *j, const char *why);

/* ---- what the lines say together ---- */

/* Finds it out; release frees what it took. */
void requests_collect(lt_judging *j);
void requests_release(lt_judging *j);

/* Likewise, of reservations. */
void reservations_collect(lt_judging *j);

/* Units that were free all the time between these, at least. */
int64_t units_free(const lt_judging *j, int64_t from_us, int64_t to_us);

/* Units that are free at `to_us` at least, by an earlier reading of the stock, or NULL. */
int64_t units_seen(const lt_judging *j, const lt_stock_line *stock, int64_t to_us);

/* Units that were reserved or sold all the time, at least. */
int64_t units_held(const lt_judging *j, int64_t from_us, int64_t to_us);

/* Whether its units may count for its user's limit at some moment between these. */
bool counts_for_limit(const lt_judging *j, const lt_request *request, int64_t from_us,
                      int64_t to_us);

/* Whether who was told this went without a unit that he might have had. */
bool is_turned_away(const lt_judging *j, const lt_ask *ask);

/* Sorts and adds up; units of those up to a time, or before it. */
void given_add_up(lt_given *given, size_t len);
int64_t given_by(const lt_given *given, size_t len, int64_t us, bool too);

/* Whether the attempt, at this sale, was answered with this status and this problem's code. */
bool was_told(const lt_judging *j, const lt_ask *ask, int64_t status, const char *code);

/* Whether the look is of this sale. */
bool look_is_here(const lt_judging *j, const lt_look *look);
bool look_found(const lt_judging *j, const lt_look *look);

/* Whether it surely changed nothing: of a confirm, or cancel. */
bool look_refused(const lt_judging *j, const lt_look *look);

/* Whether that is for now: who was told so comes again. */
bool look_put_off(const lt_judging *j, const lt_look *look);

/* Whether a refusal is of who asked, or how, or how slowly, and says nothing of the request. */
bool is_of_the_asking(const lt_judging *j, int64_t status, lt_text code);

/* The time of day then, by the recorder's clock. UNKNOWN, too, where a clock may have been moved.
 */
int64_t time_of_day(const lt_judging *j, int64_t us);

/* Whether the attempt asked for what the request is for. */
bool has_payload(const lt_request *request, const lt_ask *ask);

/* Whether a sample is of the sale, and was read. */
bool stock_is_ours(const lt_judging *j, const lt_stock_line *stock);

lt_place place_of_id(const lt_history *history, lt_text order);
lt_place place_of_order(const lt_history *history, const lt_order *order);

/* The ledger's entries of all readings, by their audits and then their requests. Free it. */
const lt_order **sorted_entries(lt_judging *j);

/* Whether the audit was not read to its end, or has no line. */
bool is_cut_off(const lt_judging *j, int64_t n);

/* What was told first of a request's order, by an ask or else by a look; NULL. */
const lt_told *first_told(const lt_judging *j, const lt_request *request);

/* The first member that both tell, and that differs, but for the order's id; NULL. */
const char *told_difference(const lt_told *told, const lt_told *is);

/* The place of a request's order, as it was told, or found, or else stands in the ledger. */
lt_place place_of_request(const lt_judging *j, const lt_request *request);

/* The figures. The rows need them. */
void count_figures(lt_judging *j);

/* Units that are left in one segment, at least. */
int64_t most_left(const lt_judging *j);

/* By the number of the user's name: the units in orders, and in those that were acknowledged and
 * are in no order. Free it. `open`: those of requests that may have had units for a while, too. */
int64_t *units_of_users(const lt_judging *j, bool open);

/* ---- helpers ---- */

/* Whether buys reserve, and units come back. */
static inline bool is_reserving(const lt_judging *j)
{
    return j->history->sale.reserve_us > 0;
}

/* Whether the recorder has read the ledger out of Redis: then nobody else buys there. */
static inline bool owns_shop(const lt_judging *j)
{
    return j->ledger && j->history->audits_len == 0;
}

/* Whether no other attempt of the request can have been first. */
static inline bool is_first(const lt_request *request, const lt_ask *ask)
{
    return ask->from_us == request->first_us && request->second_us >= ask->to_us;
}

/* Whether the ledger's entry has its units. */
static inline bool holds_units(const lt_judging *j, const lt_order *order)
{
    bool stateless = is_reserving(j) && !text_told(order->told.state);
    return order->told.state != j->cancelled && order->told.state != j->expired && !stateless;
}

static inline const char *text_of(const lt_judging *j, lt_text text)
{
    return history_text(j->history, text);
}

static inline int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static inline int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t beyond(int64_t units, int64_t most)
{
    return units > most ? units - most : 0;
}

static inline bool differ(int64_t a, int64_t b)
{
    return known(a) && known(b) && a != b;
}

static inline bool texts_differ(lt_text a, lt_text b)
{
    return text_told(a) && text_told(b) && a != b;
}

#endif
