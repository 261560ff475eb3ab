/*
 * fuzz.h - the parsers that bytes from outside reach, and what must hold for whatever they are fed.
 *
 * A target is a function of bytes that reads them with one parser and looks for more than a crash:
 * what was accepted has the form that was promised, says the same when it is written and read once
 * more, and is not accepted when something is cut off or added. The same targets run under
 * libFuzzer (`make fuzz`, fuzz_main.c) and, over the kept corpora, in `make test` (test_corpora.c).
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name; /* of its folder in corpus/, too */
    const char *also; /* another folder with inputs; NULL = none */
    void (*try)(const uint8_t *data, size_t len);
    int mutations; /* how many `make test` tries beyond the corpus */
} fuzz_target;

/* The last one has no name. */
extern const fuzz_target fuzz_targets[];

/* Called when something does not hold, with a sentence; does not return. Whoever runs the targets
 * defines it. */
__attribute__((format(printf, 1, 2), noreturn)) void fuzz_broken(const char *format, ...);

#define FUZZ_HOLDS(condition, what)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_broken("%s:%d: %s", __FILE__, __LINE__, what);                                    \
    } while (0)

/* The bytes as a text of its own, NUL behind them; exits when there is no memory. Ends at the first
 * NUL among them, as the text that a header or an option is. Free it. */
char *fuzz_text(const uint8_t *data, size_t len);

void fuzz_address(const uint8_t *data, size_t len);
void fuzz_buys(const uint8_t *data, size_t len);
void fuzz_history(const uint8_t *data, size_t len);
void fuzz_key(const uint8_t *data, size_t len);
void fuzz_order(const uint8_t *data, size_t len);
void fuzz_query(const uint8_t *data, size_t len);
void fuzz_redis_error(const uint8_t *data, size_t len);
void fuzz_request(const uint8_t *data, size_t len);
void fuzz_sale_request(const uint8_t *data, size_t len);

#endif
