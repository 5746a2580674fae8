#include "exchange_internal.h"

#include "protocol/guard.h"

#include "transport/dial/egress.h"
#include "transport/events/descriptors.h"

#include <errno.h>
#include <string.h>

#define KEEP_ALIVE_MARGIN SECOND /* idle connections end this long before the server's timeout */

void exchange_begin(exchange *x, const exchange_request *request, pool *p, waker *w,
                    nanoseconds deadline) {
    x->request = *request;
    x->generation = descriptors_generation();
    x->pool = pool_keep(p);
    x->waker = waker_keep(w);
    x->ticket.waker = w;
    x->hints_end = &x->hints;
    x->allowed = x->connection_age = -1;
    x->body_limit = request->streaming ? request->options->max_streamed_bytes
                                       : request->options->max_body_bytes;
    x->timings = (exchange_timings){-1, -1, -1, -1, -1, -1, -1, -1, 0};
    x->idle_timeout = request->options->idle_timeout;
    x->max_age = request->options->max_age;
    x->total_deadline = deadline;
    x->began = clock_now();
}

/* ---- the end of a call ---- */

static attempt *current_attempt(exchange *x) {
    return x->attempt_count > 0 ? &x->attempts[x->attempt_count - 1] : NULL;
}

static void record_outcome(exchange *x, failure_code code) {
    attempt *a = current_attempt(x);
    if (a != NULL) {
        a->sent = exchange_sent(x);
        a->code = code;
    }
}

/* Returns the time until which the connection may be idle: at most until KEEP_ALIVE_MARGIN before
 * the server's Keep-Alive timeout. */
static nanoseconds idle_until(const exchange *x, nanoseconds now) {
    nanoseconds until = clock_after(now, x->idle_timeout);
    until = clock_earlier(until, connection_due(x->connection, x->max_age));
    if (GUARD(KEEP_ALIVE_TIMEOUT) && x->response.keep_alive_timeout >= 0) {
        nanoseconds hint = (nanoseconds)x->response.keep_alive_timeout * SECOND - KEEP_ALIVE_MARGIN;
        until = clock_earlier(until, now + hint);
    }
    return until;
}

static void drop_connection(exchange *x) {
    if (x->connection != NULL && x->http2) {
        exchange_http2_leave(x, clock_now(), idle_until(x, clock_now()));
    } else if (x->connection != NULL) {
        if (GUARD(DROP_UNFINISHED))
            pool_discard(x->pool, x->connection, false);
        else
            pool_checkin(x->pool, x->connection, clock_now(), NEVER);
        x->connection = NULL;
    }
}

static step_result end_failed(exchange *x) {
    nanoseconds now = clock_now();
    exchange_http2_stop(x);
    record_outcome(x, x->why.code);
    x->timings.total = now - x->began;
    x->state = EXCHANGE_FAILED;
    dial_free(x->dialling);
    x->dialling = NULL;
    pool_cancel(x->pool, &x->ticket);
    drop_connection(x);
    return STEP_FAILED;
}

step_result exchange_fail(exchange *x, failure_code code, const char *detail, int system_error) {
    failure_set(&x->why, code, x->phase, system_error, "%s", detail ? detail : "");
    return end_failed(x);
}

bool exchange_switches(const exchange *x, int status) {
    return x->request.upgrades && (x->http2 ? status / 100 == 2 : status == 101);
}

bool exchange_switched(const exchange *x) {
    bool done = x->state == EXCHANGE_DONE && x->connection != NULL;
    return done && exchange_switches(x, x->response.status);
}

step_result exchange_finish(exchange *x, nanoseconds now) {
    record_outcome(x, FAILURE_NONE);
    x->timings.total = now - x->began;
    x->stepped_at = now;
    if (exchange_switches(x, x->response.status)) {
        /* switched_take or exchange_free takes the connection. */
        x->state = EXCHANGE_DONE;
        return STEP_DONE;
    }
    if (x->http2) {
        x->state = EXCHANGE_DONE;
        exchange_http2_leave(x, now, idle_until(x, now));
        return STEP_DONE;
    }
    bool clean = !GUARD(NO_BYTES_LEFT) || buffer_length(&x->input) == 0;
    bool sent = !GUARD(REQUEST_SENT_WHOLE) || (x->request_done && !x->request_cut);
    bool reusable = x->response.persistent && !x->request.sends_close && sent && clean;
    connection *c = x->connection;
    nanoseconds until = idle_until(x, now);
    x->connection = NULL;
    x->state = EXCHANGE_DONE;
    if (reusable)
        pool_checkin(x->pool, c, now, until);
    else
        pool_discard(x->pool, c, true);
    return STEP_DONE;
}

void exchange_abort(exchange *x) {
    if (x->state == EXCHANGE_DONE && x->connection != NULL) {
        exchange_http2_stop(x);
        drop_connection(x);
    }
    if (x->pool != NULL && x->state != EXCHANGE_DONE && x->state != EXCHANGE_FAILED)
        exchange_fail(x, FAILURE_CANCELLED, NULL, 0);
}

/* ---- a connection, and an attempt on it ---- */

static void begin_attempt(exchange *x, attempt_reason reason) {
    if (x->attempt_count < EXCHANGE_ATTEMPTS)
        x->attempts[x->attempt_count++] = (attempt){.reason = reason};
}

static bool start_talking(exchange *x, connection *c, nanoseconds now) {
    x->connection = c;
    x->connection_id = c->id;
    x->reused = x->state != EXCHANGE_DIALLING;
    x->connection_age = now - c->opened_at;
    x->tls_version = c->session ? tls_version(c->session) : NULL;
    x->tls_cipher = c->session ? tls_cipher(c->session) : NULL;
    memcpy(current_attempt(x)->address, c->address, sizeof(c->address));
    if (x->timings.queue < 0) x->timings.queue = 0;
    x->state = EXCHANGE_TALKING;
    x->any_byte = false;
    buffer_clear(&x->input);
    http1_begin(&x->response, &x->request.options->limits, x->request.head_method);
    x->response.may_switch = x->request.upgrades;
    return exchange_send_begin(x, now);
}

/* Ends a call that only connects. A connection that had been idle keeps its idle deadline, because
 * the server has received nothing on it. */
static step_result finish_connect_only(exchange *x, nanoseconds now) {
    connection *c = x->connection;
    nanoseconds until = idle_until(x, now);
    x->connection = NULL;
    x->timings.total = now - x->began;
    x->state = EXCHANGE_DONE;
    until = x->reused && c->idle_until > 0 ? clock_earlier(until, c->idle_until) : until;
    if (x->http2) {
        x->connection = c;
        exchange_http2_leave(x, now, until);
    } else {
        pool_checkin(x->pool, c, now, until);
    }
    return STEP_DONE;
}

static step_result use_connection(exchange *x, connection *c, nanoseconds now) {
    if (!start_talking(x, c, now)) return exchange_fail(x, FAILURE_OUT_OF_MEMORY, NULL, 0);
    return x->request.only_connects ? finish_connect_only(x, now) : STEP_WAIT;
}

static step_result start_dialling(exchange *x, nanoseconds now) {
    x->dialling = dial_new(x->request.to, x->request.options, x->waker, now);
    if (x->dialling == NULL) return exchange_fail(x, FAILURE_OUT_OF_MEMORY, NULL, 0);
    x->state = EXCHANGE_DIALLING;
    return STEP_WAIT;
}

static pool_result next_connection(exchange *x, connection **c) {
    if ((*c)->http2 == NULL) return pool_replace(x->pool, &x->ticket, *c, false, c);
    pool_reconsider(x->pool, *c);
    pool_leave(x->pool, *c, 0, 0);
    return pool_acquire(x->pool, x->request.to, x->request.options, &x->ticket, c);
}

static bool usable(const exchange *x, connection *c, nanoseconds now) {
    return pool_connection_usable(c, x->max_age, x->watcher, now);
}

/* Continues with the pool's result. A connection is checked before it is used, and replaced when it
 * is dead or too old. */
static step_result handle_pool_result(exchange *x, pool_result result, connection *c,
                                      nanoseconds now) {
    while (result == POOL_CONNECTION && !usable(x, c, now)) result = next_connection(x, &c);
    switch (result) {
    case POOL_CONNECTION: return use_connection(x, c, now);
    case POOL_DIAL: return start_dialling(x, now);
    case POOL_WAIT:
        x->state = EXCHANGE_QUEUED;
        exchange_begin_wait(x, now);
        return STEP_WAIT;
    case POOL_NO_MEMORY: return exchange_fail(x, FAILURE_OUT_OF_MEMORY, NULL, 0);
    default: return exchange_fail(x, FAILURE_POOL_CLOSED, NULL, 0);
    }
}

/* Starts the timeouts here, because the driver may have been busy since exchange_begin. */
static step_result step_start(exchange *x, nanoseconds now) {
    connection *c = NULL;
    x->began = x->timings.began = now;
    exchange_phase(x, PHASE_QUEUE, now);
    x->total_deadline =
        clock_earlier(x->total_deadline, clock_after(now, x->request.options->total));
    begin_attempt(x, ATTEMPT_FIRST);
    if (!egress_permits_route(x->request.options->egress, x->request.to, &x->why)) {
        x->phase = x->why.phase;
        return end_failed(x);
    }
    pool_result result = pool_acquire(x->pool, x->request.to, x->request.options, &x->ticket, &c);
    return handle_pool_result(x, result, c, now);
}

static step_result step_queued(exchange *x, nanoseconds now) {
    connection *c = NULL;
    pool_result result = pool_turn(x->pool, &x->ticket, &c);
    if (result != POOL_WAIT) {
        x->timings.queue = now - x->began;
        return handle_pool_result(x, result, c, now);
    }
    return exchange_wants_collection(x, now) ? STEP_COLLECT : STEP_WAIT;
}

static step_result step_dialling(exchange *x, nanoseconds now) {
    dialled d;
    switch (exchange_dial(x, now, &d)) {
    case IO_DONE: break;
    case IO_FAILED:
        x->phase = x->why.phase;
        x->ticket.dial_failed = true;
        x->refused = dial_refusal(x->dialling);
        x->allowed = x->request.options->timeouts[x->why.phase];
        return end_failed(x);
    default: x->phase = dial_phase(x->dialling); return STEP_WAIT;
    }
    dial_free(x->dialling);
    x->dialling = NULL;
    x->timings.resolve = d.resolved_in;
    x->timings.connect = d.connected_in;
    x->timings.tls = d.secured_in;
    now = clock_now(); /* the handshake's computation in this step is not time of writing */
    connection *c = connection_new(&d, x->request.to, x->request.options->owner_id, now);
    if (c == NULL || !exchange_share(x, c)) return exchange_fail(x, FAILURE_OUT_OF_MEMORY, NULL, 0);
    if (c->http2 == NULL && x->request.options->http == HTTP_TWO &&
        x->request.to->sharing != SHARING_NEVER) {
        connection_free(c, true);
        x->ticket.dial_failed = true;
        x->phase = PHASE_TLS;
        return exchange_fail(x, FAILURE_HTTP2_NOT_SPOKEN, NULL, 0);
    }
    pool_add(x->pool, &x->ticket, c);
    return use_connection(x, c, now);
}

/* ---- talking ---- */

static bool was_replayed(const exchange *x) {
    bool replayed = false;
    for (uint32_t i = 0; i < x->attempt_count; i++)
        replayed |= x->attempts[i].reason == ATTEMPT_REPLAYED;
    return replayed;
}

/*
 * Only this function decides whether a request is sent again. A reused connection may die before
 * the first byte of the response arrives. A request of which nothing was written, or which an
 * HTTP/2 server has certainly not acted on, is moved to another connection. A request that was
 * written is replayed once, and only if it is safe, has no body, and the caller allows it
 * (replay_safe). Every other request fails.
 */
static bool may_resend(const exchange *x, attempt_reason *reason) {
    failure_code code = x->why.code;
    if (x->any_byte || x->fed_bytes > 0 || x->attempt_count == EXCHANGE_ATTEMPTS) return false;
    bool died = code == FAILURE_CLOSED || code == FAILURE_RESET || code == FAILURE_TLS_IO;
    bool unprocessed = x->http2 && x->unprocessed;
    bool reused = x->reused || !GUARD(REPLAY_REUSED_ONLY);
    if (!unprocessed && !(died && reused)) return false;
    if (unprocessed || exchange_sent(x) == SENT_NONE) {
        *reason = ATTEMPT_MOVED;
        return true;
    }
    *reason = ATTEMPT_REPLAYED;
    bool wanted = !GUARD(REPLAY_AS_ASKED) || x->request.options->replay_safe;
    bool safe = !GUARD(REPLAY_SAFE_METHODS) || x->request.safe_method;
    return wanted && safe && x->request.body_length == 0 && !was_replayed(x);
}

static step_result replace_connection(exchange *x, nanoseconds now) {
    connection *c = x->connection;
    x->connection = NULL;
    pool_result result = pool_replace(x->pool, &x->ticket, c, true, &c);
    return handle_pool_result(x, result, c, now);
}

/* Leaves the shared connection and asks the pool for another. */
static step_result leave_and_acquire(exchange *x, nanoseconds now) {
    connection *c = NULL;
    exchange_http2_leave(x, now, idle_until(x, now));
    pool_result result = pool_acquire(x->pool, x->request.to, x->request.options, &x->ticket, &c);
    step_result step = handle_pool_result(x, result, c, now);
    x->again = x->state == EXCHANGE_TALKING; /* no call reads the new connection for `x` yet */
    return step;
}

static step_result fail_or_resend(exchange *x, nanoseconds now) {
    attempt_reason reason;
    if (!may_resend(x, &reason)) return end_failed(x);
    record_outcome(x, x->why.code);
    x->why.code = FAILURE_NONE;
    begin_attempt(x, reason);
    if (reason == ATTEMPT_REPLAYED)
        x->ticket.min_opened_at = now; /* older connections may be dead too */
    return x->http2 ? leave_and_acquire(x, now) : replace_connection(x, now);
}

/* Handles a failed write. A response may still have arrived (RFC 9112 9.5), so it is read first. */
static void write_failed(exchange *x, nanoseconds now) {
    exchange_cut_request(x, now);
    exchange_phase(x, PHASE_WRITE, now);
}

/* Returns whether writing failed because the system refused (ENOBUFS, ENOMEM), not because the
 * connection had ended: then no response comes, since the server waits for the rest of the
 * request. */
static bool write_was_refused(exchange *x) {
    int error = x->write_failure.system_error;
    bool refused = error != 0 && error != EPIPE && error != ECONNRESET;
    if (x->write_failure.code == FAILURE_NONE || !refused || x->any_byte) return false;
    x->why = x->write_failure;
    return true;
}

static step_result talk_http2(exchange *x, nanoseconds now) {
    step_result step = exchange_http2_talk(x, now);
    if (step == STEP_DONE) return exchange_finish(x, clock_now());
    if (step == STEP_FAILED && x->needs_other_connection) {
        x->needs_other_connection = false;
        x->why.code = FAILURE_NONE;
        return leave_and_acquire(x, now);
    }
    return step == STEP_FAILED ? fail_or_resend(x, now) : step;
}

static step_result talk_http1(exchange *x, nanoseconds now) {
    short sending_events = 0;
    x->again = false;
    if (!x->request_done) {
        io_result io = exchange_send(x, now);
        if (io == IO_FAILED && x->why.code != FAILURE_NONE) return end_failed(x);
        if (io == IO_FAILED) write_failed(x, now);
        sending_events = io == IO_WRITE ? POLLOUT : 0;
        if (x->poll_first && !connection_pending(x->connection)) {
            x->poll_first = false;
            x->events = POLLIN;
            x->stepped_at = x->sent_at;
            return STEP_WAIT;
        }
    }
    bool held_back = x->awaits_continue;
    step_result step = exchange_receive(x, now);
    if (step == STEP_DONE) {
        if (!x->request_done) exchange_cut_request(x, now);
        return exchange_finish(x, clock_now());
    }
    if (step == STEP_WAIT && write_was_refused(x)) step = STEP_FAILED;
    if (step == STEP_FAILED) return fail_or_resend(x, now);
    if (step == STEP_WAIT && x->piece_wanted) return STEP_BODY_WANTED;
    x->again |= held_back && !x->awaits_continue;
    x->events |= x->request_done ? 0 : sending_events;
    return step;
}

static step_result talk(exchange *x, nanoseconds now) {
    if (x->progress_due) return STEP_PROGRESS;
    step_result step = x->http2 ? talk_http2(x, now) : talk_http1(x, now);
    return step == STEP_WAIT && x->progress_due ? STEP_PROGRESS : step;
}

static step_result step_once(exchange *x, nanoseconds now) {
    switch (x->state) {
    case EXCHANGE_START: return step_start(x, now);
    case EXCHANGE_QUEUED: return step_queued(x, now);
    case EXCHANGE_DIALLING: return step_dialling(x, now);
    case EXCHANGE_TALKING: return talk(x, now);
    case EXCHANGE_DONE: return STEP_DONE;
    default: return STEP_FAILED;
    }
}

static bool has_ended(step_result step) {
    return step == STEP_DONE || step == STEP_FAILED;
}

/* Returns whether this is a forked child, and the parent process continues this exchange. */
static bool belongs_to_parent(const exchange *x) {
    bool is_over = x->state == EXCHANGE_DONE || x->state == EXCHANGE_FAILED;
    return !is_over && x->generation != descriptors_generation();
}

step_result exchange_step(exchange *x, nanoseconds now) {
    x->stepped_at = 0;
    if (belongs_to_parent(x)) return exchange_fail(x, FAILURE_FORKED, NULL, 0);
    x->driver_was_away |= x->resumed || x->in_fiber;
    if (x->resumed) {
        x->resumed = false;
        exchange_phase(x, x->phase, now);
    }
    if (now >= exchange_continue_deadline(x)) {
        x->awaits_continue = false; /* servers need not send 100 (RFC 9110 10.1.1) */
        exchange_phase(x, PHASE_WRITE, now);
    }
    if (exchange_write_is_late(x, now)) return exchange_check_timeouts(x, now);
    step_result step;
    exchange_state before;
    do {
        before = x->state;
        step = step_once(x, now);
    } while (step == STEP_WAIT && x->state != before);
    if (!has_ended(step) && now >= clock_earlier(x->deadline, x->total_deadline)) {
        step_result late = exchange_check_timeouts(x, now);
        step = late == STEP_WAIT ? step : late;
    }
    if (step == STEP_WAIT && !x->again) exchange_caught_up(x);
    x->resumed = step != STEP_WAIT && step != STEP_COLLECT;
    return step;
}

void exchange_set_body_buffer(exchange *x, uint8_t *bytes, size_t room) {
    x->body_buffer = bytes;
    x->body_buffer_room = room;
}
