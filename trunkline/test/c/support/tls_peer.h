#ifndef TRUNKLINE_TEST_TLS_PEER_H
#define TRUNKLINE_TEST_TLS_PEER_H

#include "certificates.h"
#include "transport/tls/tls.h"

#include <pthread.h>

/* A TLS server in a separate thread, and a client that waits like a driver. */

typedef struct tls_peer tls_peer;
struct tls_peer {
    const identity *shows;
    const identity *asks_for; /* the CA of the client certificates that the server requires; NULL:
                               * none */
    int version;              /* 0: any */
    const char *protocol;     /* chosen by ALPN, with its length before it; NULL: http/1.1 */
    void (*serve)(tls_peer *p, SSL *ssl, int descriptor); /* called after the handshake */
    void (*raw)(tls_peer *p, int descriptor);             /* called instead of a TLS handshake */
    uint16_t port;
    int listener;
    SSL_CTX *context;
    pthread_t thread;
    bool stop; /* set by a test to end a `serve` that only waits */
};

/* *out points into `wanted`, which outlives the handshake. */
static inline int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *length,
                                  const unsigned char *in, unsigned in_length, void *data) {
    const tls_peer *p = data;
    const char *wanted = p->protocol != NULL ? p->protocol : "\x08http/1.1";
    (void)ssl;
    if (SSL_select_next_proto((unsigned char **)out, length, (const unsigned char *)wanted,
                              (unsigned)strlen(wanted), in, in_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

static inline SSL_CTX *peer_context(tls_peer *p) {
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(c, p->shows->certificate);
    SSL_CTX_use_PrivateKey(c, p->shows->key);
    SSL_CTX_set_session_id_context(c, (const unsigned char *)"test", 4);
    SSL_CTX_set_alpn_select_cb(c, choose_protocol, p);
    if (p->version != 0) {
        SSL_CTX_set_min_proto_version(c, p->version);
        SSL_CTX_set_max_proto_version(c, p->version);
    }
    if (p->asks_for != NULL) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(c), p->asks_for->certificate);
        SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    return c;
}

static inline void peer_connection(tls_peer *p, int descriptor) {
    if (p->raw != NULL) {
        p->raw(p, descriptor);
        return;
    }
    SSL *ssl = SSL_new(p->context);
    SSL_set_fd(ssl, descriptor);
    if (SSL_accept(ssl) == 1 && p->serve != NULL) p->serve(p, ssl, descriptor);
    SSL_free(ssl);
}

static inline void *peer_main(void *data) {
    tls_peer *p = data;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE); /* raised by OpenSSL's own socket BIO on this side */
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    for (;;) {
        int descriptor = accept(p->listener, NULL, NULL);
        if (descriptor < 0) return NULL;
        peer_connection(p, descriptor);
        close(descriptor);
    }
}

static inline void peer_start(tls_peer *p) {
    p->listener = listen_on_loopback(16, &p->port);
    p->context = peer_context(p);
    pthread_create(&p->thread, NULL, peer_main, p);
}

static inline void peer_stop(tls_peer *p) {
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    SSL_CTX_free(p->context);
}

/* Sends all received data back, until the client closes. */
static inline void serve_echo(tls_peer *p, SSL *ssl, int descriptor) {
    char bytes[4096];
    int got;
    (void)p, (void)descriptor;
    while ((got = SSL_read(ssl, bytes, sizeof(bytes))) > 0) SSL_write(ssl, bytes, got);
    SSL_shutdown(ssl);
}

/* Reads until the client has closed. */
static inline void serve_until_closed(int descriptor) {
    char byte;
    while (recv(descriptor, &byte, 1, 0) > 0) {
    }
}

/* ---- the client ---- */

typedef struct {
    int descriptor;
    tls *session;
    failure why;
    io_result result; /* result of the handshake */
} tls_client;

static inline bool wait_as_told(int descriptor, io_result result) {
    return wait_for_events(descriptor, result == IO_WRITE ? POLLOUT : POLLIN, SOON_MILLISECONDS);
}

static inline tls_client client_connect(tls_context *c, uint16_t port, const char *name,
                                        const char *key) {
    tls_client client = {.descriptor = connect_to_loopback(port), .result = IO_FAILED};
    client.session = tls_new(c, client.descriptor, name, key, strlen(key), &client.why);
    if (client.session == NULL) return client;
    do {
        client.result = tls_handshake(client.session, &client.why);
    } while ((client.result == IO_READ || client.result == IO_WRITE) &&
             wait_as_told(client.descriptor, client.result));
    return client;
}

static inline void client_close(tls_client *client, bool notify) {
    tls_free(client->session, notify);
    close(client->descriptor);
}

static inline io_result client_write(tls_client *client, const char *bytes, size_t length) {
    io_result result = IO_DONE;
    while (length > 0) {
        size_t count;
        result = tls_write(client->session, bytes, length, &count, &client->why);
        if (result == IO_FAILED || (result != IO_DONE && !wait_as_told(client->descriptor, result)))
            return result;
        bytes += count;
        length -= count;
    }
    return result;
}

/* Reads until `length` bytes have been received, or reading ends or fails. */
static inline io_result client_read(tls_client *client, char *bytes, size_t length) {
    size_t count, have = 0;
    io_result result = IO_DONE;
    while (have < length) {
        result = tls_read(client->session, bytes + have, length - have, &count, &client->why);
        have += count;
        bool waits = result == IO_READ || result == IO_WRITE;
        if ((!waits && result != IO_DONE) || (waits && !wait_as_told(client->descriptor, result)))
            return result;
    }
    return IO_DONE;
}

#endif
