/*
 * TLS on a connection: who is trusted, the handshake, and what TLS itself holds of what arrived.
 * hiredis's own handshake blocks, and does not compare the certificate's name with the host's.
 *
 * In a build without TLS no address asks for it (address.c), so none of this is reached.
 */
#ifndef DLOCK_REDIS_TLS_H
#define DLOCK_REDIS_TLS_H

#include "dlock_redis.h"

/* Who is trusted, and the client's own certificate. Shared by all connections and threads. */
typedef struct tls_trust tls_trust;

/* As the environment says, see "TLS" in dlock_redis.h. NULL and a sentence in err: a file can not
 * be read. */
tls_trust *dlock_tls_trust_new(char *err, size_t err_len);
void dlock_tls_trust_free(tls_trust *trust); /* NULL is allowed */

/* One connection's TLS, freed with its redisContext. */
typedef struct ssl_st tls_link;

/* Begins the handshake on a connected, non-blocking context with `host`. NULL and a sentence in
 * err: the context is not to be used. */
tls_link *dlock_tls_start(tls_trust *trust, redisContext *ctx, const char *host, char *err,
                          size_t err_len);

/* Goes on with it, and checks the certificate: its chain, its time, and that it is the host's.
 * Returns what poll() is to wait for before the next step; 0: it is done; -1 and a sentence in err:
 * the context is not to be used. Until it is done nothing of Redis's protocol has been sent. */
int dlock_tls_step(tls_link *link, char *err, size_t err_len);

/* To be called before the context reads or writes: OpenSSL takes an older error of this thread for
 * one of this connection. */
void dlock_tls_begin(void);

/* Why reading or writing failed just now, in a form that lives on; NULL: hiredis knows better. */
const char *dlock_tls_error(const tls_link *link);

/* Whether bytes have been taken from the socket already, and decrypted. */
bool dlock_tls_pending(const tls_link *link);

/* Asked when the socket is readable: whether a byte for the application is there, or the end. What
 * TLS had to say for itself, a session ticket for one, is taken in. */
bool dlock_tls_readable(tls_link *link);

#endif
