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

#define TLS_CONTEXTS 32        /* contexts kept; beyond these, unused ones are freed */
#define TLS_STORES 8           /* CA stores kept, because parsing one takes long */
#define TLS_SESSION_KEYS 512   /* connection keys that have stored sessions */
#define TLS_SESSIONS_PER_KEY 8 /* servers send two tickets per connection, each for one use */
#define TLS_RENEGOTIATIONS 4   /* allowed renegotiations without data in between */

/*
 * TLS 1.2 and 1.3 with OpenSSL, over non-blocking sockets. The process has one context for each set
 * of options and one store for each set of CA files. Sessions are stored under the connection's
 * key, and their certificates are verified again when they are resumed.
 */
typedef struct tls_context tls_context;
typedef struct tls tls;

typedef struct {
    bool verify;         /* verify the chain, and the host name or IP */
    bool any_name;       /* verify the chain only, not the name */
    bool common_name;    /* Ruby's rule for the common name, see tls_identity.c */
    const char *ca_file; /* NULL: the system's (SSL_CERT_FILE, SSL_CERT_DIR, OpenSSL's defaults) */
    const char *ca_path;
    struct x509_store_st *ca_store; /* instead of both; NULL: none. The context keeps a reference */
    /* PEM, as a file's path or as text: the certificate, followed by its chain. */
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

/* Returns a store for the option ca_store, with a reference for the caller: `store` itself, or,
 * when it belongs to another copy of OpenSSL in the process, a store of the engine's copy that
 * looks everything up in it. `maker`: an address inside the library that made `store`; the copies
 * are compared by the address of X509_STORE_up_ref that this library calls. NULL when the other
 * copy's functions cannot be found, or when out of memory. Calls must not overlap. */
struct x509_store_st *tls_store_keep(void *store, const void *maker);

/* Returns whether the library that contains `address` calls the same copy of OpenSSL as the
 * engine. */
bool tls_same_openssl(const void *address);
void tls_store_release(struct x509_store_st *store); /* NULL is fine */

/* Returns the context for these options, with one reference for the caller; equal options with
 * unchanged files give the same context. Strings are copied. When files change, new connections use
 * the new ones as soon as these are valid. NULL with *f: FAILURE_TLS_OPTIONS, with the file's name,
 * for a file or option that cannot be used. May be called by any thread. */
tls_context *tls_context_obtain(const tls_options *options, failure *f);
tls_context *tls_context_keep(tls_context *c); /* adds a reference; returns `c` */
void tls_context_release(tls_context *c);      /* releases a reference; NULL is fine */
uint64_t tls_context_id(const tls_context *c); /* unique in the process, for connection keys */

/* Makes a TLS connection over `descriptor`, which the caller still owns, without the handshake. The
 * certificate must be for `name`, a DNS name or IP literal. Sessions are stored under `key`, which
 * is copied. Returns NULL with *f. */
tls *tls_new(tls_context *c, int descriptor, const char *name, const void *key, size_t key_length,
             failure *f);

/* Makes the new `t` use `outer`, whose handshake is over, instead of the socket: TLS within TLS, to
 * a server behind an https proxy. `t` owns `outer` from now on. */
void tls_nest(tls *t, tls *outer);

/* Returns IO_DONE when the handshake is over and the peer verified (unless that is off), IO_READ,
 * IO_WRITE, or IO_FAILED with *f: FAILURE_TLS, or FAILURE_CERTIFICATE with the certificate's
 * subject and depth and the reason. */
io_result tls_handshake(tls *t, failure *f);

/* Return IO_DONE with *count > 0, IO_READ, IO_WRITE, IO_FAILED; tls_read also IO_END after
 * close_notify and IO_TRUNCATED after an end without it. A write that returned IO_READ or IO_WRITE
 * must be repeated with the same bytes (more may follow them). */
io_result tls_read(tls *t, void *bytes, size_t length, size_t *count, failure *f);
io_result tls_write(tls *t, const void *bytes, size_t length, size_t *count, failure *f);

/* Makes the next read of the socket wait for bytes; portable_let_recv_wait must have been called
 * for it. Returns false for a session within another, which does not read the socket itself. */
bool tls_wait_in_read(tls *t);

/* Makes reads of the socket store in `to` when their bytes arrived; `to` outlives the session. */
void tls_record_arrivals(tls *t, arrival *to);

/* Returns whether OpenSSL holds bytes that it has already read from the socket, which poll does not
 * report. */
bool tls_pending(const tls *t);

/* Returns whether the last read took all bytes that had arrived. */
bool tls_drained(const tls *t);

/* Checks an idle connection before it is used: reads session tickets and key updates; returns false
 * for data, the end of the connection or an error. */
bool tls_check_alive(tls *t);

/* After the handshake, return the version ("TLSv1.3") and the cipher suite, both static; the ALPN
 * result, owned by `t` (NULL: none); and whether a stored session was resumed. */
const char *tls_version(const tls *t);
const char *tls_cipher(const tls *t);
const char *tls_protocol(const tls *t);
bool tls_resumed(const tls *t);

/* Returns how many bytes of application data were handed to the socket; a record that was written
 * in part counts as a whole. */
uint64_t tls_sent(const tls *t);

/* Frees `t` and the sessions that it is nested in; sends close_notify when `notify`, as far as
 * possible without waiting. The session can still be resumed. NULL is fine. */
void tls_free(tls *t, bool notify);

/*
 * To be called around fork. tls_before_fork lets no more threads enter OpenSSL and waits until none
 * is inside, so that the child finds OpenSSL's locks free. After TLS_FORK_TIMEOUT the fork happens
 * in any case; then the child's TLS calls fail, because they might block for ever. The child starts
 * without stored sessions.
 */
#define TLS_FORK_TIMEOUT (500 * MILLISECOND)
void tls_before_fork(void);
void tls_after_fork(bool child);

/* To be called around each use of OpenSSL; calls may nest. The thread does not block in between. */
void tls_enter(void);
void tls_leave(void);

#endif
