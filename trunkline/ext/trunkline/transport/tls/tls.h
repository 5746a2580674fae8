#ifndef TRUNKLINE_TRANSPORT_TLS_TLS_H
#define TRUNKLINE_TRANSPORT_TLS_TLS_H

#include "transport/events/arrival.h"
#include "transport/events/clock.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TLS_CONTEXTS 32        /* kept; beyond these, unused ones are freed */
#define TLS_STORES 8           /* CA stores kept, because parsing one takes long */
#define TLS_SESSION_KEYS 512   /* connection keys with sessions to resume */
#define TLS_SESSIONS_PER_KEY 8 /* servers send two tickets a connection, each for one use */
#define TLS_RENEGOTIATIONS 4   /* before data come; the server may begin no more */

/*
 * TLS 1.2 and 1.3 by OpenSSL, over non-blocking sockets. The process has one context for each set
 * of options and one store for each set of CA files. Sessions are kept by the connection's key, and
 * their certificates verified again when they are resumed.
 */
typedef struct tls_context tls_context;
typedef struct tls tls;

typedef struct {
    bool verify;         /* chain, host name or IP */
    bool any_name;       /* the chain alone: whatever name the certificate is for */
    bool common_name;    /* Ruby's rule: it counts where there is no alternative name of a host */
    const char *ca_file; /* NULL: the system's (SSL_CERT_FILE, SSL_CERT_DIR, OpenSSL's defaults) */
    const char *ca_path;
    struct x509_store_st *ca_store; /* instead of both; NULL: none. The context keeps a reference */
    /* PEM, as a file's path or as text: the certificate, and its chain behind it */
    const char *client_cert;
    const char *client_key;          /* PEM, as a path or as text; NULL: in client_cert */
    const char *client_key_password; /* NULL: the key is not encrypted */
    int min_version;                 /* 0x0303 (TLS 1.2) or 0x0304 */
    int max_version;                 /* the same; 0: the newest there is */
    const char *ciphers;             /* for TLS 1.2, in OpenSSL's format; NULL: OpenSSL's default */
    const char *ciphersuites;        /* for TLS 1.3, "A:B"; NULL: OpenSSL's default */
    bool limit_depth;                /* false: OpenSSL's default depth */
    int verify_depth;                /* CA certificates between leaf and root, at most */
    const char *keylog;              /* file for SSLKEYLOGFILE lines; NULL: none */
    const char *alpn;                /* comma list, "http/1.1"; NULL: none is offered */
} tls_options;

/* Returns a store for `ca_store`, with a reference for the caller: `store` itself, or, when it
 * belongs to another copy of OpenSSL in the process, a store of ours that looks everything up in
 * it. `maker`: an address inside the library that made it; whose OpenSSL that library calls
 * decides, by the address of X509_STORE_up_ref. NULL when that OpenSSL's functions cannot be found,
 * or without memory. Calls must not overlap. */
struct x509_store_st *tls_store_keep(void *store, const void *maker);

/* Does the library that `address` lies in call the same copy of OpenSSL as the engine? */
bool tls_same_openssl(const void *address);
void tls_store_release(struct x509_store_st *store); /* NULL is fine */

/* Returns the context for these options, with one reference for the caller; the same for equal
 * options and unchanged files. Strings are copied. When its files change, new connections use the
 * new ones as soon as these are valid. NULL with *f: FAILURE_TLS_OPTIONS, with the file's name, for
 * a file or option that cannot be used. May be called by any thread. */
tls_context *tls_context_obtain(const tls_options *options, failure *f);
tls_context *tls_context_keep(tls_context *c); /* adds a reference; returns `c` */
void tls_context_release(tls_context *c);      /* gives one up; NULL is fine */
uint64_t tls_context_id(const tls_context *c); /* unique in the process, for connection keys */

/* Makes a TLS connection over `descriptor`, which stays the caller's, before its handshake. `name`,
 * a DNS name or IP literal, is what the certificate must be for. Sessions are kept under `key`,
 * which is copied. Returns NULL with *f. */
tls *tls_new(tls_context *c, int descriptor, const char *name, const void *key, size_t key_length,
             failure *f);

/* Has the new `t` use `outer`, whose handshake is over, instead of the socket: TLS within TLS, to a
 * server behind an https proxy. `t` owns `outer` from now on. */
void tls_nest(tls *t, tls *outer);

/* Returns IO_DONE when the handshake is over and the peer verified (unless that is off), IO_READ,
 * IO_WRITE, or IO_FAILED with *f: FAILURE_TLS, or FAILURE_CERTIFICATE with the certificate's
 * subject and depth and what is wrong with it. */
io_result tls_handshake(tls *t, failure *f);

/* Return IO_DONE with *count > 0, IO_READ, IO_WRITE, IO_FAILED; tls_read also IO_END after
 * close_notify and IO_TRUNCATED after an end without it. A write that returned IO_READ or IO_WRITE
 * must be repeated with the same bytes (more may follow them). */
io_result tls_read(tls *t, void *bytes, size_t length, size_t *count, failure *f);
io_result tls_write(tls *t, const void *bytes, size_t length, size_t *count, failure *f);

/* The next read of the socket, which must have portable_let_recv_wait, waits for bytes. Returns
 * false for a session within another, which does not read the socket itself. */
bool tls_wait_in_read(tls *t);

/* From now on reads of the socket tell `to` when their bytes came; it outlives the session. */
void tls_tell_arrivals(tls *t, arrival *to);

/* Has OpenSSL bytes that it read from the socket already, which poll does not report? */
bool tls_pending(const tls *t);

/* Did the last read take all that had arrived? */
bool tls_drained(const tls *t);

/* May an idle connection be used? Reads session tickets and key updates; returns false for data, an
 * end or an error. */
bool tls_check_alive(tls *t);

const char *tls_version(const tls *t); /* "TLSv1.3" */
const char *tls_cipher(const tls *t);
const char *tls_protocol(const tls *t); /* the ALPN result; NULL: none */
bool tls_resumed(const tls *t);

/* How many bytes of application data were handed to the socket at least in part. */
uint64_t tls_sent(const tls *t);

/* Frees `t` and what it is nested in; sends close_notify when `notify`, as far as that goes without
 * waiting. Its session can still be resumed. NULL is fine. */
void tls_free(tls *t, bool notify);

/*
 * Around fork. tls_before_fork waits until no thread is inside OpenSSL and lets no more in, so that
 * the child finds OpenSSL's locks free. After TLS_FORK_PATIENCE the fork goes on all the same; then
 * the child's TLS calls fail, because they might wait for ever. The child starts without sessions.
 */
#define TLS_FORK_PATIENCE (500 * MILLISECOND)
void tls_before_fork(void);
void tls_after_fork(bool child);

/* Around each use of OpenSSL; they may nest. Nothing is waited for in between. */
void tls_enter(void);
void tls_leave(void);

#endif
