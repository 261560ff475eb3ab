/*
 * hiredis begins the handshake, which makes it read and write through TLS. This file drives it to
 * its end, by the caller's deadline. OpenSSL checks the certificate meanwhile; it is told before
 * which name or IP address to expect.
 */
#include "redis/tls.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef DLOCK_TLS

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

struct tls_trust {
    SSL_CTX *ctx;
};

/* ---- who is trusted -------------------------------------------------------------------------- */

/* OpenSSL reads both variables by itself, and says nothing of a file that is not there. */
static const char *load_authorities(SSL_CTX *ctx)
{
    const char *file = getenv(X509_get_default_cert_file_env());
    const char *dir = getenv(X509_get_default_cert_dir_env());
    if (SSL_CTX_set_default_verify_paths(ctx) != 1)
        return "the system's certificate authorities can not be read";
    if (file && SSL_CTX_load_verify_file(ctx, file) != 1)
        return "no certificate can be read from SSL_CERT_FILE";
    if (dir && SSL_CTX_load_verify_dir(ctx, dir) != 1)
        return "SSL_CERT_DIR can not be read";
    return NULL;
}

static const char *load_own_certificate(SSL_CTX *ctx)
{
    const char *cert = getenv("DLOCK_TLS_CERT");
    const char *key = getenv("DLOCK_TLS_KEY");
    if (!cert && !key)
        return NULL;
    if (!cert || !key)
        return "DLOCK_TLS_CERT and DLOCK_TLS_KEY go together";
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return "no certificate can be read from DLOCK_TLS_CERT";
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return "no key of DLOCK_TLS_CERT's certificate can be read from DLOCK_TLS_KEY";
    return NULL;
}

tls_trust *dlock_tls_trust_new(char *err, size_t err_len)
{
    tls_trust *trust = calloc(1, sizeof(*trust));
    SSL_CTX *ctx = trust ? SSL_CTX_new(TLS_client_method()) : NULL;
    const char *wrong = "out of memory";
    if (ctx) {
        trust->ctx = ctx;
        SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
        SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION); /* a write never waits for a read */
        /* What a write has not sent yet is less than a record, which nobody can decrypt. */
        SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        wrong = load_authorities(ctx);
        if (!wrong)
            wrong = load_own_certificate(ctx);
    }
    ERR_clear_error();
    if (!wrong)
        return trust;
    snprintf(err, err_len, "TLS: %s", wrong);
    dlock_tls_trust_free(trust);
    return NULL;
}

void dlock_tls_trust_free(tls_trust *trust)
{
    if (!trust)
        return;
    SSL_CTX_free(trust->ctx);
    free(trust);
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* The certificate has to be for this host; a name is also told to the server (SNI). */
static bool expect_host(SSL *ssl, const char *host)
{
    unsigned char ip[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* Why the last handshake failed, in OpenSSL's words; `otherwise` if it says nothing. */
static void say_why(const SSL *ssl, const char *otherwise, char *err, size_t err_len)
{
    long verified = SSL_get_verify_result(ssl);
    unsigned long last = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(last);
    const char *hint = "";
    if (reason && ERR_GET_REASON(last) == SSL_R_WRONG_VERSION_NUMBER)
        hint = "; does it speak TLS on this port?";
    if (verified != X509_V_OK)
        snprintf(err, err_len, "TLS: the server's certificate: %s",
                 X509_verify_cert_error_string(verified));
    else
        snprintf(err, err_len, "TLS: %s%s", reason ? reason : otherwise, hint);
    ERR_clear_error();
}

tls_link *dlock_tls_start(tls_trust *trust, redisContext *ctx, const char *host, char *err,
                          size_t err_len)
{
    SSL *ssl = SSL_new(trust->ctx);
    if (!ssl || !expect_host(ssl, host)) {
        snprintf(err, err_len, "TLS: out of memory, or the host's name is none");
        SSL_free(ssl);
        return NULL;
    }
    if (redisInitiateSSL(ctx, ssl) != REDIS_OK) { /* goes as far as it can without waiting */
        say_why(ssl, ctx->errstr, err, err_len);
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

int dlock_tls_step(tls_link *link, char *err, size_t err_len)
{
    ERR_clear_error();
    errno = 0;
    int rv = SSL_connect(link);
    if (rv == 1)
        return 0;
    switch (SSL_get_error(link, rv)) {
    case SSL_ERROR_WANT_READ:
        return POLLIN;
    case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
    default:
        say_why(link, errno ? strerrordesc_np(errno) : "the server ended it", err, err_len);
        return -1;
    }
}

/* ---- afterwards ------------------------------------------------------------------------------ */

void dlock_tls_begin(void)
{
    ERR_clear_error();
}

const char *dlock_tls_error(const tls_link *link)
{
    return link ? ERR_reason_error_string(ERR_peek_last_error()) : NULL;
}

bool dlock_tls_pending(const tls_link *link)
{
    return SSL_pending(link) > 0;
}

bool dlock_tls_readable(tls_link *link)
{
    char byte;
    ERR_clear_error();
    int rv = SSL_peek(link, &byte, 1);
    int error = SSL_get_error(link, rv);
    return error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
}

#else

tls_trust *dlock_tls_trust_new(char *err, size_t err_len)
{
    snprintf(err, err_len, "TLS: this build has none");
    return NULL;
}

void dlock_tls_trust_free(tls_trust *trust)
{
    (void)trust;
}

tls_link *dlock_tls_start(tls_trust *trust, redisContext *ctx, const char *host, char *err,
                          size_t err_len)
{
    (void)trust, (void)ctx, (void)host;
    snprintf(err, err_len, "TLS: this build has none");
    return NULL;
}

int dlock_tls_step(tls_link *link, char *err, size_t err_len)
{
    (void)link;
    snprintf(err, err_len, "TLS: this build has none");
    return -1;
}

void dlock_tls_begin(void)
{
}

const char *dlock_tls_error(const tls_link *link)
{
    (void)link;
    return NULL;
}

bool dlock_tls_pending(const tls_link *link)
{
    (void)link;
    return false;
}

bool dlock_tls_readable(tls_link *link)
{
    (void)link;
    return true;
}

#endif
