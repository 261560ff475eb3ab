/*
 * fuzz_main.c - the entry of libFuzzer: one program for all targets. FUZZ in the environment names
 * the one to run.
 */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const fuzz_target *chosen;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *name = getenv("FUZZ");
    for (chosen = fuzz_targets; chosen->name; chosen++)
        if (name && strcmp(chosen->name, name) == 0)
            return 0;
    fprintf(stderr, "fuzz: FUZZ must name one of the targets in tests/fuzz/targets.c\n");
    exit(64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    chosen->try(data, len);
    return 0;
}

void fuzz_broken(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort(); /* libFuzzer then keeps the input */
}
