/* buyer.c - what a test itself asks about the crew's first sale: crew.h declares it. */
#include <stdio.h>

#include "tests/support/sale/crew.h"

int crew_ask(const char *request, int user, int quantity, int at)
{
    return fx_sale_ask(crew_sale(0), request, user, quantity, at).status;
}

int crew_look(const char *request, int at)
{
    return fx_sale_look(crew_sale(0), request, at);
}

static void *buy_one(void *arg)
{
    crew_buyer *buyer = arg;
    buyer->status = crew_ask(buyer->request, buyer->user, 1, buyer->at);
    atomic_store(&buyer->done, true);
    return NULL;
}

void crew_send(crew_buyer *buyer, const char *request, int user, int at)
{
    *buyer = (crew_buyer){.user = user, .at = at};
    snprintf(buyer->request, sizeof(buyer->request), "%s", request);
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy_one, buyer), 0);
}

int crew_answer(crew_buyer *buyer)
{
    pthread_join(buyer->thread, NULL);
    return buyer->status;
}

typedef struct repetition {
    const crew_buyer *buyer;
    int at;
} repetition;

static bool has_definite_answer(void *arg)
{
    const repetition *r = arg;
    int status = crew_ask(r->buyer->request, r->buyer->user, 1, r->at);
    return status == 201 || status == 409;
}

bool crew_settle(const crew_buyer *buyer, int at, int deadline_ms)
{
    repetition r = {buyer, at};
    return fx_wait_until(has_definite_answer, &r, deadline_ms);
}
