#ifndef TRUNKLINE_TRANSPORT_TLS_TLS_INTERNAL_H
#define TRUNKLINE_TRANSPORT_TLS_TLS_INTERNAL_H

#include "tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/*
 * What the parts of TLS know of each other. Only they and their tests include this.
 *   tls.c          one connection: made, freed, asked about
 *   tls_io.c       its bytes: the BIO over the socket; handshake, read, write, check
 *   tls_context.c  contexts, one for each set of options
 *   tls_store.c    stores of CA certificates, one for each set of CA files
 *   tls_session.c  sessions to resume, by context and key
 *   tls_verify.c   who the peer must be, and why it is not
 *   tls_fork.c     who is inside OpenSSL when the process forks
 *   tls_words.c    what OpenSSL said, in words
 */

struct tls_context {
    unsigned references; /* one is the registry's */
    uint64_t id;
    tls_options options; /* its strings are owned; with the system's authorities, if it has those */
    bool system;         /* it has */
    int keylog;          /* a descriptor, or -1 */
    char authorities[112]; /* what certificates are checked against, in words */
    tls_context *next;
    /* The rest is guarded by the registry's lock: files may change. */
    SSL_CTX *ssl;      /* with the certificates as they were when `key` was made */
    uint64_t sessions; /* what sessions made with them are kept under */
    char *key;         /* every option and the state of every file it names */
    char *unusable;    /* the key of a later state that could not be used; NULL: none */
};

struct tls {
    SSL *ssl;
    tls_context *context;
    uint64_t sessions; /* what its sessions are kept under */
    int descriptor;
    tls *outer;          /* owned; NULL: the socket itself carries its bytes */
    bool numeric;        /* the name is an IP literal */
    bool ready;          /* the handshake is over and the peer is who it should be */
    bool broken;         /* only tls_free may follow */
    bool no_protocol;    /* the peer speaks none of those that were offered by ALPN */
    bool ended;          /* the socket has no more to read */
    bool drained;        /* the last read took all that the socket had; of the outermost alone */
    int system_error;    /* of the socket call that failed last */
    bool writing;        /* a write was put off: the same bytes come again */
    uint64_t handed;     /* bytes that the socket took; of the outermost alone */
    uint64_t mark;       /* `handed` when the write began */
    uint64_t written;    /* plaintext that was handed over as a whole */
    size_t started;      /* plaintext of the record that was handed over in part */
    size_t allowance;    /* what a check may still read from the socket */
    char protocol[32];   /* ALPN's result, or "" */
    char complaint[320]; /* what is wrong with the certificate, or "" */
    char *name;          /* without a trailing dot */
    size_t key_length;
    unsigned char key[]; /* of its sessions: the connection's key, the name behind it */
};

/* tls_io.c. NULL: no memory. The method is made once and kept. */
BIO_METHOD *tls_bio_method(void);

/* tls_context.c: for a new connection, with the certificates of the context's files as they are
 * now: those that have changed are read again. When they cannot be used, what was read before is.
 * *sessions says what its sessions are kept under: none of other certificates is resumed. The
 * caller owns the result. NULL: no memory. */
SSL *tls_context_open(tls_context *c, uint64_t *sessions);

/* tls_store.c: where certificates of authorities lie. Strings are borrowed. */
typedef struct {
    const char *file, *directories;
    bool system; /* nobody has named them: they may be missing */
} tls_authorities;

/* Those of the options; of the system's the environment is asked. */
tls_authorities tls_authorities_of(const tls_options *o);

/* Is there any of them? */
bool tls_authorities_exist(const tls_authorities *a);

/* The store for them, with one reference for the caller; parsed when it is new or a file has
 * changed. The caller holds the registry's lock. NULL: see `f`. */
X509_STORE *tls_store_obtain(const tls_authorities *a, failure *f);

/* Writes to `out` what tells one state of a file (or of the authorities) from another. */
void tls_note(FILE *out, const char *text);
void tls_note_file(FILE *out, const char *path);
void tls_note_authorities(FILE *out, const tls_authorities *a);

/* Is the file there and can it be read? False: see `f`, which names it as `option`. */
bool tls_check_file(const char *option, const char *path, failure *f);

/* tls_session.c. A session that was taken is the caller's; one that is kept becomes the cache's. */
SSL_SESSION *tls_session_take(uint64_t context, const void *key, size_t length);
void tls_session_keep(uint64_t context, const void *key, size_t length, SSL_SESSION *session);
void tls_session_forget(uint64_t context, const void *key, size_t length);
void tls_session_forget_context(uint64_t context);
void tls_session_forget_all(void);

/* tls_verify.c: sets SNI and what the certificate must name. */
bool tls_verify_expect(tls *t, failure *f);
int tls_verify_callback(int good, X509_STORE_CTX *store);
/* Once more after the handshake, for a resumed session is not checked by OpenSSL. */
bool tls_verify_again(tls *t);

/* tls_fork.c. True: this process cannot use TLS; see `f`. */
bool tls_refused(failure *f);

/* tls_words.c: what the oldest error in OpenSSL's queue means; the queue is empty afterwards. */
const char *tls_words(char *text, size_t size);
bool tls_no_memory(failure *f);

#endif
