#include "transport/events/portable.h"
#include "tls_internal.h"

#include "protocol/comma_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* The most plaintext of one record (RFC 8446, section 5.1). */
#define RECORD_BYTES 16384

/* More bytes than this on an idle connection are not only tickets. */
#define TICKET_BYTES_MAX (64 * 1024)

/* ---- the BIO; OpenSSL's own socket BIO would use write, which raises SIGPIPE ---- */

static bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

/* Converts a result of the outer session to a BIO's result. */
static int outer_result(BIO *bio, tls *t, io_result result, size_t count, const failure *f) {
    switch (result) {
    case IO_DONE: return (int)count;
    case IO_READ: BIO_set_retry_read(bio); return -1;
    case IO_WRITE: BIO_set_retry_write(bio); return -1;
    case IO_END:
    case IO_TRUNCATED: t->ended = true; return 0;
    default: t->system_error = f->system_error != 0 ? f->system_error : EPROTO; return -1;
    }
}

static int outer_write(BIO *bio, tls *t, const char *bytes, int length) {
    failure f;
    size_t count;
    io_result result = tls_write(t->outer, bytes, (size_t)length, &count, &f);
    return outer_result(bio, t, result, count, &f);
}

static int outer_read(BIO *bio, tls *t, char *bytes, int length) {
    failure f;
    size_t count;
    io_result result = tls_read(t->outer, bytes, (size_t)length, &count, &f);
    return outer_result(bio, t, result, count, &f);
}

static int socket_write(BIO *bio, const char *bytes, int length) {
    tls *t = BIO_get_data(bio);
    ssize_t sent;
    BIO_clear_retry_flags(bio);
    if (t->outer != NULL) return outer_write(bio, t, bytes, length);
    do sent = send(t->descriptor, bytes, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent > 0)
        t->socket_bytes += (uint64_t)sent;
    else if (sent < 0 && would_block(errno))
        BIO_set_retry_write(bio);
    else if (sent < 0)
        t->system_error = errno;
    return (int)sent;
}

static int socket_read(BIO *bio, char *bytes, int length) {
    tls *t = BIO_get_data(bio);
    ssize_t got;
    BIO_clear_retry_flags(bio);
    if (t->outer != NULL) return outer_read(bio, t, bytes, length);
    size_t room = (size_t)length < t->allowance ? (size_t)length : t->allowance;
    if (room == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    do {
        got =
            arrival_recv(t->descriptor, bytes, room, t->read_waits ? 0 : MSG_DONTWAIT, t->arrived);
        t->read_waits = false;
    } while (got < 0 && errno == EINTR);
    t->drained = got > 0 && (size_t)got < room;
    if (got == 0)
        t->ended = true;
    else if (got < 0 && would_block(errno))
        BIO_set_retry_read(bio);
    else if (got < 0)
        t->system_error = errno;
    else if (t->allowance != SIZE_MAX)
        t->allowance -= (size_t)got;
    return (int)got;
}

void tls_record_arrivals(tls *t, arrival *to) {
    while (t->outer != NULL) t = t->outer;
    t->arrived = to;
}

bool tls_wait_in_read(tls *t) {
    t->read_waits = t->outer == NULL;
    return t->read_waits;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    const tls *t = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: return 1; /* the BIO has no buffer */
    case BIO_CTRL_EOF: return t->ended;
    default: return 0;
    }
}

static int socket_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

BIO_METHOD *tls_bio_method(void) {
    static BIO_METHOD *method; /* made by the first caller, under pthread_once */
    if (method != NULL) return method;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "trunkline");
    if (method == NULL) return NULL;
    BIO_meth_set_write(method, socket_write);
    BIO_meth_set_read(method, socket_read);
    BIO_meth_set_ctrl(method, socket_control);
    BIO_meth_set_create(method, socket_create);
    return method;
}

/* ---- results of OpenSSL ---- */

/* SSL_get_error needs an error queue that was empty before the call. It nearly always is, and
 * clearing it costs more than this check. */
static void clear_errors(void) {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

/* Returns the result for a broken connection: IO_TRUNCATED for an end without close_notify, else
 * IO_FAILED. */
static io_result report_io_error(tls *t, int error, call_phase phase, failure *f) {
    char words[200];
    int reason = ERR_GET_REASON(ERR_peek_error());
    bool unexpected_end = error == SSL_ERROR_SYSCALL;
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    unexpected_end = unexpected_end || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#endif
    if (t->ended && unexpected_end) {
        ERR_clear_error();
        return IO_TRUNCATED;
    }
    t->broken = error == SSL_ERROR_SSL;
    t->no_protocol = reason == SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL;
    if (error == SSL_ERROR_SYSCALL && t->system_error != 0)
        failure_set(f, FAILURE_RESET, phase, t->system_error, "%s", strerror(t->system_error));
    else if (t->certificate_error[0] != '\0') /* a certificate was refused in a renegotiation */
        failure_set(f, FAILURE_TLS_IO, phase, 0, "%s", t->certificate_error);
    else
        failure_set(f, FAILURE_TLS_IO, phase, 0, "%s", tls_words(words, sizeof(words)));
    ERR_clear_error();
    return IO_FAILED;
}

static io_result stopped(tls *t, int returned, call_phase phase, failure *f) {
    int error = SSL_get_error(t->ssl, returned);
    switch (error) {
    case SSL_ERROR_WANT_READ: return IO_READ;
    case SSL_ERROR_WANT_WRITE: return IO_WRITE;
    case SSL_ERROR_ZERO_RETURN: return IO_END;
    default: return report_io_error(t, error, phase, f);
    }
}

/* ---- the handshake ---- */

static io_result refuse_certificate(tls *t, failure *f) {
    tls_session_forget(t->sessions, t->key, t->key_length);
    t->broken = true;
    ERR_clear_error();
    failure_set(f, FAILURE_CERTIFICATE, PHASE_TLS, 0, "%s", t->certificate_error);
    return IO_FAILED;
}

static io_result handshake_failed(tls *t, io_result result, failure *f) {
    if (t->certificate_error[0] != '\0') return refuse_certificate(t, f);
    const char *alpn = t->context->options.alpn;
    if (result == IO_FAILED && t->no_protocol && alpn != NULL && strcmp(alpn, "h2") == 0)
        f->code = FAILURE_HTTP2_NOT_SPOKEN;
    else if (result == IO_FAILED)
        f->code = FAILURE_TLS;
    else
        failure_set(f, FAILURE_TLS, PHASE_TLS, 0,
                    "the server closed the connection during the handshake");
    return IO_FAILED;
}

/* Returns whether `protocol` is in the comma list that was offered. */
static bool offered(const char *list, const unsigned char *protocol, unsigned length) {
    comma_list l = {.rest = list, .end = list != NULL ? list + strlen(list) : NULL};
    while (comma_list_next(&l))
        if (l.length == length && memcmp(l.element, protocol, length) == 0) return true;
    return false;
}

static int show_no_certificate(SSL *ssl, void *none) {
    (void)ssl, (void)none;
    return 0;
}

/* Forbids that a certificate is requested or replaced after the handshake, because HTTP/2 requests
 * share the connection: RFC 9113, section 9.2.1, and RFC 8740, section 3. */
static void forbid_reauthentication(tls *t) {
    SSL_set_options(t->ssl, SSL_OP_NO_RENEGOTIATION);
    SSL_set_cert_cb(t->ssl, show_no_certificate, NULL);
}

static bool take_protocol(tls *t, failure *f) {
    const unsigned char *protocol;
    unsigned length;
    SSL_get0_alpn_selected(t->ssl, &protocol, &length);
    if (length == 0) return true;
    if (length >= sizeof(t->protocol) || !offered(t->context->options.alpn, protocol, length))
        return failure_set(f, FAILURE_TLS, PHASE_TLS, 0,
                           "the server chose a protocol that was not offered by ALPN");
    memcpy(t->protocol, protocol, length);
    if (strcmp(t->protocol, "h2") == 0) forbid_reauthentication(t);
    return true;
}

static io_result run_handshake(tls *t, failure *f) {
    clear_errors();
    int returned = SSL_do_handshake(t->ssl);
    if (returned != 1) {
        io_result result = stopped(t, returned, PHASE_TLS, f);
        bool goes_on = result == IO_READ || result == IO_WRITE;
        return goes_on ? result : handshake_failed(t, result, f);
    }
    if (!tls_verify_again(t)) return refuse_certificate(t, f);
    if (!take_protocol(t, f)) return IO_FAILED;
    ERR_clear_error(); /* the search for an issuer may leave errors */
    t->ready = true;
    return IO_DONE;
}

io_result tls_handshake(tls *t, failure *f) {
    tls_enter();
    io_result result = run_handshake(t, f);
    tls_leave();
    return result;
}

/* ---- application data ---- */

static io_result read_some(tls *t, void *bytes, size_t length, size_t *count, failure *f) {
    *count = 0;
    clear_errors();
    int got = SSL_read(t->ssl, bytes, length > INT_MAX ? INT_MAX : (int)length);
    if (got <= 0) return stopped(t, got, PHASE_READ, f);
    t->renegotiations = 0;
    *count = (size_t)got;
    return IO_DONE;
}

io_result tls_read(tls *t, void *bytes, size_t length, size_t *count, failure *f) {
    tls_enter();
    io_result result = read_some(t, bytes, length, count, f);
    tls_leave();
    return result;
}

/* Returns the session that uses the socket. */
static const tls *outermost(const tls *t) {
    return t->outer != NULL ? outermost(t->outer) : t;
}

static uint64_t socket_bytes(const tls *t) {
    return outermost(t)->socket_bytes;
}

/* SSL_write takes one record at a time, and returns when the socket has all of it. */
static io_result write_some(tls *t, const void *bytes, size_t length, size_t *count, failure *f) {
    if (!t->writing) t->socket_bytes_before = socket_bytes(t);
    clear_errors();
    int put = SSL_write(t->ssl, bytes, length > INT_MAX ? INT_MAX : (int)length);
    if (put > 0) {
        t->writing = false;
        t->partial_record = 0;
        t->plaintext_written += (uint64_t)put;
        *count = (size_t)put;
        return IO_DONE;
    }
    t->writing = true;
    if (socket_bytes(t) > t->socket_bytes_before)
        t->partial_record = length < RECORD_BYTES ? length : RECORD_BYTES;
    io_result result = stopped(t, put, PHASE_WRITE, f);
    if (result != IO_END && result != IO_TRUNCATED) return result;
    failure_set(f, FAILURE_RESET, PHASE_WRITE, 0, "the server has closed the connection");
    return IO_FAILED;
}

io_result tls_write(tls *t, const void *bytes, size_t length, size_t *count, failure *f) {
    *count = 0;
    if (length == 0) return IO_DONE;
    tls_enter();
    io_result result = write_some(t, bytes, length, count, f);
    tls_leave();
    return result;
}

uint64_t tls_sent(const tls *t) {
    return t->plaintext_written + t->partial_record;
}

bool tls_pending(const tls *t) {
    return SSL_has_pending(t->ssl) == 1 || (t->outer != NULL && tls_pending(t->outer));
}

bool tls_drained(const tls *t) {
    return !tls_pending(t) && outermost(t)->drained;
}

/* Returns whether nothing but tickets and key updates has arrived. Only OpenSSL can distinguish
 * these from data, because all are encrypted. A part of a record counts as data. */
static bool only_tickets(tls *t) {
    char byte;
    tls *last = t;
    while (last->outer != NULL) last = last->outer;
    last->allowance = TICKET_BYTES_MAX;
    tls_enter();
    clear_errors();
    int got = SSL_peek(t->ssl, &byte, 1);
    bool quiet = got <= 0 && SSL_get_error(t->ssl, got) == SSL_ERROR_WANT_READ &&
                 last->allowance > 0 && !tls_pending(t);
    last->allowance = SIZE_MAX;
    ERR_clear_error();
    tls_leave();
    return quiet;
}

bool tls_check_alive(tls *t) {
    char byte;
    ssize_t got;
    if (tls_pending(t)) return only_tickets(t);
    do got = recv(t->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0) return would_block(errno);
    return got > 0 && only_tickets(t);
}
