/*
 * problem.h - refusals as RFC 9457 problem details, with a code that never changes.
 *
 *     {"type":"about:blank","title":"Conflict","status":409,"code":"sold_out","detail":"..."}
 */
#ifndef FLASHSALE_PROBLEM_H
#define FLASHSALE_PROBLEM_H

#include "server/api/router.h"

/* Fills the reply; `detail` is one sentence for people. */
void problem(api_reply *reply, int status, const char *code, const char *detail);

/* The same with further members: ",\"name\":value...", ready-made JSON. */
void problem_with(api_reply *reply, int status, const char *code, const char *detail,
                  const char *members);

/* The reason phrase of a status, "Not Found" for one. Never NULL. */
const char *problem_title(int status);

#endif
