#define _GNU_SOURCE
#include "tls_internal.h"

#include "protocol/comma_list.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Several records per read, so that a large body takes few system calls. */
#define READ_AHEAD_BYTES (48 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static list contexts; /* the registry; the newest first */
static uint64_t last_id;

/* Changes no shared state of OpenSSL, because Ruby may use it in the same process, and registers no
 * clean-up at exit, when threads may still use it. */
static void initialise(void) {
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    tls_bio_method();
}

/* ---- callbacks ---- */

static int on_session(SSL *ssl, SSL_SESSION *session) {
    tls *t = SSL_get_app_data(ssl);
    tls_session_keep(t->sessions, t->key, t->key_length, session);
    return 1; /* the session cache owns the reference now */
}

/* Writes each line with one call, so that lines of several connections and processes do not mix. */
static void on_keylog(const SSL *ssl, const char *line) {
    const tls *t = SSL_get_app_data(ssl);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {"\n", 1}};
    ssize_t written = writev(t->context->keylog, parts, 2);
    (void)written; /* a failed write must not fail the call */
}

/* ---- setting up ---- */

static bool use_authorities(SSL_CTX *ssl, const tls_options *o, const tls_authorities *a,
                            failure *f) {
    SSL_CTX_set_verify(ssl, o->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       o->verify ? tls_verify_callback : NULL);
    if (!o->verify) return true;
    X509_STORE *store = o->ca_store;
    if (store != NULL)
        X509_STORE_up_ref(store);
    else if ((store = tls_store_obtain(a, f)) == NULL)
        return false;
    SSL_CTX_set_cert_store(ssl, store); /* `ssl` owns the reference now */
    return true;
}

static void name_authorities(tls_context *c) {
    const tls_options *o = &c->options;
    if (o->ca_store != NULL)
        snprintf(c->authorities, sizeof(c->authorities), "ca_store");
    else if (!c->system)
        snprintf(c->authorities, sizeof(c->authorities), "%s %s",
                 o->ca_file != NULL ? "ca_file" : "ca_path",
                 o->ca_file != NULL ? o->ca_file : o->ca_path);
    else
        snprintf(c->authorities, sizeof(c->authorities), "the system's CA certificates");
}

/* Converts "h2,http/1.1" to ALPN's format: each name follows its length (RFC 7301, section 3.1). */
static bool offer_protocols(SSL_CTX *ssl, const char *list, failure *f) {
    if (list == NULL) return true;
    unsigned char wire[256];
    size_t used = 0;
    for (comma_list l = {.rest = list, .end = list + strlen(list)}; comma_list_next(&l);) {
        if (l.length == 0 || used + 1 + l.length > sizeof(wire))
            return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0,
                               "the ALPN list \"%s\" is malformed", list);
        wire[used++] = (unsigned char)l.length;
        memcpy(wire + used, l.element, l.length);
        used += l.length;
    }
    return SSL_CTX_set_alpn_protos(ssl, wire, (unsigned)used) == 0 || tls_no_memory(f);
}

static bool open_keylog(tls_context *c, const char *path, failure *f) {
    if (path == NULL) return true;
    c->keylog = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (c->keylog < 0) {
        int error = errno;
        return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, error, "keylog %s: %s", path,
                           strerror(error));
    }
    return true;
}

/* Allows TLS_RENEGOTIATIONS renegotiations without data in between, because Apache renegotiates for
 * each request whose path needs a certificate. */
static void limit_renegotiations(const SSL *ssl, int where, int result) {
    (void)result;
    tls *t = SSL_get_app_data(ssl);
    if (where == SSL_CB_HANDSHAKE_DONE && t->ready && ++t->renegotiations == TLS_RENEGOTIATIONS)
        SSL_set_options(t->ssl, SSL_OP_NO_RENEGOTIATION);
}

static void set_modes(SSL_CTX *ssl) {
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION);
    /* A server may request the client's certificate after it has received a request: in TLS 1.2 by
     * a renegotiation, in TLS 1.3 after the handshake, if the client offers that (RFC 8446, section
     * 4.6.2). */
    SSL_CTX_set_info_callback(ssl, limit_renegotiations);
    SSL_CTX_set_post_handshake_auth(ssl, 1);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_default_read_buffer_len(ssl, READ_AHEAD_BYTES);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ssl, on_session);
}

static bool limit_versions(SSL_CTX *ssl, const tls_options *o, failure *f) {
    char words[160];
    int lowest = o->min_version != 0 ? o->min_version : TLS1_2_VERSION;
    if (SSL_CTX_set_min_proto_version(ssl, lowest) == 1 &&
        SSL_CTX_set_max_proto_version(ssl, o->max_version) == 1)
        return true;
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "TLS versions 0x%04x to 0x%04x: %s",
                       (unsigned)lowest, (unsigned)o->max_version, tls_words(words, sizeof(words)));
}

static bool choose_ciphers(SSL_CTX *ssl, const tls_options *o, failure *f) {
    char words[160];
    bool known = o->ciphers == NULL || SSL_CTX_set_cipher_list(ssl, o->ciphers) == 1;
    if (known && (o->ciphersuites == NULL || SSL_CTX_set_ciphersuites(ssl, o->ciphersuites) == 1))
        return true;
    return failure_set(f, FAILURE_TLS_OPTIONS, PHASE_TLS, 0, "%s %.100s: %s",
                       known ? "ciphersuites" : "ciphers", known ? o->ciphersuites : o->ciphers,
                       tls_words(words, sizeof(words)));
}

static bool set_up(SSL_CTX *ssl, const tls_options *o, const tls_authorities *a, failure *f) {
    set_modes(ssl);
    if (o->limit_depth) SSL_CTX_set_verify_depth(ssl, o->verify_depth);
    if (o->keylog != NULL) SSL_CTX_set_keylog_callback(ssl, on_keylog);
    return limit_versions(ssl, o, f) && choose_ciphers(ssl, o, f) &&
           tls_use_client_certificate(ssl, o, f) && use_authorities(ssl, o, a, f) &&
           offer_protocols(ssl, o->alpn, f);
}

static tls_authorities authorities_of(const tls_context *c) {
    return (tls_authorities){c->options.ca_file, c->options.ca_path, c->system};
}

/* Makes an SSL_CTX with the files as they are now. Returns NULL with *f. */
static SSL_CTX *make_ssl(const tls_context *c, failure *f) {
    tls_authorities authorities = authorities_of(c);
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    if (ssl == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    if (set_up(ssl, &c->options, &authorities, f)) return ssl;
    ERR_clear_error();
    SSL_CTX_free(ssl);
    return NULL;
}

/* ---- options of a context ---- */

#define OPTION_TEXTS 9

static void list_texts(tls_options *o, const char **texts[OPTION_TEXTS]) {
    const char **all[OPTION_TEXTS] = {&o->ca_file,    &o->ca_path, &o->client_cert,
                                      &o->client_key, &o->ciphers, &o->ciphersuites,
                                      &o->keylog,     &o->alpn,    &o->client_key_password};
    memcpy(texts, all, sizeof(all));
}

static bool copy_options(tls_context *c, const tls_options *o, const tls_authorities *a) {
    const char **texts[OPTION_TEXTS];
    bool complete = true;
    c->options = *o;
    c->options.ca_file = a->file;
    c->options.ca_path = a->directories;
    c->system = a->system;
    list_texts(&c->options, texts);
    for (int i = 0; i < OPTION_TEXTS; i++) {
        if (*texts[i] == NULL) continue;
        *texts[i] = strdup(*texts[i]);
        complete &= *texts[i] != NULL;
    }
    return complete;
}

static void destroy(tls_context *c) {
    const char **texts[OPTION_TEXTS];
    list_texts(&c->options, texts);
    for (int i = 0; i < OPTION_TEXTS; i++) free((char *)*texts[i]);
    tls_session_forget_context(c->sessions);
    SSL_CTX_free(c->ssl);
    if (c->keylog >= 0) close(c->keylog);
    free(c->key);
    free(c->unusable);
    free(c);
}

/* ---- the registry ---- */

/* Returns the context's key: all options, and the state of all files, as one string for the caller
 * to free. */
static char *describe(const tls_options *o, const tls_authorities *a) {
    char *key = NULL;
    size_t size;
    FILE *out = open_memstream(&key, &size);
    if (out == NULL) return NULL;
    /* The context keeps a reference to its store, so that no other store gets the address. */
    fprintf(out, "%d,%d,%d,%d,%d,%d,%p,", o->verify, o->any_name, o->common_name, o->min_version,
            o->max_version, o->limit_depth ? o->verify_depth : -1, (void *)o->ca_store);
    tls_note(out, o->ciphers);
    tls_note(out, o->ciphersuites);
    tls_note(out, o->alpn);
    tls_note(out, o->keylog);
    tls_note_file(out, o->client_cert);
    tls_note_file(out, o->client_key);
    tls_note(out, o->client_key_password);
    if (o->verify && o->ca_store == NULL) tls_note_authorities(out, a);
    if (fclose(out) == 0) return key;
    free(key);
    return NULL;
}

static bool complete(tls_context *c, failure *f) {
    c->ssl = make_ssl(c, f);
    name_authorities(c);
    return c->ssl != NULL && open_keylog(c, c->options.keylog, f);
}

static tls_context *make(const tls_options *o, const tls_authorities *a, char *key, failure *f) {
    tls_context *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    c->id = c->sessions = ++last_id;
    c->keylog = -1;
    bool made = copy_options(c, o, a) ? complete(c, f) : tls_no_memory(f);
    if (!made) {
        destroy(c);
        return NULL;
    }
    c->key = key;
    c->references = 1;
    list_prepend(&contexts, &c->node);
    return c;
}

/* Frees unused contexts beyond TLS_CONTEXTS. No other thread can add a reference meanwhile:
 * tls_context_obtain takes the lock, and tls_context_keep needs a reference. */
static void forget_unused(void) {
    int count = 0;
    LIST_EACH (tls_context, c, &contexts, node) {
        bool unused = __atomic_load_n(&c->references, __ATOMIC_ACQUIRE) == 1;
        if (++count <= TLS_CONTEXTS || !unused) continue;
        list_remove(&contexts, &c->node);
        destroy(c);
    }
}

static tls_context *find(const char *key) {
    LIST_EACH (tls_context, c, &contexts, node)
        if (strcmp(c->key, key) == 0) return c;
    return NULL;
}

static tls_context *find_or_make(const tls_options *o, const tls_authorities *a, char *key,
                                 failure *f) {
    tls_context *c = find(key);
    if (c != NULL) {
        free(key);
        return tls_context_keep(c);
    }
    c = make(o, a, key, f);
    if (c == NULL) {
        free(key);
        return NULL;
    }
    tls_context_keep(c);
    forget_unused();
    return c;
}

static tls_context *obtain(const tls_options *options, failure *f) {
    if (tls_refused(f)) return NULL;
    pthread_once(&once, initialise);
    tls_authorities authorities = tls_authorities_of(options);
    char *key = describe(options, &authorities);
    if (key == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    tls_context *c = find_or_make(options, &authorities, key, f);
    pthread_mutex_unlock(&lock);
    return c;
}

/* Lock order: tls_enter first, then the registry's lock. */
tls_context *tls_context_obtain(const tls_options *options, failure *f) {
    tls_enter();
    tls_context *c = obtain(options, f);
    tls_leave();
    return c;
}

/* ---- files that change ---- */

/* Returns NULL when the CA certificates are missing now: the context keeps those that it has
 * read. */
static SSL_CTX *make_again(const tls_context *c) {
    failure why;
    tls_authorities authorities = authorities_of(c);
    bool needed = c->options.verify && c->options.ca_store == NULL;
    return needed && !tls_authorities_exist(&authorities) ? NULL : make_ssl(c, &why);
}

/* Reads changed files, and takes ownership of `key`. Sessions that were made with other
 * certificates are dropped. Files that cannot be used (half written, a key without its certificate)
 * are not read again until they have changed. */
static void reload_changed_files(tls_context *c, char *key) {
    bool known = strcmp(key, c->key) == 0 || (c->unusable != NULL && strcmp(key, c->unusable) == 0);
    SSL_CTX *ssl = known ? NULL : make_again(c);
    if (known) {
        free(key);
    } else if (ssl == NULL) {
        free(c->unusable);
        c->unusable = key;
    } else {
        tls_session_forget_context(c->sessions);
        SSL_CTX_free(c->ssl);
        free(c->key);
        c->ssl = ssl;
        c->key = key;
        c->sessions = ++last_id;
    }
}

SSL *tls_context_open(tls_context *c, uint64_t *sessions) {
    tls_authorities authorities = authorities_of(c);
    char *key = describe(&c->options, &authorities);
    pthread_mutex_lock(&lock);
    if (key != NULL) reload_changed_files(c, key);
    *sessions = c->sessions;
    SSL *ssl = SSL_new(c->ssl);
    pthread_mutex_unlock(&lock);
    return ssl;
}

tls_context *tls_context_keep(tls_context *c) {
    __atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
    return c;
}

void tls_context_release(tls_context *c) {
    /* The registry has a reference too, which only forget_unused releases. */
    if (c != NULL) __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL);
}

uint64_t tls_context_id(const tls_context *c) {
    return c->id;
}
