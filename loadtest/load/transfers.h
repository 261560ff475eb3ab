/*
 * transfers.h - libcurl transfers under epoll: a multi handle and the descriptors it cares about.
 *
 *     flight_start()   puts an easy handle into the air
 *     flight_wait()    waits for the network, but not beyond an instant, and moves all transfers
 *     flight_landed()  hands out those that ended, one by one
 *
 * A descriptor stays in the epoll set for as long as its connection lives. libcurl asks for it
 * to be taken out and put in again with every request; that would cost two calls to the kernel for
 * each. Edge-triggered events make it safe to leave an idle one in.
 *
 * Each easy handle keeps its connection in a cache of its own (a CURLSH), because libcurl searches
 * the common one from end to end for every request: with 10,000 connections that is all it does.
 *
 * One thread uses a flight; only flight_wake() may be called from any.
 */
#ifndef LOADTEST_TRANSFERS_H
#define LOADTEST_TRANSFERS_H

#include "loadtest/base/clock.h"

#include <curl/curl.h>
#include <stdbool.h>

struct flight;

/* For so many easy handles at most. NULL when descriptors or memory are short. */
struct flight *flight_new(int handles_max);
void flight_free(struct flight *flight); /* nothing may be in the air */

/* Puts a handle into the air. */
void flight_start(struct flight *flight, CURL *easy);

/* Takes a handle out of the air, whatever it was doing. */
void flight_abort(struct flight *flight, CURL *easy);

/* Waits until something happens, until `until`, or until flight_wake(), whichever is first. */
void flight_wait(struct flight *flight, mono_ns until);

/* A transfer that ended, already taken out of the air; NULL when there is none (any more). */
CURL *flight_landed(struct flight *flight, CURLcode *ret_code);

void flight_wake(struct flight *flight);

/* To be called when a connection's descriptor is about to be closed. */
void flight_forget(struct flight *flight, int fd);

#endif
