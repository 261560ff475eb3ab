/*
 * The types of a bench file's members as tables. The page relies on them: it draws numbers and
 * shows texts as text. Members that no table names are kept, and shown only as JSON.
 */
#include "loadtest/report/bench_file.h"

#include "loadtest/report/json_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

typedef enum member_kind {
    KIND_NUMBER,  /* finite, as all numbers here */
    KIND_TEXT,    /* a string */
    KIND_WORD,    /* a string that must be there */
    KIND_LABEL,   /* a string or a number */
    KIND_FLAG,    /* true or false */
    KIND_PAIR,    /* [least, most] */
    KIND_NUMBERS, /* an object of numbers */
    KIND_LIST     /* an array of objects, whose members another table names */
} member_kind;

typedef struct member_table member_table;

typedef struct member {
    const char *name;
    member_kind kind;
    const member_table *of; /* KIND_LIST */
} member;

struct member_table {
    const member *members;
    size_t count;
};

static const member row_members[] = {
    {"case", KIND_WORD, NULL},
    {"strategy", KIND_WORD, NULL},
    {"durability", KIND_TEXT, NULL},
    {"users", KIND_NUMBER, NULL},
    {"items", KIND_NUMBER, NULL},
    {"hold_ms", KIND_NUMBER, NULL},
    {"think_ms", KIND_NUMBER, NULL},
    {"rtt_ms", KIND_NUMBER, NULL},
    {"offered_rps", KIND_NUMBER, NULL},
    {"viewers", KIND_NUMBER, NULL},
    {"throughput_rps", KIND_NUMBER, NULL},
    {"range_rps", KIND_PAIR, NULL},
    {"p50_ms", KIND_NUMBER, NULL},
    {"range_p50_ms", KIND_PAIR, NULL},
    {"p99_ms", KIND_NUMBER, NULL},
    {"range_p99_ms", KIND_PAIR, NULL},
    {"p999_ms", KIND_NUMBER, NULL},
    {"fairness", KIND_NUMBER, NULL},
    {"redis_cmds_per_order", KIND_NUMBER, NULL},
    {"redis_round_trips_per_order", KIND_NUMBER, NULL},
    {"cpu_us_per_order", KIND_NUMBER, NULL},
    {"cpu_us", KIND_NUMBERS, NULL},
};
static const member ratio_members[] = {{"name", KIND_TEXT, NULL},     {"value", KIND_NUMBER, NULL},
                                       {"low", KIND_NUMBER, NULL},    {"high", KIND_NUMBER, NULL},
                                       {"rounds", KIND_NUMBER, NULL}, {"bar", KIND_NUMBER, NULL},
                                       {"state", KIND_TEXT, NULL}};
static const member lock_members[] = {
    {"kind", KIND_TEXT, NULL},
    {"processes", KIND_NUMBER, NULL},
    {"threads", KIND_NUMBER, NULL},
    {"think_ms", KIND_LABEL, NULL}, /* "1-3" */
    {"hold_ms", KIND_NUMBER, NULL},
    {"ops_per_s", KIND_NUMBER, NULL},
    {"handoff_us", KIND_NUMBERS, NULL},
    {"acquire_us", KIND_NUMBERS, NULL},
    {"fairness", KIND_NUMBER, NULL},
    {"redis_cmds_per_op", KIND_NUMBER, NULL},
    {"round_trips_per_op", KIND_NUMBER, NULL},
    {"cpu_us_per_op", KIND_NUMBER, NULL},
    {"canary_lost", KIND_NUMBER, NULL},
};
static const member growth_members[] = {{"orders", KIND_NUMBER, NULL},
                                        {"throughput_rps", KIND_NUMBER, NULL},
                                        {"bytes_per_order", KIND_NUMBER, NULL}};

static const member_table rows = {row_members, COUNT(row_members)};
static const member_table ratios = {ratio_members, COUNT(ratio_members)};
static const member_table locks = {lock_members, COUNT(lock_members)};
static const member_table growth = {growth_members, COUNT(growth_members)};

static const member top_members[] = {
    {"quick", KIND_FLAG, NULL},   {"rows", KIND_LIST, &rows},     {"ratios", KIND_LIST, &ratios},
    {"locks", KIND_LIST, &locks}, {"memory", KIND_NUMBERS, NULL}, {"growth", KIND_LIST, &growth}};
static const member_table top = {top_members, COUNT(top_members)};

/* ---- checking -------------------------------------------------------------------------------- */

static bool is_number(const cJSON *value)
{
    return cJSON_IsNumber(value) && isfinite(value->valuedouble);
}

static bool are_numbers(const cJSON *value)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, value) {
        if (!is_number(each) && !cJSON_IsNull(each))
            return false;
    }
    return true;
}

static bool is_of_kind(const cJSON *value, member_kind kind)
{
    switch (kind) {
    case KIND_NUMBER:
        return is_number(value);
    case KIND_TEXT:
    case KIND_WORD:
        return cJSON_IsString(value);
    case KIND_LABEL:
        return cJSON_IsString(value) || is_number(value);
    case KIND_FLAG:
        return cJSON_IsBool(value);
    case KIND_PAIR:
        return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 && are_numbers(value);
    case KIND_NUMBERS:
        return cJSON_IsObject(value) && are_numbers(value);
    default:
        return cJSON_IsArray(value);
    }
}

static const char *kind_name(member_kind kind)
{
    static const char *const names[] = {[KIND_NUMBER] = "a number",
                                        [KIND_TEXT] = "a text",
                                        [KIND_WORD] = "a text",
                                        [KIND_LABEL] = "a text or a number",
                                        [KIND_FLAG] = "true or false",
                                        [KIND_PAIR] = "a pair of numbers",
                                        [KIND_NUMBERS] = "an object of numbers",
                                        [KIND_LIST] = "a list of objects"};
    return names[kind];
}

static const member *member_named(const member_table *table, const char *name)
{
    for (size_t i = 0; name && i < table->count; i++) {
        if (strcmp(table->members[i].name, name) == 0)
            return &table->members[i];
    }
    return NULL;
}

/* Where in the file something is: "rows[3].", or "" at its top. */
typedef struct place {
    char text[64];
} place;

static bool check_object(const cJSON *object, const member_table *table, const place *at, char *err,
                         size_t err_len);

static bool check_list(const cJSON *list, const member *named, char *err, size_t err_len)
{
    int index = 0;
    const cJSON *each;
    cJSON_ArrayForEach(each, list) {
        place at;
        snprintf(at.text, sizeof(at.text), "%s[%d].", named->name, index++);
        if (!cJSON_IsObject(each)) {
            snprintf(err, err_len, "%.*s is not an object", (int)strlen(at.text) - 1, at.text);
            return false;
        }
        if (!check_object(each, named->of, &at, err, err_len))
            return false;
    }
    return true;
}

/* Looks at every member in the file, so a member that stands twice is checked twice. */
static bool check_object(const cJSON *object, const member_table *table, const place *at, char *err,
                         size_t err_len)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, object) {
        const member *named = member_named(table, each->string);
        if (!named || (cJSON_IsNull(each) && named->kind != KIND_WORD))
            continue;
        if (!is_of_kind(each, named->kind)) {
            snprintf(err, err_len, "%s%s is not %s", at->text, named->name, kind_name(named->kind));
            return false;
        }
        if (named->kind == KIND_LIST && !check_list(each, named, err, err_len))
            return false;
    }
    for (size_t i = 0; i < table->count; i++) {
        const member *word = &table->members[i];
        if (word->kind == KIND_WORD && !cJSON_GetObjectItemCaseSensitive(object, word->name)) {
            snprintf(err, err_len, "%s%s is missing", at->text, word->name);
            return false;
        }
    }
    return true;
}

cJSON *bench_file_read(const char *path, char *err, size_t err_len)
{
    static const char kind[] = "a bench file (schema 1)";
    cJSON *json = json_file_read(path, kind, err, err_len);
    char why[256] = "rows is missing";
    if (!json)
        return NULL;
    if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(json, "rows")) &&
        check_object(json, &top, &(place){""}, why, sizeof(why)))
        return json;
    snprintf(err, err_len, "%s is not %s: %s", path, kind, why);
    cJSON_Delete(json);
    return NULL;
}
