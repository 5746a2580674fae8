#include "tls_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static bool is_literal(const char *name) {
    unsigned char address[16];
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* "api.test." and "fe80::1%eth0" are verified as "api.test" and "fe80::1". */
static size_t verified_length(const char *name) {
    size_t length = strchr(name, ':') != NULL ? strcspn(name, "%") : strlen(name);
    return length > 0 && name[length - 1] == '.' ? length - 1 : length;
}

static tls *allocate(const char *name, const void *key, size_t key_length) {
    size_t name_length = verified_length(name);
    tls *t = calloc(1, sizeof(*t) + key_length + 1 + name_length + 1);
    if (t == NULL) return NULL;
    t->key_length = key_length + 1 + name_length;
    if (key_length > 0) memcpy(t->key, key, key_length);
    t->name = (char *)t->key + key_length + 1;
    memcpy(t->name, name, name_length);
    t->numeric = is_literal(t->name);
    t->allowance = SIZE_MAX;
    return t;
}

static bool attach(tls *t) {
    BIO_METHOD *method = tls_bio_method();
    t->ssl = tls_context_open(t->context, &t->sessions);
    BIO *bio = t->ssl == NULL || method == NULL ? NULL : BIO_new(method);
    if (bio == NULL) return false;
    BIO_set_data(bio, t);
    SSL_set_bio(t->ssl, bio, bio);
    SSL_set_app_data(t->ssl, t);
    SSL_set_connect_state(t->ssl);
    return true;
}

static void offer_session(tls *t) {
    SSL_SESSION *session = tls_session_take(t->sessions, t->key, t->key_length);
    if (session == NULL) return;
    SSL_set_session(t->ssl, session);
    SSL_SESSION_free(session);
}

static bool prepare(tls *t, failure *f) {
    if (tls_refused(f)) return false;
    ERR_clear_error();
    if (!attach(t)) return tls_no_memory(f);
    if (!tls_verify_expect(t, f)) return false;
    offer_session(t);
    return true;
}

tls *tls_new(tls_context *c, int descriptor, const char *name, const void *key, size_t key_length,
             failure *f) {
    tls *t = allocate(name, key, key_length);
    if (t == NULL) {
        tls_no_memory(f);
        return NULL;
    }
    t->descriptor = descriptor;
    t->context = tls_context_keep(c);
    tls_enter();
    bool prepared = prepare(t, f);
    tls_leave();
    if (prepared) return t;
    tls_free(t, false);
    return NULL;
}

void tls_nest(tls *t, tls *outer) {
    t->outer = outer;
}

const char *tls_version(const tls *t) {
    return SSL_get_version(t->ssl);
}

const char *tls_cipher(const tls *t) {
    return SSL_get_cipher_name(t->ssl);
}

const char *tls_protocol(const tls *t) {
    return t->protocol[0] != '\0' ? t->protocol : NULL;
}

bool tls_resumed(const tls *t) {
    return SSL_session_reused(t->ssl) == 1;
}

static void end(tls *t, bool notify) {
    if (t->ssl == NULL) return;
    if (t->ready && !t->broken) {
        ERR_clear_error();
        if (notify && !t->writing) SSL_shutdown(t->ssl);
        /* OpenSSL treats a connection that was not shut down as broken, and makes its newest ticket
         * unusable. */
        SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
    SSL_free(t->ssl);
    ERR_clear_error();
}

void tls_free(tls *t, bool notify) {
    if (t == NULL) return;
    tls_enter();
    end(t, notify);
    tls_leave();
    tls_context_release(t->context);
    tls_free(t->outer, notify);
    free(t);
}
