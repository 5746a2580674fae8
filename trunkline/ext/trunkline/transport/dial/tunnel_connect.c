#include "tunnel_internal.h"

#include "protocol/guard.h"

#include <stdio.h>

/* CONNECT to an HTTP proxy, and its response. */

#define READ_BYTES 4096
#define AUTHORITY_ROOM 320 /* a name of 253 bytes, brackets, a port */

static bool no_memory(failure *f) {
    return failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_CONNECT, 0, NULL);
}

bool connect_begin(tunnel *t, failure *f) {
    char authority[AUTHORITY_ROOM];
    const route *r = t->route;
    bool literal = strchr(r->host, ':') != NULL;
    int length = snprintf(authority, sizeof(authority), literal ? "[%s]:%u" : "%s:%u", r->host,
                          (unsigned)r->port);
    if (length < 0 || (size_t)length >= sizeof(authority))
        return failure_set(f, FAILURE_PROXY, PHASE_CONNECT, 0, "the host's name is too long");
    const char *credentials = r->proxy->authorization;
    http1_header fields[] = {
        {"Host", 4, authority, (size_t)length},
        {"Proxy-Authorization", 19, credentials, credentials != NULL ? strlen(credentials) : 0},
    };
    if (!http1_request(&t->out, "CONNECT", 7, authority, (size_t)length, fields,
                       credentials != NULL ? 2 : 1)) {
        return failure_set(f, FAILURE_PROXY, PHASE_CONNECT, 0,
                           "the host or the proxy's credentials cannot be sent in CONNECT");
    }
    t->refused = calloc(1, sizeof(*t->refused));
    if (t->refused == NULL) return no_memory(f);
    http1_begin(&t->refused->response, &t->options->limits, false);
    return true;
}

io_result connect_refused(tunnel *t, failure *f) {
    const refusal *r = t->refused;
    failure_set(f, FAILURE_PROXY_REFUSED, PHASE_CONNECT, 0, "proxy %.60s: %d%s%.*s",
                t->route->proxy->label, r->response.status,
                r->response.reason_length > 0 ? " " : "",
                (int)(r->response.reason_length < 120 ? r->response.reason_length : 120),
                (const char *)r->head + r->response.reason);
    return IO_FAILED;
}

/* Keeps the head of a refusal; the rest of `in` is its body. */
static io_result begin_refusal(tunnel *t, failure *f) {
    refusal *r = t->refused;
    r->head = malloc(r->response.head_length);
    if (r->head == NULL) {
        no_memory(f);
        return IO_FAILED;
    }
    memcpy(r->head, buffer_head(&t->in), r->response.head_length);
    buffer_consume(&t->in, r->response.head_length);
    t->refusing = true;
    return IO_WAIT;
}

static io_result take_head(tunnel *t, failure *f) {
    http1_response *response = &t->refused->response;
    http1_result result = http1_head(response, buffer_head(&t->in), buffer_length(&t->in));
    if (result == HTTP1_FAILED) {
        char came[HTTP1_QUOTED_ROOM] = "";
        if (response->failure == FAILURE_STATUS_LINE)
            http1_quote(buffer_head(&t->in), buffer_length(&t->in), came);
        return tunnel_fail(t, f, "its answer to CONNECT is not HTTP: %s%s%s",
                           failure_words(response->failure), came[0] != '\0' ? ": " : "", came);
    }
    if (result == HTTP1_MORE) {
        io_result filled = tunnel_fill(t, buffer_length(&t->in) + READ_BYTES, f);
        return filled == IO_DONE ? IO_WAIT : filled;
    }
    if (response->status < 200) {
        buffer_consume(&t->in, response->head_length);
        http1_next_head(response);
        return IO_WAIT;
    }
    if (response->status > 299) return begin_refusal(t, f);
    /* Content-Length and Transfer-Encoding have no meaning in this response. The server sends
     * nothing before the client does, so further bytes are not from the server. */
    if (GUARD(NOTHING_BEHIND_CONNECT) && buffer_length(&t->in) > response->head_length) {
        return tunnel_fail(t, f, "%zu bytes followed its answer to CONNECT",
                           buffer_length(&t->in) - response->head_length);
    }
    return IO_DONE;
}

/* Reads the refusal's body, up to TUNNEL_BODY_BYTES, for the error that is raised. */
static io_result take_body(tunnel *t, failure *f) {
    refusal *r = t->refused;
    for (;;) {
        http1_piece piece;
        http1_result result =
            http1_body(&r->response, buffer_head(&t->in), buffer_length(&t->in), &piece);
        if (result == HTTP1_DATA) {
            size_t room = TUNNEL_BODY_BYTES - buffer_length(&r->body);
            if (!buffer_append(&r->body, piece.data, piece.length < room ? piece.length : room)) {
                no_memory(f);
                return IO_FAILED;
            }
        }
        buffer_consume(&t->in, piece.consumed);
        bool full = buffer_length(&r->body) >= TUNNEL_BODY_BYTES;
        if (full || result == HTTP1_DONE || result == HTTP1_FAILED) return connect_refused(t, f);
        if (result == HTTP1_DATA) continue;
        io_result filled = tunnel_fill(t, buffer_length(&t->in) + READ_BYTES, f);
        if (filled == IO_END) return connect_refused(t, f);
        if (filled != IO_DONE) return filled;
    }
}

io_result connect_step(tunnel *t, failure *f) {
    return t->refusing ? take_body(t, f) : take_head(t, f);
}
