/*
 * test_corpora.c - the targets of `make fuzz` over the kept corpora, and over a few thousand random
 * changes to each of them, as normal objects: neither clang nor libFuzzer is needed.
 *
 *   FUZZ_SEED=N   other changes; FUZZ_MORE=N   N times as many
 *
 * The changes are the same at every run unless FUZZ_SEED says otherwise: to look for what is not
 * known as yet is what `make fuzz` is for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/fixture.h"

enum { FILES_MAX = 256, SEED_USUAL = 1 };

typedef struct input {
    char name[256];
    uint8_t *bytes;
    size_t len;
} input;

typedef struct corpus {
    input inputs[FILES_MAX];
    size_t len;
} corpus;

static corpus kept;
static struct {
    const char *target, *file;
    uint64_t seed;
    int mutation; /* 0 = the file itself */
    const uint8_t *bytes;
    size_t len;
} now;

/* Fails the case, and shows what was fed so that it can be kept as a file. */
void fuzz_broken(const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    print_message("%s, corpus file %s, change %d of seed %llu, %zu bytes:\n", now.target, now.file,
                  now.mutation, (unsigned long long)now.seed, now.len);
    for (size_t i = 0; i < now.len; i++)
        print_message(now.bytes[i] >= ' ' && now.bytes[i] < 127 && now.bytes[i] != '\\' ? "%c"
                                                                                        : "\\x%02x",
                      now.bytes[i]);
    print_message("\n");
    fail_msg("%s", what);
    abort();
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_input(const char *dir, const char *name, input *ret)
{
    char path[768];
    static uint8_t bytes[MUTATE_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s can not be read", path);
    ret->len = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ret->bytes = malloc(ret->len + 1);
    assert_non_null(ret->bytes);
    memcpy(ret->bytes, bytes, ret->len);
    snprintf(ret->name, sizeof(ret->name), "%s", name);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const input *)left)->name, ((const input *)right)->name);
}

static void read_folder(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("%s is not there", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        assert_in_range(kept.len, 0, FILES_MAX - 1);
        read_input(path, entry->d_name, &kept.inputs[kept.len++]);
    }
    closedir(dir);
}

/* A folder's files have no order, and the changes depend on it: so they are sorted. */
static void read_corpus(const fuzz_target *target)
{
    char path[512];
    snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", target->name);
    read_folder(path);
    if (target->also)
        read_folder(target->also);
    qsort(kept.inputs, kept.len, sizeof(input), by_name);
}

static int forget_corpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < kept.len; i++)
        free(kept.inputs[i].bytes);
    kept.len = 0;
    return 0;
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void try_one(const fuzz_target *target, const uint8_t *bytes, size_t len)
{
    now.bytes = bytes;
    now.len = len;
    target->try(bytes, len);
}

static void try_changes(const fuzz_target *target)
{
    static uint8_t bytes[MUTATE_MAX];
    mutator dice = mutate_begin(now.seed);
    int changes = target->mutations * (int)number_of("FUZZ_MORE", 1);
    for (now.mutation = 1; now.mutation <= changes; now.mutation++) {
        const input *one = &kept.inputs[mutate_below(&dice, kept.len)];
        const input *other = &kept.inputs[mutate_below(&dice, kept.len)];
        now.file = one->name;
        memcpy(bytes, one->bytes, one->len);
        size_t len = mutate(&dice, bytes, one->len, other->bytes, other->len);
        try_one(target, bytes, len);
    }
}

static void corpus_and_changes_hold(void **state)
{
    const fuzz_target *target = *state;
    read_corpus(target);
    now.target = target->name;
    now.seed = number_of("FUZZ_SEED", SEED_USUAL);
    now.mutation = 0;
    for (size_t i = 0; i < kept.len; i++) {
        now.file = kept.inputs[i].name;
        try_one(target, kept.inputs[i].bytes, kept.inputs[i].len);
    }
    if (kept.len < 8)
        fail_msg("%s has a corpus of %zu files only", target->name, kept.len);
    try_changes(target);
    print_message("%zu files, %d changes, seed %llu\n", kept.len, now.mutation - 1,
                  (unsigned long long)now.seed);
}

int main(void)
{
    struct CMUnitTest tests[32];
    size_t count = 0;
    for (const fuzz_target *target = fuzz_targets; target->name; target++)
        tests[count++] = (struct CMUnitTest){.name = target->name,
                                             .test_func = corpus_and_changes_hold,
                                             .teardown_func = forget_corpus,
                                             .initial_state = (void *)target};
    return _cmocka_run_group_tests("corpora", tests, count, NULL, NULL);
}
