#include "http2_connection_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define READS_AT_ONCE 16          /* reads by a caller that has no call on the connection */
#define PING_AFTER (30 * SECOND)  /* the silence after which a PING is sent */
#define PING_TIMEOUT (5 * SECOND) /* the time in which the server must acknowledge it */

/* ---- state ---- */

static void note_changed_streams(http2_connection *h, waker *own) {
    for (http2_stream *s; (s = http2_next_changed(h->session)) != NULL;) {
        http2_call *call = s->owner;
        if (h->arrived_at >= 0) call->arrived_at = h->arrived_at;
        http2_call_note_input(call, own);
    }
}

static void refresh(http2_connection *h) {
    bool closing = h->dead || h->retired || http2_closing(h->session);
    uint32_t most = http2_max_streams(h->session);
    bool supports_connect = http2_extended_connect(h->session) == HTTP2_CONNECT_SUPPORTED;
    __atomic_store_n(&h->supports_connect, supports_connect, __ATOMIC_RELAXED);
    if (closing != h->closing || most != h->most || (!h->any_received && h->received_at > 0)) {
        h->state_changed = true;
        __atomic_store_n(&h->most, most, __ATOMIC_RELAXED);
        __atomic_store_n(&h->any_received, h->received_at > 0, __ATOMIC_RELAXED);
        __atomic_store_n(&h->closing, closing, __ATOMIC_RELEASE);
    }
}

uint32_t http2_connection_max_streams(const http2_connection *h) {
    return __atomic_load_n(&h->most, __ATOMIC_RELAXED);
}

bool http2_connection_closing(const http2_connection *h) {
    return __atomic_load_n(&h->closing, __ATOMIC_ACQUIRE);
}

bool http2_connection_any_received(const http2_connection *h) {
    return __atomic_load_n(&h->any_received, __ATOMIC_RELAXED);
}

bool http2_connection_supports_connect(const http2_connection *h) {
    return __atomic_load_n(&h->supports_connect, __ATOMIC_RELAXED);
}

/* ---- reading and writing ---- */

/* Fails the connection. The shutdown makes the descriptor readable, which wakes a waiting
 * leader. */
static void fail_connection(http2_connection *h, const failure *why, waker *own) {
    h->dead = true;
    h->why = *why;
    h->unread = false;
    h->wants_write = 0;
    buffer_clear(&h->output);
    http2_end(h->session, why->code);
    note_changed_streams(h, own);
    refresh(h);
    if (h->connection->descriptor >= 0) shutdown(h->connection->descriptor, SHUT_RDWR);
}

static void fail_with_code(http2_connection *h, failure_code code, const char *detail, waker *own) {
    failure why;
    failure_set(&why, code, PHASE_READ, 0, "%s", detail != NULL ? detail : "");
    fail_connection(h, &why, own);
}

/* Fails the connection after the server has broken the protocol: sends GOAWAY, as far as possible
 * without waiting. */
static void fail_with_goaway(http2_connection *h, failure_code code, waker *own, nanoseconds now) {
    note_changed_streams(h, own);
    h->closing = true;
    http2_connection_write(h, own, now);
    if (!h->dead) fail_with_code(h, code, http2_detail(h->session), own);
}

bool http2_connection_read_once(http2_connection *h, waker *own, nanoseconds now) {
    failure f = {0};
    size_t count = 0;
    if (h->dead) return false;
    const arrival *arrived = &h->connection->arrived;
    h->connection->arrived.wanted = true; /* the bytes may be for calls whose drivers were away */
    io_result io = connection_read(h->connection, h->input, HTTP2_READ_SIZE, &count, &f);
    h->wants_read = io == IO_WRITE ? POLLOUT : POLLIN;
    h->unread = io == IO_DONE;
    if (io == IO_DONE) {
        h->received_at = now;
        h->arrived_at = arrived->at >= 0 ? arrived->at : now;
        h->pinged_at = 0;
        failure_code code = http2_input(h->session, h->input, count);
        if (code != FAILURE_NONE) {
            fail_with_goaway(h, code, own, now);
            return false;
        }
        note_changed_streams(h, own);
        h->arrived_at = -1;
        refresh(h);
        return true;
    }
    if (io == IO_FAILED)
        fail_connection(h, &f, own);
    else if (io != IO_READ && io != IO_WRITE)
        fail_with_code(h, FAILURE_CLOSED, NULL, own);
    return false;
}

/* Handles a failed write. Responses, or a GOAWAY with the reason, may still have arrived, and are
 * read first. */
static void write_failed(http2_connection *h, const failure *f, waker *own, nanoseconds now) {
    failure why = *f;
    h->write_broken = true;
    h->wants_write = 0;
    buffer_clear(&h->output);
    while (http2_connection_read_once(h, own, now)) {
    }
    if (!h->dead) fail_connection(h, &why, own);
}

void http2_connection_end_exhausted(http2_connection *h, waker *own) {
    if (!h->dead && http2_failure(h->session) == FAILURE_OUT_OF_MEMORY)
        fail_with_code(h, FAILURE_OUT_OF_MEMORY, NULL, own);
}

/* Fills the output buffer. Returns false when there is nothing to write, or no memory. */
static bool frame_more(http2_connection *h) {
    if (buffer_length(&h->output) > 0) return true;
    return http2_wants_output(h->session) &&
           http2_output(h->session, &h->output, HTTP2_READ_SIZE) && buffer_length(&h->output) > 0;
}

void http2_connection_write(http2_connection *h, waker *own, nanoseconds now) {
    bool any = false;
    h->wants_write = 0;
    while (!h->dead && !h->write_broken && frame_more(h)) {
        failure f = {0};
        size_t count = 0, length = buffer_length(&h->output);
        io_result io = connection_write(h->connection, buffer_head(&h->output), length, &count, &f);
        if (io == IO_FAILED) {
            write_failed(h, &f, own, now);
            return;
        }
        if (io != IO_DONE) {
            h->wants_write = io == IO_READ ? POLLIN : POLLOUT;
            break;
        }
        buffer_consume(&h->output, count);
        h->written += count;
        any = true;
    }
    http2_connection_end_exhausted(h, own);
    if (any) {
        http2_connection_note_sent(h);
        note_changed_streams(h, own);
        refresh(h);
    }
}

/* ---- functions for callers without a call on the connection ---- */

static bool nobody_reads(const http2_connection *h) {
    const http2_call *l = h->leader;
    return l == NULL || l->fiber_driven ||
           (l->batch != NULL && __atomic_load_n(&l->batch->away, __ATOMIC_ACQUIRE));
}

static void read_pending(http2_connection *h, nanoseconds now) {
    for (int reads = 0; reads < READS_AT_ONCE && http2_connection_read_once(h, NULL, now);
         reads++) {
    }
    http2_connection_write(h, NULL, now);
}

void http2_connection_retire(http2_connection *h) {
    pthread_mutex_lock(&h->lock);
    if (h->session != NULL) {
        h->retired = true;
        refresh(h);
    }
    pthread_mutex_unlock(&h->lock);
}

/* Handles a PING that was not acknowledged in time. A busy server may still respond: calls under
 * way continue until their own timeouts, new calls get another connection. */
static void ping_failed(http2_connection *h, nanoseconds now) {
    read_pending(h, now); /* the acknowledgement may have arrived */
    if (h->dead || h->pinged_at == 0) return;
    if (http2_open_streams(h->session) > 0) {
        http2_submit_goaway(h->session);
        http2_connection_write(h, NULL, now);
        refresh(h);
    } else {
        fail_with_code(h, FAILURE_CLOSED, "the server no longer answers", NULL);
    }
}

/* Sends a PING after a long silence only, because some servers count PINGs and close the connection
 * of a client that sends many. */
static void ping_if_silent(http2_connection *h, nanoseconds now) {
    nanoseconds received_at = h->received_at > 0 ? h->received_at : h->connection->opened_at;
    if (!h->dead && h->pinged_at == 0 && now - received_at >= PING_AFTER &&
        http2_ping(h->session)) {
        h->pinged_at = now;
        http2_connection_write(h, NULL, now);
    }
}

/* Sends no PING on an idle connection; http2_connection_check_alive does that before its next
 * use. */
static void check_silence(http2_connection *h, nanoseconds now) {
    if (h->pinged_at > 0 && now - h->pinged_at >= PING_TIMEOUT)
        ping_failed(h, now);
    else if (http2_open_streams(h->session) > 0)
        ping_if_silent(h, now);
}

bool http2_connection_check_alive(http2_connection *h) {
    nanoseconds now = clock_now();
    pthread_mutex_lock(&h->lock);
    bool usable = h->session != NULL;
    if (usable) {
        if (http2_open_streams(h->session) == 0 && nobody_reads(h)) read_pending(h, now);
        ping_if_silent(h, now);
        refresh(h);
        usable = !h->closing;
    }
    pthread_mutex_unlock(&h->lock);
    return usable;
}

bool http2_connection_maintain(http2_connection *h, nanoseconds now) {
    pthread_mutex_lock(&h->lock);
    if (h->session == NULL) {
        pthread_mutex_unlock(&h->lock);
        return false;
    }
    if (nobody_reads(h)) read_pending(h, now);
    http2_reset_idle_frames(h->session);
    check_silence(h, now);
    http2_connection_wake_new_leader(h, NULL);
    bool state_changed = h->state_changed;
    h->state_changed = false;
    pthread_mutex_unlock(&h->lock);
    return state_changed;
}

void http2_connection_send_goaway(http2_connection *h) {
    pthread_mutex_lock(&h->lock);
    if (h->session != NULL && !h->dead) {
        http2_submit_goaway(h->session);
        http2_connection_write(h, NULL, clock_now());
    }
    pthread_mutex_unlock(&h->lock);
}

/* ---- creation, release, fork ---- */

bool http2_connection_begin(connection *c) {
    http2_connection *h = calloc(1, sizeof(*h));
    if (h == NULL) return false;
    h->session = http2_new(&http2_default_limits);
    h->input = malloc(HTTP2_READ_SIZE);
    if (h->session == NULL || h->input == NULL) {
        http2_free(h->session);
        free(h->input);
        free(h);
        return false;
    }
    pthread_mutex_init(&h->lock, NULL);
    h->references = 1;
    h->connection = c;
    h->wants_read = POLLIN;
    h->arrived_at = -1;
    h->most = http2_max_streams(h->session);
    c->http2 = h;
    return true;
}

http2_connection *http2_connection_keep(http2_connection *h) {
    __atomic_add_fetch(&h->references, 1, __ATOMIC_RELAXED);
    return h;
}

void http2_connection_release(http2_connection *h) {
    if (h == NULL || __atomic_sub_fetch(&h->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    bool polite = h->session != NULL && !h->dead;
    http2_free(h->session);
    connection_free(h->connection, polite);
    pthread_mutex_destroy(&h->lock);
    buffer_free(&h->output);
    free(h->input);
    free(h);
}

void http2_connection_before_fork(http2_connection *h) {
    pthread_mutex_lock(&h->lock);
}

/* In the child the session and its streams are never used or freed. */
void http2_connection_after_fork(http2_connection *h, bool child) {
    if (child) {
        pthread_mutex_init(&h->lock, NULL);
        h->session = NULL;
        h->dead = h->closing = true;
        failure_set(&h->why, FAILURE_FORKED, PHASE_READ, 0, NULL);
        return;
    }
    pthread_mutex_unlock(&h->lock);
}
