/* topology_private.h - what topology.c (its programs) and route.c (what is said to them)
 * share. */
#ifndef TESTS_SUPPORT_REDIS_TOPOLOGY_PRIVATE_H
#define TESTS_SUPPORT_REDIS_TOPOLOGY_PRIVATE_H

#include "tests/support/topology.h"

typedef struct fx_member {
    int port;
    bool is_sentinel;
    pid_t pid;           /* as the script has started it; 0 = killed */
    fx_process *process; /* since it was restarted, else NULL */
    bool stopped;        /* by SIGSTOP */
    redisContext *ctx;   /* NULL until asked for */
} fx_member;

struct fx_topology {
    fx_process *script;
    char kind[16], url[512], quorum[512], dir[256];
    int size;
    fx_member member[FX_MEMBERS_MAX];
    fx_topology *next; /* all that are not stopped yet */
};

/* Whether it can be asked: it runs, and is not stopped. */
bool fx_member_is_there(const fx_member *m);

/* Forgets the connection. */
void fx_member_hang_up(fx_member *m);

#endif
