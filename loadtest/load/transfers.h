/*
 * transfers.h - libcurl transfers under epoll: a multi handle and the descriptors it cares about.
 *
 *     transfers_start()  starts an easy handle
 *     transfers_wait()   waits for the network, but not beyond an instant, and moves all transfers
 *     transfers_done()   hands out those that ended, one by one
 *
 * A descriptor stays in the epoll set for as long as its connection lives. libcurl asks for it
 * to be taken out and put in again with every request; that would cost two calls to the kernel for
 * each. An idle one is taken out when it has an event, which is its end. Other descriptors, as
 * those of libcurl's resolver, are taken out when it asks: nobody tells when they are closed.
 *
 * Each easy handle keeps its connection in a cache of its own (a CURLSH), because libcurl searches
 * the common one from end to end for every request: with 10,000 connections that is all it does.
 *
 * One thread uses them; only transfers_wake() may be called from any.
 */
#ifndef LOADTEST_TRANSFERS_H
#define LOADTEST_TRANSFERS_H

#include "loadtest/base/clock.h"

#include <curl/curl.h>
#include <stdbool.h>

typedef struct lt_transfers lt_transfers;

/* For at most so many easy handles. NULL when descriptors or memory are short. */
lt_transfers *transfers_new(int handles_max);
void transfers_free(lt_transfers *transfers); /* no transfer may be running */

/* Starts a handle. */
void transfers_start(lt_transfers *transfers, CURL *easy);

/* Ends a transfer, whatever it was doing. */
void transfers_abort(lt_transfers *transfers, CURL *easy);

/* Waits until something happens, until `until` (MONO_NEVER: nothing is due), until
 * transfers_wake(), or for 50 ms, whichever is first. */
void transfers_wait(lt_transfers *transfers, mono_ns until);

/* A transfer that ended, its handle free again; NULL when there is none (left). */
CURL *transfers_done(lt_transfers *transfers, CURLcode *ret);

void transfers_wake(lt_transfers *transfers);

/* To be called when a connection's descriptor has been made, and when it is about to be closed. */
void transfers_remember(lt_transfers *transfers, int fd);
void transfers_forget(lt_transfers *transfers, int fd);

#endif
