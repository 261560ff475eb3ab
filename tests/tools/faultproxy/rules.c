/*
 * rules.c - reads a rule's words, and finds the first delay and the first other fault that hit
 * a message. Chance is a generator with a seed, so that a run can be repeated.
 */
#include "tests/tools/faultproxy/rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/tools/faultproxy/resp.h"

#define RULES_MAX 64

typedef enum fp_place { ANYWHERE, IN_SCRIPT, IN_WRITE } fp_place;

typedef enum fp_target { AT_REQUEST, AT_REPLY, AT_BOTH, AT_PUSH } fp_target;

struct rule {
    fp_target target;
    fp_fault fault; /* FAULT_NONE: a delay */
    int64_t delay_us, jitter_us;
    size_t truncate_bytes;
    double chance;   /* 1: always */
    int64_t nth;     /* 0: each; otherwise only the nth that matches */
    int64_t seen;    /* matching messages so far */
    fp_place place;  /* that `match` is looked for in */
    char match[128]; /* empty: all messages */
    char absent[64]; /* what a write does not contain; empty: nothing */
};

struct fp_rules {
    struct rule list[RULES_MAX];
    size_t len;
    uint64_t random;
    const fp_scripts *scripts; /* (borrowed) */
};

fp_rules *rules_new(uint64_t seed, const fp_scripts *scripts)
{
    fp_rules *rules = calloc(1, sizeof(*rules));
    if (rules) {
        rules->random = seed * 2 + 1;
        rules->scripts = scripts;
    }
    return rules;
}

void rules_free(fp_rules *rules)
{
    free(rules);
}

void rules_clear(fp_rules *rules)
{
    rules->len = 0;
}

/* xorshift64*: the same faults for the same seed. In [0, 1). */
static double next_random(fp_rules *rules)
{
    uint64_t x = rules->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    rules->random = x;
    return (double)((x * 0x2545F4914F6CDD1DULL) >> 11) / 9007199254740992.0;
}

/* ---- reading a line -------------------------------------------------------------------------- */

/* Takes `word` off the front of *line when it stands there. */
static bool take(const char **line, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*line, word, len) != 0 || ((*line)[len] != '\0' && (*line)[len] != ' '))
        return false;
    *line += len;
    *line += strspn(*line, " ");
    return true;
}

int64_t rules_duration_us(const char *text, const char **ret_end)
{
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
    char *end;
    double number = strtod(text, &end);
    if (end == text || number < 0)
        return -1;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const char *rest = end;
        if (take(&rest, units[i].unit)) {
            *ret_end = rest;
            return (int64_t)(number * units[i].us);
        }
    }
    return -1;
}

static bool take_duration(const char **line, int64_t *ret_us)
{
    *ret_us = rules_duration_us(*line, line);
    return *ret_us >= 0;
}

/* [PERCENT%] [NTH] [match [script] TEXT | match write TEXT [not TEXT]] */
static bool take_selector(const char **line, struct rule *rule)
{
    char *end;
    double number = isdigit((unsigned char)**line) ? strtod(*line, &end) : -1;
    if (number >= 0 && *end == '%') {
        rule->chance = number / 100;
        *line = end + 1 + strspn(end + 1, " ");
    }
    if (isdigit((unsigned char)**line)) {
        rule->nth = strtoll(*line, &end, 10);
        if (rule->nth < 1 || (*end && *end != ' '))
            return false;
        *line = end + strspn(end, " ");
    }
    if (take(line, "match")) {
        rule->place = take(line, "script") ? IN_SCRIPT : take(line, "write") ? IN_WRITE : ANYWHERE;
        const char *not = rule->place == IN_WRITE ? strstr(*line, " not ") : NULL;
        int len = not ? (int)(not -*line) : (int)strlen(*line);
        snprintf(rule->match, sizeof(rule->match), "%.*s", len, *line);
        snprintf(rule->absent, sizeof(rule->absent), "%s", not ? not +strlen(" not ") : "");
        *line += strlen(*line);
        return len > 0 && (size_t)len < sizeof(rule->match);
    }
    return **line == '\0';
}

static bool take_delay(const char **line, struct rule *rule)
{
    rule->target = take(line, "request") ? AT_REQUEST : take(line, "reply") ? AT_REPLY : AT_BOTH;
    if (!take_duration(line, &rule->delay_us))
        return false;
    return !take(line, "jitter") || take_duration(line, &rule->jitter_us);
}

static bool take_truncate(const char **line, struct rule *rule)
{
    char *end;
    rule->fault = FAULT_TRUNCATE;
    rule->target = AT_REPLY;
    rule->truncate_bytes = (size_t)strtoull(*line, &end, 10);
    bool ok = end != *line && isdigit((unsigned char)**line);
    *line = end + strspn(end, " ");
    return ok;
}

/* The words that stand for one fault at one place. */
static bool take_fixed_fault(const char **line, struct rule *rule)
{
    static const struct {
        const char *verb, *where;
        fp_fault fault;
        fp_target target;
    } table[] = {
        {"drop", "request", FAULT_DROP, AT_REQUEST}, {"drop", "reply", FAULT_DROP, AT_REPLY},
        {"drop", "push", FAULT_DROP, AT_PUSH},       {"reset", "before", FAULT_RESET, AT_REQUEST},
        {"reset", "after", FAULT_RESET, AT_REPLY},   {"halfopen", NULL, FAULT_STALL, AT_REQUEST},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *at = *line;
        if (!take(&at, table[i].verb) || (table[i].where && !take(&at, table[i].where)))
            continue;
        *line = at;
        rule->fault = table[i].fault;
        rule->target = table[i].target;
        return true;
    }
    return false;
}

bool rules_add(fp_rules *rules, const char *line, char *err, size_t err_len)
{
    struct rule rule = {.chance = 1};
    const char *at = line;
    bool ok = take(&at, "delay")      ? take_delay(&at, &rule)
              : take(&at, "truncate") ? take_truncate(&at, &rule)
                                      : take_fixed_fault(&at, &rule);
    if (!ok || !take_selector(&at, &rule)) {
        snprintf(err, err_len, "not understood: '%s'", line);
        return false;
    }
    if (rules->len == RULES_MAX) {
        snprintf(err, err_len, "more than %d rules", RULES_MAX);
        return false;
    }
    rules->list[rules->len++] = rule;
    return true;
}

/* ---- judging a message ----------------------------------------------------------------------- */

/* Whether `needle` stands in the bytes, in upper or lower case. */
static bool contains(const char *bytes, size_t len, const char *needle)
{
    size_t needle_len = strlen(needle);
    for (size_t i = 0; i + needle_len <= len; i++) {
        if (strncasecmp(bytes + i, needle, needle_len) == 0)
            return true;
    }
    return false;
}

/* The text of the script that is called. NULL: it is no such call, or the text was never seen. */
static const char *script_of(const fp_rules *rules, const char *request, size_t len,
                             size_t *ret_len)
{
    const char *word;
    size_t word_len;
    bool by_sha = resp_word_is(request, len, 0, "EVALSHA");
    if ((!by_sha && !resp_word_is(request, len, 0, "EVAL")) ||
        !resp_word(request, len, 1, &word, &word_len))
        return NULL;
    *ret_len = word_len;
    if (!by_sha)
        return word;
    return word_len == SCRIPT_SHA_LEN ? scripts_text(rules->scripts, word, ret_len) : NULL;
}

/* Scripts say on their first line that they only read. */
static bool may_write(const fp_rules *rules, const char *request, size_t len)
{
    static const char *const reads[] = {"GET",  "MGET",   "HGET",   "HMGET",  "HGETALL", "HLEN",
                                        "LLEN", "LRANGE", "EXISTS", "TYPE",   "TTL",     "PTTL",
                                        "TIME", "WATCH",  "SCRIPT", "ZSCORE", NULL};
    size_t text_len = 0;
    const char *text = script_of(rules, request, len, &text_len);
    const char *end = text ? memchr(text, '\n', text_len) : NULL;
    if (end)
        return !contains(text, (size_t)(end - text), "no-writes");
    for (int i = 0; reads[i]; i++)
        if (resp_word_is(request, len, 0, reads[i]))
            return false;
    return true;
}

/* A transaction's writes take place with its EXEC. */
static bool hits_write(const fp_rules *rules, const struct rule *rule, fp_transaction *of,
                       const char *request, size_t len)
{
    uint64_t bit = UINT64_C(1) << (rule - rules->list);
    if (resp_word_is(request, len, 0, "EXEC"))
        return of->hits & bit;
    bool found = contains(request, len, rule->match) && may_write(rules, request, len) &&
                 !(rule->absent[0] && contains(request, len, rule->absent));
    if (of->open && found)
        of->hits |= bit;
    return found && !of->open;
}

static bool matches(const fp_rules *rules, const struct rule *rule, fp_transaction *of,
                    const char *message, size_t len)
{
    size_t text_len = 0;
    const char *text = NULL;
    if (rule->place == IN_WRITE)
        return of && hits_write(rules, rule, of, message, len);
    if (rule->place == ANYWHERE)
        return contains(message, len, rule->match);
    text = script_of(rules, message, len, &text_len);
    return text && contains(text, text_len, rule->match);
}

static bool hits(fp_rules *rules, struct rule *rule, fp_transaction *of, const char *message,
                 size_t len)
{
    if (rule->match[0] && !matches(rules, rule, of, message, len))
        return false;
    rule->seen++;
    if (rule->nth && rule->seen != rule->nth)
        return false;
    return rule->chance >= 1 || next_random(rules) < rule->chance;
}

/* Half of a round trip's delay, its share of the jitter included; all of it one way. */
static int64_t delay_of(fp_rules *rules, const struct rule *rule)
{
    int64_t us = rule->delay_us;
    if (rule->jitter_us)
        us += (int64_t)(next_random(rules) * (double)rule->jitter_us);
    return rule->target == AT_BOTH ? us / 2 : us;
}

static void apply(fp_rules *rules, const struct rule *rule, fp_judgement *judgement)
{
    if (rule->fault == FAULT_NONE && judgement->delay_us == 0)
        judgement->delay_us = delay_of(rules, rule);
    if (rule->fault != FAULT_NONE && judgement->fault == FAULT_NONE) {
        judgement->fault = rule->fault;
        judgement->truncate_bytes = rule->truncate_bytes;
    }
}

fp_verdict rules_judge(fp_rules *rules, fp_transaction *of, const char *request, size_t len)
{
    fp_verdict verdict = {0};
    if (resp_word_is(request, len, 0, "MULTI"))
        *of = (fp_transaction){.open = true};
    for (size_t i = 0; i < rules->len; i++) {
        struct rule *rule = &rules->list[i];
        if (rule->target == AT_PUSH || !hits(rules, rule, of, request, len))
            continue;
        if (rule->target != AT_REPLY)
            apply(rules, rule, &verdict.request);
        if (rule->target != AT_REQUEST)
            apply(rules, rule, &verdict.reply);
    }
    if (resp_word_is(request, len, 0, "EXEC") || resp_word_is(request, len, 0, "DISCARD"))
        *of = (fp_transaction){0};
    return verdict;
}

fp_judgement rules_judge_push(fp_rules *rules, const char *push, size_t len)
{
    fp_judgement judgement = {0};
    for (size_t i = 0; i < rules->len; i++) {
        struct rule *rule = &rules->list[i];
        bool plain_delay = rule->fault == FAULT_NONE && rule->target != AT_REQUEST &&
                           !rule->match[0] && !rule->nth && rule->chance >= 1;
        if (plain_delay || (rule->target == AT_PUSH && hits(rules, rule, NULL, push, len)))
            apply(rules, rule, &judgement);
    }
    return judgement;
}
