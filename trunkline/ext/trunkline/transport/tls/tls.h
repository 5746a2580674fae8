#ifndef TRUNKLINE_TRANSPORT_TLS_TLS_H
#define TRUNKLINE_TRANSPORT_TLS_TLS_H

#include "transport/events/clock.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TLS_CONTEXTS 32        /* that nobody uses are kept for the next one who asks */
#define TLS_STORES 8           /* kept for the life of the process: to parse one takes long */
#define TLS_SESSION_KEYS 512   /* of connections for which sessions are kept */
#define TLS_SESSIONS_PER_KEY 8 /* a server gives two a connection, and each serves once */

/*
 * TLS 1.2 and 1.3 by OpenSSL, over a socket that never blocks. One context for each set of options
 * in the process, one store of CA certificates for each set of CA files, sessions kept by the
 * connection's key and checked again when they are resumed.
 */
typedef struct tls_context tls_context;
typedef struct tls tls;

typedef struct {
    bool verify;         /* chain, host name or IP */
    bool any_name;       /* the chain alone: whatever name the certificate is for */
    const char *ca_file; /* NULL: the system's (SSL_CERT_FILE, SSL_CERT_DIR, OpenSSL's defaults) */
    const char *ca_path;
    struct x509_store_st *ca_store; /* instead of both; NULL: none. The context keeps a reference */
    const char *client_cert;        /* a PEM file: the certificate, and its chain behind it */
    const char *client_key;         /* a PEM file; NULL: in client_cert */
    int min_version;                /* 0x0303 (TLS 1.2) or 0x0304 */
    int max_version;                /* the same; 0: the newest there is */
    const char *ciphers;            /* for TLS 1.2, in OpenSSL's format; NULL: OpenSSL's default */
    const char *ciphersuites;       /* for TLS 1.3, "A:B"; NULL: OpenSSL's default */
    bool limit_depth;               /* false: OpenSSL's default depth */
    int verify_depth;               /* CA certificates between leaf and root, at most */
    const char *keylog;             /* file for SSLKEYLOGFILE lines; NULL: none */
    const char *alpn;               /* comma list, "http/1.1"; NULL: none is offered */
} tls_options;

/* The context for these options, with one reference for the caller: the same options (and files
 * unchanged since) give the same context. Its new connections follow files that change later, as
 * far as these can be used. NULL: see `f` (a file that cannot be read, a key that
 * does not fit: FAILURE_TLS_OPTIONS with the file's name in detail). Thread safe. The strings are
 * copied.
 */
tls_context *tls_context_obtain(const tls_options *options, failure *f);
tls_context *tls_context_keep(tls_context *c);
void tls_context_release(tls_context *c);      /* NULL is fine */
uint64_t tls_context_id(const tls_context *c); /* tells contexts apart in connection keys */

/* A TLS connection over `descriptor` (not owned), verified against `name` (a DNS name or an IP
 * literal). Sessions are kept under `key` (copied). NULL: see `f`. */
tls *tls_new(tls_context *c, int descriptor, const char *name, const void *key, size_t key_length,
             failure *f);

/* `t`, which is new, goes through `outer`, whose handshake is over: TLS in TLS, to a server behind
 * an https proxy. `outer` is owned by `t` from now on. */
void tls_nest(tls *t, tls *outer);

/* IO_DONE: verified (or verification is off). IO_READ, IO_WRITE; IO_FAILED: TLS or CERTIFICATE,
 * whose detail says which certificate (subject, depth), what was wrong, and what was expected. */
io_result tls_handshake(tls *t, failure *f);

/* IO_DONE with *count > 0, IO_READ, IO_WRITE, IO_END, IO_TRUNCATED (read only), IO_FAILED.
 * A write that was put off must be repeated with the same bytes (more may follow). */
io_result tls_read(tls *t, void *bytes, size_t length, size_t *count, failure *f);
io_result tls_write(tls *t, const void *bytes, size_t length, size_t *count, failure *f);

/* Bytes that were read from the socket already: poll would not tell of them. */
bool tls_pending(const tls *t);

/* Did the last read take all that the socket and OpenSSL had? */
bool tls_drained(const tls *t);

/* May a connection that lay idle be used? Session tickets and key updates are taken in; data, end
 * of file and errors say no. Never blocks. */
bool tls_check_alive(tls *t);

const char *tls_version(const tls *t); /* "TLSv1.3" */
const char *tls_cipher(const tls *t);
const char *tls_protocol(const tls *t); /* the ALPN result; NULL: none */
bool tls_resumed(const tls *t);
uint64_t
tls_sent(const tls *t); /* bytes of application data of which anything was handed to the socket */

/* Frees; a close_notify is tried when `notify` (never blocks). The session survives. NULL is fine.
 */
void tls_free(tls *t, bool notify);

/*
 * Around fork: before it threads that are inside OpenSSL are waited for, and no more are let in, so
 * that the child finds OpenSSL's locks free, for itself and for whoever else uses it there. When
 * one does not come out in time the fork goes on, and the child's own calls over TLS are refused:
 * they might wait for ever. The child starts without sessions.
 */
#define TLS_FORK_PATIENCE (500 * MILLISECOND)
void tls_before_fork(void);
void tls_after_fork(bool child);

/* Whoever calls OpenSSL does so between these two (they may nest), and waits for nothing there. */
void tls_enter(void);
void tls_leave(void);

#endif
