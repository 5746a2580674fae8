#include "tunnel_internal.h"

#include <stdarg.h>
#include <stdio.h>

io_result tunnel_fail(const tunnel *t, failure *f, const char *format, ...) {
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    failure_set(f, FAILURE_PROXY, PHASE_CONNECT, 0, "proxy %.60s: %s", t->route->proxy->label,
                words);
    return IO_FAILED;
}

static bool speaks_http(const tunnel *t) {
    return t->route->proxy->kind == PROXY_HTTP;
}

tunnel *tunnel_new(const route *r, const call_options *options, socket_io socket,
                   const endpoint *target, failure *f) {
    tunnel *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_CONNECT, 0, NULL);
        return NULL;
    }
    t->route = r;
    t->options = options;
    t->socket = socket;
    if (target != NULL) t->target = *target;
    if (speaks_http(t) ? connect_begin(t, f) : socks_begin(t, f)) return t;
    tunnel_free(t);
    return NULL;
}

/* Reports the end or failure of the connection as a failure of the proxy, not of the server. */
static io_result connection_failed(tunnel *t, io_result result, failure *f) {
    if (result != IO_FAILED) return tunnel_fail(t, f, "it closed the connection");
    failure cause = *f;
    tunnel_fail(t, f, "%s%s%s", failure_words(cause.code), cause.detail[0] != '\0' ? ": " : "",
                cause.detail);
    f->system_error = cause.system_error;
    return IO_FAILED;
}

static io_result flush(tunnel *t, failure *f) {
    while (buffer_length(&t->out) > 0) {
        size_t count = 0;
        io_result result =
            socket_io_write(t->socket, buffer_head(&t->out), buffer_length(&t->out), &count, f);
        if (result == IO_READ || result == IO_WRITE) return result;
        if (result != IO_DONE) return connection_failed(t, result, f);
        buffer_consume(&t->out, count);
    }
    return IO_DONE;
}

io_result tunnel_fill(tunnel *t, size_t most, failure *f) {
    size_t room = most - buffer_length(&t->in), count = 0;
    if (!buffer_reserve(&t->in, room)) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_CONNECT, 0, NULL);
        return IO_FAILED;
    }
    io_result result = socket_io_read(t->socket, buffer_tail(&t->in), room, &count, f);
    buffer_commit(&t->in, count);
    if (result == IO_DONE || result == IO_READ || result == IO_WRITE) return result;
    return t->refusing ? IO_END : connection_failed(t, result, f);
}

io_result tunnel_step(tunnel *t, failure *f) {
    io_result result;
    do {
        result = flush(t, f);
        if (result == IO_DONE) result = speaks_http(t) ? connect_step(t, f) : socks_step(t, f);
    } while (result == IO_WAIT);
    return result;
}

void tunnel_timed_out(tunnel *t, const char *limit, failure *f) {
    if (t->refusing) {
        connect_refused(t, f);
        return;
    }
    failure_set(f, FAILURE_CONNECT_TIMEOUT, PHASE_CONNECT, 0,
                "proxy %s did not open the way to %s %s", t->route->proxy->label, t->route->label,
                limit);
}

refusal *tunnel_refusal(tunnel *t) {
    refusal *taken = t->refusing ? t->refused : NULL;
    if (taken != NULL) t->refused = NULL;
    return taken;
}

void refusal_free(refusal *r) {
    if (r == NULL) return;
    http1_free(&r->response);
    free(r->head);
    buffer_free(&r->body);
    free(r);
}

void tunnel_free(tunnel *t) {
    if (t == NULL) return;
    refusal_free(t->refused);
    buffer_free(&t->out);
    buffer_free(&t->in);
    free(t);
}
