#include "switched.h"

#include "transport/events/portable.h"

#include <stdlib.h>
#include <string.h>

#define PIECE (64 * 1024) /* bytes for each http2_feed */

struct switched {
    pool *pool;             /* one reference */
    connection *connection; /* checked out of the pool; over HTTP/2 shared */
    buffer rest;            /* owned; bytes that followed the head, to be read first */
    /* The fields below are used over HTTP/2 only. */
    bool shared;
    bool shut_down; /* switched_shutdown was called */
    bool reader_waits, writer_waits;
    http2_call call; /* the stream, and one reference to its connection */
    waker *waker;    /* one reference */
    int descriptor;  /* the waker's; also readable for the connection while the call leads */
    nanoseconds idle_timeout, max_age; /* of the connection */
};

bool switched_shares(void) {
#ifdef USE_EPOLL
    return true;
#else
    return false;
#endif
}

/* ---- creation ---- */

/* Returns a descriptor that is readable when the waker is woken, and while the call leads also when
 * the connection has an event. */
static int watch(switched *s) {
    short events = __atomic_load_n(&s->call.events, __ATOMIC_ACQUIRE);
    return waker_with(s->waker, s->connection->descriptor, events);
}

static bool take_stream(switched *s, exchange *x) {
    s->waker = waker_take();
    if (s->waker == NULL || !http2_call_enter(&x->call)) return false;
    http2_call_move(&x->call, &s->call, s->waker);
    s->connection = x->connection;
    s->idle_timeout = x->idle_timeout;
    s->max_age = x->max_age;
    x->connection = NULL;
    s->descriptor = watch(s);
    return s->descriptor >= 0;
}

switched *switched_take(exchange *x) {
    if (!exchange_switched(x)) return NULL;
    switched *s = calloc(1, sizeof(*s));
    if (s == NULL) return NULL;
    s->pool = pool_keep(x->pool);
    s->shared = x->http2;
    if (s->shared) {
        if (take_stream(s, x)) return s;
        switched_free(s);
        return NULL;
    }
    s->connection = x->connection;
    s->rest = x->input;
    x->connection = NULL;
    x->input = (buffer){0};
    return s;
}

/* ---- a stream ---- */

static void report_state_change(switched *s, bool state_changed) {
    if (state_changed) pool_reconsider(s->pool, s->connection);
}

/* Begins a step. A wake-up from now on is not lost. */
static bool enter(switched *s, failure *f) {
    if (http2_call_enter(&s->call)) {
        waker_clear(s->waker);
        return true;
    }
    failure_set(f, FAILURE_FORKED, PHASE_READ, 0, NULL);
    return false;
}

/* Returns whether the writer may continue: all that it fed is framed, or nothing can be sent any
 * more. */
static bool writable(const http2_stream *s) {
    return s->wants_body || s->closed || s->failure != FAILURE_NONE || s->ended;
}

static bool readable(const http2_stream *s) {
    return buffer_length(&s->data) > 0 || s->ended || s->failure != FAILURE_NONE;
}

/* Ends a step. Reader and writer wait for the same descriptor: when this step has found something
 * for one of them, the descriptor stays readable until that one continues. */
static void leave(switched *s, nanoseconds now) {
    const http2_stream *stream = s->call.stream;
    http2_call_flush(&s->call, now);
    bool found = (s->reader_waits && readable(stream)) || (s->writer_waits && writable(stream));
    report_state_change(s, http2_call_leave(&s->call, s->reader_waits || s->writer_waits));
    if (found || s->shut_down || s->call.again) waker_wake(s->waker);
    watch(s);
}

/* Reads the connection until `enough` is true of the stream, or nothing more has arrived. */
static void read_until(switched *s, bool (*enough)(const http2_stream *), nanoseconds now) {
    while (!enough(s->call.stream) && http2_call_may_read(&s->call))
        if (!http2_call_read(&s->call, now)) break;
}

static io_result stream_end(switched *s, failure *f) {
    const http2_stream *stream = s->call.stream;
    const failure *why = http2_connection_why(s->call.http2);
    if (stream->ended) return IO_END;
    if (stream->failure == FAILURE_TRUNCATED || stream->failure == FAILURE_CLOSED)
        return IO_TRUNCATED;
    failure_set(f, stream->failure, PHASE_READ, why->system_error, NULL);
    return IO_FAILED;
}

static io_result stream_read(switched *s, uint8_t *bytes, size_t length, size_t *count,
                             failure *f) {
    nanoseconds now = clock_now();
    io_result result = IO_DONE;
    if (!enter(s, f)) return IO_FAILED;
    http2_stream *stream = s->call.stream;
    read_until(s, readable, now);
    *count = buffer_length(&stream->data) < length ? buffer_length(&stream->data) : length;
    if (*count > 0) {
        memcpy(bytes, buffer_head(&stream->data), *count);
        buffer_consume(&stream->data, *count);
        http2_consumed(http2_connection_session(s->call.http2), stream, *count);
    } else if (s->shut_down) {
        result = IO_END;
    } else {
        result = readable(stream) ? stream_end(s, f) : IO_READ;
    }
    s->reader_waits = result == IO_READ;
    leave(s, now);
    return result;
}

static io_result stream_write(switched *s, const void *bytes, size_t length, size_t *count,
                              failure *f) {
    nanoseconds now = clock_now();
    io_result result = IO_READ;
    if (!enter(s, f)) return IO_FAILED;
    http2_stream *stream = s->call.stream;
    *count = length < PIECE ? length : PIECE;
    if (!stream->wants_body) http2_call_flush(&s->call, now);
    read_until(s, writable, now);
    if (s->shut_down || (writable(stream) && !stream->wants_body)) {
        result = s->shut_down ? IO_END : stream_end(s, f);
    } else if (stream->wants_body) {
        http2 *session = http2_connection_session(s->call.http2);
        result = http2_feed(session, stream, bytes, *count, false) ? IO_DONE : IO_FAILED;
        if (result == IO_FAILED) failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_WRITE, 0, NULL);
    }
    s->writer_waits = result == IO_READ;
    leave(s, now);
    return result;
}

static io_result stream_flush(switched *s, failure *f) {
    nanoseconds now = clock_now();
    if (!enter(s, f)) return IO_FAILED;
    http2_call_flush(&s->call, now);
    read_until(s, writable, now);
    http2_call_flush(&s->call, now);
    bool done = s->shut_down || (writable(s->call.stream) && http2_call_written(&s->call));
    s->writer_waits = !done;
    leave(s, now);
    return done ? IO_DONE : IO_READ;
}

static void free_stream(switched *s) {
    nanoseconds now = clock_now();
    if (s->call.http2 == NULL) return;
    if (!http2_call_enter(&s->call)) return; /* in a forked child; the memory leaks */
    http2_feed(http2_connection_session(s->call.http2), s->call.stream, NULL, 0, true);
    http2_call_flush(&s->call, now);
    report_state_change(s, http2_call_quit(&s->call, now));
    nanoseconds until =
        clock_earlier(clock_after(now, s->idle_timeout), connection_due(s->connection, s->max_age));
    pool_leave(s->pool, s->connection, now, until);
    http2_connection_release(s->call.http2);
}

/* ---- connections and streams ---- */

void switched_free(switched *s) {
    if (s == NULL) return;
    if (s->shared)
        free_stream(s);
    else
        pool_discard(s->pool, s->connection, true);
    waker_drop(s->waker);
    buffer_free(&s->rest);
    pool_release(s->pool);
    free(s);
}

size_t switched_size(const switched *s) {
    return sizeof(*s) + s->rest.capacity;
}

io_result switched_read(switched *s, void *bytes, size_t length, size_t *count, failure *f) {
    if (s->shared) return stream_read(s, bytes, length, count, f);
    size_t rest = buffer_length(&s->rest);
    if (rest == 0) return connection_read(s->connection, bytes, length, count, f);
    *count = rest < length ? rest : length;
    memcpy(bytes, buffer_head(&s->rest), *count);
    buffer_consume(&s->rest, *count);
    return IO_DONE;
}

io_result switched_write(switched *s, const void *bytes, size_t length, size_t *count, failure *f) {
    return s->shared ? stream_write(s, bytes, length, count, f)
                     : connection_write(s->connection, bytes, length, count, f);
}

io_result switched_flush(switched *s, failure *f) {
    return s->shared ? stream_flush(s, f) : IO_DONE;
}

void switched_end_wait(switched *s) {
    failure f;
    if (!s->shared || !enter(s, &f)) return;
    s->reader_waits = false;
    leave(s, clock_now());
}

int switched_descriptor(switched *s) {
    return s->shared ? s->descriptor : s->connection->descriptor;
}

void switched_shutdown(switched *s) {
    if (s->shared) {
        s->shut_down = true;
        waker_wake(s->waker);
    } else if (s->connection->descriptor >= 0) {
        shutdown(s->connection->descriptor, SHUT_RDWR);
    }
}
