#define _GNU_SOURCE
#include "tls_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* How many contexts that nobody uses are kept for the next one who asks. */
#define CONTEXT_LIMIT 32

/* Several records a read: a large body costs few calls into the system. */
#define READ_AHEAD_BYTES (48 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tls_context *newest;
static uint64_t last_id;

/* The process's own Ruby may use OpenSSL as well: nothing here changes what is shared, and no
 * clean-up may run at exit under threads that are still at work. */
static void initialise(void) {
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    tls_bio_method();
}

/* ---- callbacks ---- */

static int on_session(SSL *ssl, SSL_SESSION *session) {
    tls *t = SSL_get_app_data(ssl);
    tls_session_keep(t->context->id, t->key, t->key_length, session);
    return 1; /* the reference is the cache's now */
}

/* One write a line: lines of several connections and processes never mix. */
static void on_keylog(const SSL *ssl, const char *line) {
    const tls *t = SSL_get_app_data(ssl);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {"\n", 1}};
    ssize_t written = writev(t->context->keylog, parts, 2);
    (void)written; /* a log that is full must not stop a call */
}

/* A key with a password: fail, do not ask on the terminal. */
static int no_password(char *buffer, int size, int writing, void *data) {
    (void)buffer, (void)size, (void)writing, (void)data;
    return 0;
}

/* ---- setting up ---- */

static bool file_failed(failure *f, const char *option, const char *path) {
    char words[160];
    return failure_set(f, FAILURE_TLS_SETTINGS, PHASE_TLS, 0, "%s %s: %s", option, path,
                       tls_words(words, sizeof(words)));
}

static bool use_client_certificate(SSL_CTX *ssl, const tls_options *o, failure *f) {
    if (o->client_cert == NULL) return true;
    const char *key = o->client_key != NULL ? o->client_key : o->client_cert;
    if (!tls_check_file("client_cert", o->client_cert, f) || !tls_check_file("client_key", key, f))
        return false;
    SSL_CTX_set_default_passwd_cb(ssl, no_password);
    if (SSL_CTX_use_certificate_chain_file(ssl, o->client_cert) != 1)
        return file_failed(f, "client_cert", o->client_cert);
    if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return file_failed(f, "client_key", key);
    if (SSL_CTX_check_private_key(ssl) != 1) return file_failed(f, "client_key", key);
    return true;
}

static bool use_authorities(tls_context *c, const tls_options *o, failure *f) {
    SSL_CTX_set_verify(c->ssl, o->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       o->verify ? tls_verify_callback : NULL);
    if (!o->verify) return true;
    X509_STORE *store = o->ca_store;
    if (store != NULL)
        X509_STORE_up_ref(store);
    else if ((store = tls_store_obtain(o->ca_file, o->ca_path, f)) == NULL)
        return false;
    SSL_CTX_set_cert_store(c->ssl, store); /* which owns the reference now */
    if (o->ca_store != NULL)
        snprintf(c->authorities, sizeof(c->authorities), "ca_store");
    else if (o->ca_file != NULL || o->ca_path != NULL)
        snprintf(c->authorities, sizeof(c->authorities), "%s %s",
                 o->ca_file != NULL ? "ca_file" : "ca_path",
                 o->ca_file != NULL ? o->ca_file : o->ca_path);
    else
        snprintf(c->authorities, sizeof(c->authorities), "the system's CA certificates");
    return true;
}

/* "h2,http/1.1" in ALPN's form: each behind its length (RFC 7301, section 3.1). */
static bool offer_protocols(tls_context *c, const char *list, failure *f) {
    if (list == NULL) return true;
    unsigned char wire[256];
    size_t used = 0;
    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length == 0 || used + 1 + length > sizeof(wire))
            return failure_set(f, FAILURE_TLS_SETTINGS, PHASE_TLS, 0,
                               "the ALPN list \"%s\" is malformed", list);
        wire[used++] = (unsigned char)length;
        memcpy(wire + used, at, length);
        used += length;
        at += length + (at[length] == ',');
    }
    c->alpn = strdup(list);
    if (c->alpn == NULL || SSL_CTX_set_alpn_protos(c->ssl, wire, (unsigned)used) != 0)
        return tls_no_memory(f);
    return true;
}

static bool open_keylog(tls_context *c, const char *path, failure *f) {
    if (path == NULL) return true;
    c->keylog = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (c->keylog < 0) {
        int error = errno;
        return failure_set(f, FAILURE_TLS_SETTINGS, PHASE_TLS, error, "keylog %s: %s", path,
                           strerror(error));
    }
    SSL_CTX_set_keylog_callback(c->ssl, on_keylog);
    return true;
}

static void set_modes(SSL_CTX *ssl) {
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
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
    return failure_set(f, FAILURE_TLS_SETTINGS, PHASE_TLS, 0, "TLS versions 0x%04x to 0x%04x: %s",
                       (unsigned)lowest, (unsigned)o->max_version, tls_words(words, sizeof(words)));
}

static bool choose_ciphers(SSL_CTX *ssl, const tls_options *o, failure *f) {
    char words[160];
    bool known = o->ciphers == NULL || SSL_CTX_set_cipher_list(ssl, o->ciphers) == 1;
    if (known && (o->ciphersuites == NULL || SSL_CTX_set_ciphersuites(ssl, o->ciphersuites) == 1))
        return true;
    return failure_set(f, FAILURE_TLS_SETTINGS, PHASE_TLS, 0, "%s %.100s: %s",
                       known ? "ciphersuites" : "ciphers", known ? o->ciphersuites : o->ciphers,
                       tls_words(words, sizeof(words)));
}

static bool set_up(tls_context *c, const tls_options *o, failure *f) {
    ERR_clear_error();
    c->ssl = SSL_CTX_new(TLS_client_method());
    if (c->ssl == NULL) return tls_no_memory(f);
    set_modes(c->ssl);
    if (o->limit_depth) SSL_CTX_set_verify_depth(c->ssl, o->verify_depth);
    if (!limit_versions(c->ssl, o, f) || !choose_ciphers(c->ssl, o, f)) return false;
    return use_client_certificate(c->ssl, o, f) && use_authorities(c, o, f) &&
           offer_protocols(c, o->alpn, f) && open_keylog(c, o->keylog, f);
}

static void destroy(tls_context *c) {
    tls_session_forget_context(c->id);
    SSL_CTX_free(c->ssl);
    if (c->keylog >= 0) close(c->keylog);
    free(c->alpn);
    free(c->key);
    free(c);
}

/* ---- the registry ---- */

/* Everything that makes a context what it is, as one string. */
static char *describe(const tls_options *o) {
    char *key = NULL;
    size_t size;
    FILE *out = open_memstream(&key, &size);
    if (out == NULL) return NULL;
    /* A context keeps its store, so no other can come to lie at that address. */
    fprintf(out, "%d,%d,%d,%d,%d,%p,", o->verify, o->any_name, o->min_version, o->max_version,
            o->limit_depth ? o->verify_depth : -1, (void *)o->ca_store);
    tls_note(out, o->ciphers);
    tls_note(out, o->ciphersuites);
    tls_note(out, o->alpn);
    tls_note(out, o->keylog);
    tls_note_file(out, o->client_cert);
    tls_note_file(out, o->client_key);
    if (o->verify && o->ca_store == NULL) tls_note_authorities(out, o->ca_file, o->ca_path);
    if (fclose(out) == 0) return key;
    free(key);
    return NULL;
}

static tls_context *make(const tls_options *o, char *key, failure *f) {
    tls_context *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    c->id = ++last_id;
    c->keylog = -1;
    c->verify = o->verify;
    c->any_name = o->any_name;
    if (!set_up(c, o, f)) {
        ERR_clear_error();
        destroy(c);
        return NULL;
    }
    c->key = key;
    c->references = 1;
    c->next = newest;
    newest = c;
    return c;
}

/* Nobody can take a reference meanwhile: to obtain one needs the lock, to keep one needs one. */
static void forget_unused(void) {
    int count = 0;
    for (tls_context **link = &newest; *link != NULL;) {
        tls_context *c = *link;
        bool unused = __atomic_load_n(&c->references, __ATOMIC_ACQUIRE) == 1;
        if (++count > CONTEXT_LIMIT && unused) {
            *link = c->next;
            destroy(c);
        } else {
            link = &c->next;
        }
    }
}

static tls_context *find_or_make(const tls_options *o, char *key, failure *f) {
    tls_context *c = newest;
    while (c != NULL && strcmp(c->key, key) != 0) c = c->next;
    if (c != NULL) {
        free(key);
        return tls_context_keep(c);
    }
    c = make(o, key, f);
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
    char *key = describe(options);
    if (key == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    tls_context *c = find_or_make(options, key, f);
    pthread_mutex_unlock(&lock);
    return c;
}

/* The registry's lock is only taken inside. */
tls_context *tls_context_obtain(const tls_options *options, failure *f) {
    tls_enter();
    tls_context *c = obtain(options, f);
    tls_leave();
    return c;
}

tls_context *tls_context_keep(tls_context *c) {
    __atomic_add_fetch(&c->references, 1, __ATOMIC_RELAXED);
    return c;
}

void tls_context_release(tls_context *c) {
    /* The registry's own reference goes in forget_unused alone: this is never the last one. */
    if (c != NULL) __atomic_sub_fetch(&c->references, 1, __ATOMIC_ACQ_REL);
}

uint64_t tls_context_id(const tls_context *c) {
    return c->id;
}
