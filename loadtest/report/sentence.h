/*
 * sentence.h - the sentences on verdicts. They are made from the result file and added to it, so
 * the terminal, the page and other programs say the same.
 */
#ifndef LOADTEST_SENTENCE_H
#define LOADTEST_SENTENCE_H

#include <cjson/cJSON.h>

/*
 * Adds to each run "wrong", the figure of its verdict (null: INVALID has none), and "sentence"; to
 * the document "verdict", the worst that was not expected, and "headline".
 */
void sentence_add_all(cJSON *document);

/* What a violated member of "invariants" says. */
void sentence_of_violation(const cJSON *guarantee, char *text, size_t size);

#endif
