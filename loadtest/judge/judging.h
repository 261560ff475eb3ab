/*
 * judging.h - one history while it is judged: what its lines say together, and the functions that
 * checks use to record findings.
 */
#ifndef LOADTEST_JUDGING_H
#define LOADTEST_JUDGING_H

#include "loadtest/history/history.h"
#include "loadtest/judge/judge.h"

#define NO_ELEMENT UINT32_MAX

enum {
    CLOCKS_US = 2000000,  /* two clocks may be so far apart */
    IN_FORCE_US = 1000000 /* an instance may show the last sale so long after the next has begun */
};

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

/* An order was in this state at some moment within this span. */
typedef struct lt_seen {
    int64_t from_us, to_us, line;
    uint32_t request;
    lt_text state;
    bool told; /* told to a buyer, not listed in the ledger */
} lt_seen;

extern const lt_seen no_fate;

/* Units up to a time; in a sorted array, the sum up to this entry. */
typedef struct lt_given {
    int64_t at_us, units;
} lt_given;

/* From when until when an order may have its units, and certainly has them. */
enum { SPAN_MAY, SPAN_MAY_END, SPAN_HAS, SPAN_HAS_END, SPANS };

/* What all attempts, lookups and orders of one request id say together. Elements: NO_ELEMENT =
 * none. */
typedef struct lt_request {
    lt_text name;
    lt_bought bought;
    uint32_t attempts;   /* to buy in this sale */
    uint32_t unknown;    /* of these: nobody knows */
    uint32_t ask;        /* the first in time */
    uint32_t yes, never; /* the first attempt with that answer; never: with the request's payload */
    uint32_t made;       /* the first attempt that was told so, and not as a repetition */
    uint32_t unkeyed;    /* the first attempt without a key, to which the service gave this id */
    uint32_t found, final; /* the first lookup that said so; final: up to each not_after */
    uint32_t order;        /* its first order in the ledger */
    uint32_t orders;
    bool voided;        /* told that its id is void */
    bool mixed;         /* attempts had different users, quantities, or times to reserve for */
    bool refused;       /* an attempt failed, or too few units were left, or the lock was busy */
    int64_t first_us;   /* its first attempt began; 0: maybe before all that was seen */
    int64_t buying_us;  /* likewise, its first attempt that was not refused; first_us if all were */
    int64_t second_us;  /* the second began; NEVER */
    int64_t known_us;   /* the first yes arrived, to an attempt or a lookup; NEVER */
    int64_t looked_us;  /* the first look began; NEVER */
    int64_t not_yet_us; /* the last look that said "not yet" began; UNKNOWN */
    const lt_seen *fate;        /* its first final state; without a state: none yet */
    bool owed;                  /* somebody was told that it is sold */
    bool released;              /* it was cancelled, or has expired, and is not owed */
    bool told_fate;             /* somebody was told a final state */
    bool unsure;                /* the outcome of a confirm or cancel is unknown */
    bool missed;                /* a look after its time was over got no answer */
    uint32_t ended;             /* the first confirm or cancel that succeeded */
    int64_t cancel_us;          /* the first attempt to cancel it began; NEVER */
    int64_t ending_us[ENDINGS]; /* the first of each kind that was not refused began; NEVER */
    int64_t put_off_us;         /* the first confirm that was put off began; NEVER */
    int64_t put_off_to_us;      /* the last of those that ended before it expired began */
    int put_offs;               /* how many of them ended before it expired */
    bool unpaid;                /* it expired because confirms were put off again and again */
    lt_text user;               /* of the yes, else of the first ask: the request's payload */
    int64_t quantity, reserve_us;
    int64_t not_after_us; /* the latest of attempts that may have made it; NEVER: one had none */
} lt_request;

/* An order's place in the sequence of its segment. UNKNOWN: its id does not say. */
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
    bool calm;                       /* steady, and nothing failed over */
    int64_t fault_us, healed_us;     /* the first fault began, the last has healed; NEVER */
    bool ledger;                     /* all orders are known, from the audit `books` */
    bool counts_only;                /* the service shows no ledger */
    char no_ledger[160];             /* why there is no ledger */
    int64_t books;                   /* the audit whose orders are the ledger */
    int64_t current_us;              /* the latest reading of the stock that was the sale's */
    int64_t rest_us;                 /* whatever begins later sees the sale at rest; NEVER */
    int64_t ledger_units, remaining; /* at rest; UNKNOWN */
    int64_t open_units;              /* of the ledger's: reserved */
    lt_text sold, reserved, cancelled, expired; /* the states */
    lt_seen *seen;
    size_t seen_len;
    bool stateless;         /* some answer does not tell an order's state */
    lt_given *spans[SPANS]; /* of units, where buys reserve */
    size_t spans_len;
};

/* Judges what was read. Free with judgement_free(). */
lt_judgement *judge_history(lt_history *history, const lt_judge_options *options);

/* Counts a violation of the current guarantee; keeps the sentence of the first. */
void violated(lt_judging *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the guarantee's state unless it was violated; called after its checks. `why` it is
 * unchecked. */
void settle(lt_judging *j, lt_state state, const char *why);

/* The same for a guarantee that needs the ledger. */
void settle_by_ledger(lt_judging *j, lt_state state);

/* The same for a guarantee about reservations; `why` it is unchecked, or NULL. */
void settle_reserving(lt_judging *j, const char *why);

/* ---- what the lines say together ---- */

/* Collects it; requests_release() frees what it took. */
void requests_collect(lt_judging *j);
void requests_release(lt_judging *j);

/* Likewise, of reservations. */
void reservations_collect(lt_judging *j);

/* Why it is not known what became of each confirm and cancel; NULL: it is. */
const char *why_unsure(lt_judging *j);

/* Units that were certainly free all the time between these. */
int64_t units_free(const lt_judging *j, int64_t from_us, int64_t to_us);

/* Units that are certainly free at `to_us`, by an earlier reading of the stock, or NULL. */
int64_t units_seen(const lt_judging *j, const lt_stock_line *stock, int64_t to_us);

/* Units that were certainly reserved or sold all the time. */
int64_t units_held(const lt_judging *j, int64_t from_us, int64_t to_us);

/* Whether its units may count for its user's limit at some moment between these. */
bool counts_for_limit(const lt_judging *j, const lt_request *request, int64_t from_us,
                      int64_t to_us);

/* Whether who was told this went without a unit that he might have had. */
bool is_turned_away(const lt_judging *j, const lt_ask *ask);

/* Sorts and adds up; the units up to a time, or before it. */
void given_add_up(lt_given *given, size_t len);
int64_t given_by(const lt_given *given, size_t len, int64_t us, bool too);

/* Whether the attempt, at this sale, was answered with this status and this problem's code. */
bool was_told(const lt_judging *j, const lt_ask *ask, int64_t status, const char *code);

/* Whether the lookup is of this sale. */
bool look_is_here(const lt_judging *j, const lt_look *look);
bool look_found(const lt_judging *j, const lt_look *look);

/* Whether a confirm or cancel certainly changed nothing. */
bool look_refused(const lt_judging *j, const lt_look *look);

/* Whether it was put off: its user tries again. */
bool look_put_off(const lt_judging *j, const lt_look *look);

/* Whether a refusal is about the client, the form or the rate of asking, and says nothing of the
 * request. */
bool is_of_the_asking(const lt_judging *j, int64_t status, lt_text code);

/* Whether a code is among these; NULL ends them. */
bool is_one_of(const char *code, const char *const *codes);

/* The time of day then, by the recorder's clock. UNKNOWN also where a clock may have been moved. */
int64_t time_of_day(const lt_judging *j, int64_t us);

/* Whether a lookup was final, and nothing takes that back. A moved clock, also one of another
 * server after a failover, takes back what was said up to a not_after. */
bool is_final(const lt_judging *j, const lt_request *request);

/* Whether an attempt without a known outcome may have had an order until a failover. */
bool may_be_undone(const lt_judging *j, const lt_request *request);

/* Whether the attempt has the payload of its request. */
bool has_payload(const lt_request *request, const lt_ask *ask);

/* Whether a sample is of this sale and could be read. */
bool stock_is_ours(const lt_judging *j, const lt_stock_line *stock);

lt_place place_of_id(const lt_history *history, lt_text order);
lt_place place_of_order(const lt_history *history, const lt_order *order);

/* The entries of all readings of the ledger, sorted by audit and request. Free it. */
const lt_order **sorted_entries(lt_judging *j);

/* Whether the audit was not read to its end, or has no line. */
bool is_cut_off(const lt_judging *j, int64_t n);

/* What was told first of a request's order, by an attempt or else by a lookup; NULL. */
const lt_told *first_told(const lt_judging *j, const lt_request *request);

/* The first member other than the order's id that both tell and that differs; NULL. */
const char *told_difference(const lt_told *told, const lt_told *is);

/* The place of a request's order, as told, or found, or else from the ledger. */
lt_place place_of_request(const lt_judging *j, const lt_request *request);

/* Computes the figures, which the guarantees need. */
void count_figures(lt_judging *j);

/* The most units that one segment certainly has left, and had at any time. */
int64_t most_left(const lt_judging *j);

/* By the number of the user's name: the units in orders, and acknowledged units that are in no
 * order. Free it. `open`: also those of requests that may have had units for a while. */
int64_t *units_of_users(const lt_judging *j, bool open);

/* ---- helpers ---- */

/* Whether buys reserve, and units come back. */
static inline bool is_reserving(const lt_judging *j)
{
    return j->history->sale.reserve_us > 0;
}

/* Whether the recorder read the ledger from Redis: then nobody else buys there. */
static inline bool owns_shop(const lt_judging *j)
{
    return j->ledger && j->history->audits_len == 0;
}

/* Whether no other attempt of the request can have come first. */
static inline bool is_first(const lt_request *request, const lt_ask *ask)
{
    return ask->from_us == request->first_us && request->second_us >= ask->to_us;
}

/* Whether the ledger's entry holds its units. */
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

/* For sorting: by the first, and where that is the same by the second. */
static inline int either(int first, int second)
{
    return first != 0 ? first : second;
}

static inline int compare_places(lt_place a, lt_place b)
{
    return either(compare(a.segment, b.segment), compare(a.number, b.number));
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
