#ifndef TRUNKLINE_TRANSPORT_TLS_TLS_INTERNAL_H
#define TRUNKLINE_TRANSPORT_TLS_TLS_INTERNAL_H

#include "tls.h"
#include "protocol/list.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/*
 * Declarations for the files of this folder and their tests.
 *   tls.c          one connection: creation, release, queries
 *   tls_io.c       its I/O: the BIO over the socket; handshake, read, write, check
 *   tls_context.c  contexts, one for each set of options
 *   tls_client_certificate.c  the client's certificate and key
 *   tls_store.c    stores of CA certificates, one for each set of CA files
 *   tls_other_store.c  stores that belong to another copy of OpenSSL
 *   tls_session.c  stored sessions, by context and key
 *   tls_verify.c   certificates: the name check, and error messages
 *   tls_identity.c  the name check by Ruby's rule
 *   tls_fork.c     threads that are inside OpenSSL when the process forks
 *   tls_words.c    texts for OpenSSL's errors
 */

struct tls_context {
    unsigned references; /* one belongs to the registry */
    uint64_t id;
    tls_options options;   /* its strings are owned; ca_file and ca_path may be the system's */
    bool system;           /* ca_file and ca_path are the system's */
    int keylog;            /* a descriptor, or -1 */
    char authorities[112]; /* a description of the CA certificates, for error messages */
    /* The registry's lock guards the fields below. */
    list_node node;    /* in the registry */
    SSL_CTX *ssl;      /* with the certificates as they were when `key` was made */
    uint64_t sessions; /* the number under which its sessions are stored */
    char *key;         /* all options, and the state of all files that they name; owned */
    char *unusable;    /* owned; the key of a later state that could not be used; NULL: none */
};

struct tls {
    SSL *ssl;
    tls_context *context;
    uint64_t sessions;  /* the number under which its sessions are stored */
    int descriptor;     /* borrowed */
    tls *outer;         /* owned; NULL: it uses the socket */
    bool numeric;       /* the name is an IP literal */
    bool ready;         /* the handshake is over and the peer verified */
    bool broken;        /* only tls_free may follow */
    bool no_protocol;   /* the peer refused all protocols that ALPN offered */
    bool ended;         /* the socket was read to its end */
    bool read_waits;    /* see tls_wait_in_read; set in the outermost only */
    bool drained;       /* the last read took all that the socket had; set in the outermost only */
    arrival *arrived;   /* borrowed; see tls_record_arrivals; in the outermost only; NULL: none */
    int renegotiations; /* since the last data; in TLS 1.3 tickets may count */
    int system_error;   /* errno of the socket call that failed last */
    bool writing;       /* a write must be repeated with the same bytes */
    uint64_t socket_bytes;        /* bytes written to the socket; in the outermost only */
    uint64_t socket_bytes_before; /* ->socket_bytes when the write began */
    uint64_t plaintext_written;   /* plaintext bytes of records that were written as a whole */
    size_t partial_record;        /* plaintext bytes of the record that was written in part */
    size_t allowance;             /* bytes that tls_check_alive may still read from the socket */
    char protocol[32];            /* ALPN's result, or "" */
    char certificate_error[320];  /* what is wrong with the certificate, or "" */
    char *name;                   /* without a trailing dot */
    size_t key_length;
    unsigned char key[]; /* key of its sessions: the connection's key, then the name */
};

/* tls_io.c. Returns the BIO method, which is made once and kept; NULL when out of memory. */
BIO_METHOD *tls_bio_method(void);

/* tls_context.c. Makes the SSL of a new connection, owned by the caller. Files that have changed
 * are read again; if they cannot be used, the context keeps the previous contents. *sessions is the
 * number under which to store its sessions, so that no session with other certificates is resumed.
 * NULL when out of memory. */
SSL *tls_context_open(tls_context *c, uint64_t *sessions);

/* tls_client_certificate.c. Loads the client certificate and key of the options, if there are any.
 * Returns false with *f. */
bool tls_use_client_certificate(SSL_CTX *ssl, const tls_options *o, failure *f);

/* Returns whether `text` is PEM text and not a path; false for NULL. */
bool tls_is_pem(const char *text);

/* tls_store.c. The locations of CA certificates. Strings are borrowed. */
typedef struct {
    const char *file, *directories;
    bool system; /* they are the system's, which may be missing */
} tls_authorities;

/* Returns the locations that the options name; else the system's, which OpenSSL's environment
 * variables may replace. */
tls_authorities tls_authorities_of(const tls_options *o);

/* Returns whether one of the files or directories exists. */
bool tls_authorities_exist(const tls_authorities *a);

/* Returns the store, with one reference for the caller; parses the files when they are new or have
 * changed. The caller holds the registry's lock. NULL with *f. */
X509_STORE *tls_store_obtain(const tls_authorities *a, failure *f);

/* Write to `out` a text, or a file's name and state (inode, time, size), as part of a key. PEM text
 * in place of a path is written as a text. */
void tls_note(FILE *out, const char *text);
void tls_note_file(FILE *out, const char *path);
void tls_note_authorities(FILE *out, const tls_authorities *a);

/* Returns whether the file can be read; false with *f, which names the `option`. */
bool tls_check_file(const char *option, const char *path, failure *f);

/* tls_session.c. tls_session_take returns a session with a reference for the caller; NULL: none.
 * tls_session_keep takes over the caller's reference. tls_session_forget_all, which a forked child
 * calls, makes the next call of one of the others free all sessions. */
SSL_SESSION *tls_session_take(uint64_t context, const void *key, size_t length);
void tls_session_keep(uint64_t context, const void *key, size_t length, SSL_SESSION *session);
void tls_session_forget(uint64_t context, const void *key, size_t length);
void tls_session_forget_context(uint64_t context);
void tls_session_forget_all(void);

/* tls_verify.c. Sets SNI and the name that the certificate must have. Returns false with *f. */
bool tls_verify_expect(tls *t, failure *f);

/* OpenSSL's callback for each certificate: returns 1 to accept it, 0 to refuse it, with a text in
 * ->certificate_error. */
int tls_verify_callback(int good, X509_STORE_CTX *store);
/* Verifies again after the handshake, because OpenSSL does not verify a resumed session. False: see
 * t->certificate_error. */
bool tls_verify_again(tls *t);

/* tls_identity.c. Returns whether the certificate is for this name or IP literal by the rule of
 * Ruby's OpenSSL. */
bool tls_identity_matches(X509 *certificate, const char *name, bool numeric);

/* tls_fork.c. Returns true, with *f, when this process cannot use TLS. */
bool tls_refused(failure *f);

/* tls_words.c. Writes a text for the oldest error in OpenSSL's queue, clears the queue, and returns
 * `text`. */
const char *tls_words(char *text, size_t size);

/* Fills in FAILURE_OUT_OF_MEMORY and clears OpenSSL's queue. Returns false. */
bool tls_no_memory(failure *f);

#endif
