/*
 * campaign.h - lockload processes under faults, and histcheck's judgement of what they did.
 *
 *     campaign_begin(&c);
 *     campaign_load(&c, NULL, args);          // any number of them
 *     campaign_kill(&c, 0);                   // whatever is done to them is noted in the history
 *     if (campaign_judge(&c, options) != 0)
 *         fail_msg("%s", c.answer);
 *     campaign_end(&c);
 *
 * One campaign at a time, from the main thread.
 */
#ifndef TESTS_SUPPORT_CAMPAIGN_H
#define TESTS_SUPPORT_CAMPAIGN_H

#include "tests/support/fixture.h"
#include "tests/support/history.h"

#define CAMPAIGN_LOADS_MAX 8
#define CAMPAIGN_PIDS_MAX  32

typedef struct campaign {
    char name[72]; /* PROGRAM-NUMBER, unless its owner says otherwise */
    char dir[72];  /* of the history */
    fx_process *loads[CAMPAIGN_LOADS_MAX];
    int loads_len;
    pid_t pids[CAMPAIGN_PIDS_MAX]; /* of all loads, in the order in which they were started */
    int pids_len;
    int stalls;        /* times that the machine stood still */
    char answer[8192]; /* histcheck's */
} campaign;

void campaign_begin(campaign *c);

/* Starts `program` (NULL: this build's lockload) with the arguments, and --history. */
void campaign_load(campaign *c, const char *program, const char *const *args);

/* Returns once the process has ended. */
void campaign_kill(campaign *c, int index);
void campaign_stop(campaign *c, int index);
void campaign_continue(campaign *c, int index);

/* Notes a fault of another kind: void-*, outage-*. `lock` NULL: all of them. */
void campaign_note(event_kind what, const char *lock);

/* Lets `ms` pass. When the machine stood still meanwhile, an outage is noted: nobody can be blamed
 * for a time in which nothing ran. */
void campaign_pass(campaign *c, int ms);

/* Waits for all loads, then runs histcheck with the options: its exit code, its words in
 * c->answer. Loads that failed by themselves fail the test. */
int campaign_judge(campaign *c, const char *const *options);

void campaign_end(campaign *c);

#endif
