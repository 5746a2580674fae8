#include "exchange_internal.h"
#include "switched.h"

#include <stdio.h>
#include <string.h>

/* The state EXCHANGE_TALKING over HTTP/2: a stream on a shared connection. */

#define READS_AT_ONCE 32  /* reads in one step, which holds the connection's lock */
#define PIECE (64 * 1024) /* bytes of a request's body for each http2_feed */
#define STREAMED_AT_ONCE (128 * 1024)
#define STREAM_RETRY (5 * MILLISECOND) /* time between two attempts to open a stream */

/* ---- the request ---- */

void exchange_http2_begin(exchange *x) {
    const exchange_request *request = &x->request;
    x->call = (http2_call){
        .http2 = http2_connection_keep(x->connection->http2), .waker = x->waker, .batch = x->batch};
    x->call.sent_at = x->call.arrived_at = -1;
    x->http2 = true;
    x->unprocessed = x->body_ended = x->stream_released = false;
    x->sent_so_far = SENT_NONE;
    x->wake_at = NEVER;
    x->body_queued = request->body_length == 0 || request->body != NULL;
    x->segment = request->body;
    x->segment_length = request->body != NULL ? (size_t)request->body_length : 0;
    x->segment_sent = 0;
}

static bool feed(exchange *x, http2 *h) {
    size_t left = x->segment_length - x->segment_sent;
    size_t count = left < PIECE ? left : PIECE;
    bool last = x->body_queued && count == left;
    if (!http2_feed(h, x->call.stream, x->segment + x->segment_sent, count, last)) {
        exchange_attempt_failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
        return false;
    }
    x->segment_sent += count;
    x->body_ended = last;
    x->body_begun = true;
    return true;
}

/* Feeds as much of the body as the session wants; nothing before 100 (Continue) has arrived. */
static bool send_body(exchange *x, http2 *h) {
    const http2_stream *s = x->call.stream;
    bool wanted = x->segment_sent == 0 || s->wants_body;
    while (wanted && !x->body_ended && !x->awaits_continue && !x->piece_wanted)
        if (x->segment_sent == x->segment_length && !x->body_queued)
            x->piece_wanted = true;
        else if (!feed(x, h))
            return false;
        else
            wanted = s->wants_body;
    return true;
}

static void note_sent(exchange *x) {
    if (x->request_done || x->call.sent_at < 0) return;
    x->request_done = true;
    x->body_sent = http2_fed_and_framed(x->call.stream);
    x->progress_due = x->request.reports_progress;
    x->sent_at = x->call.sent_at;
    x->timings.write = x->sent_at - x->sending_began;
    if (!x->any_byte) exchange_phase(x, PHASE_FIRST_BYTE, x->sent_at);
}

/* Restarts the write timeout when more body bytes were framed. */
static void note_progress(exchange *x, nanoseconds now) {
    uint64_t framed = http2_fed_and_framed(x->call.stream);
    if (x->request_done) return;
    exchange_note_body(x, http2_call_body_sent(&x->call));
    if (framed > x->sent_bytes) {
        x->sent_bytes = framed;
        exchange_phase(x, PHASE_WRITE, now);
    }
}

static bool send_more(exchange *x, http2 *h, nanoseconds now) {
    const http2_stream *s = x->call.stream;
    note_sent(x);
    if (!x->request_done && s->upload_stopped) exchange_cut_request(x, now);
    if (x->request_done || x->request.upgrades) return true;
    note_progress(x, now);
    return x->piece_wanted || (exchange_fed_as_declared(x) && send_body(x, h));
}

static bool waits_for_settings(const exchange *x) {
    const http2 *h = http2_connection_session(x->call.http2);
    return x->request.upgrades && !http2_connection_closing(x->call.http2) &&
           http2_extended_connect(h) == HTTP2_CONNECT_UNKNOWN;
}

/* Returns whether the request may be sent. An extended CONNECT waits for the server's SETTINGS (RFC
 * 8441 3). */
static bool may_open(exchange *x, nanoseconds now) {
    if (!x->request.upgrades) return true;
    while (waits_for_settings(x) && http2_call_may_read(&x->call))
        if (!http2_call_read(&x->call, now)) break;
    http2_connect_support support = http2_extended_connect(http2_connection_session(x->call.http2));
    x->connect_unsupported = support == HTTP2_CONNECT_UNSUPPORTED || !switched_shares();
    return support == HTTP2_CONNECT_SUPPORTED && !x->connect_unsupported;
}

static bool try_open_stream(exchange *x, nanoseconds now) {
    const exchange_request *request = &x->request;
    if (!may_open(x, now)) return false;
    const char *scheme = request->to->tls_name != NULL ? "https" : "http";
    x->body_ended = request->body_length == 0 && !request->upgrades;
    if (!http2_call_open(&x->call, scheme, request->head, request->head_length, !x->body_ended,
                         request->head_method, &request->options->limits))
        return false;
    x->no_stream_free = false;
    x->sending_began = now;
    exchange_phase(x, PHASE_WRITE, now);
    return true;
}

/* Opens a stream. When the connection accepts no further stream, sets ->needs_other_connection, so
 * that the call asks the pool for another connection; if that is the same one again, the call waits
 * until a stream has ended. After STEP_WAIT x->call.stream is NULL unless a stream is open. */
static step_result open_stream(exchange *x, nanoseconds now) {
    if (try_open_stream(x, now)) return STEP_WAIT;
    if (x->connect_unsupported) {
        const char *detail = switched_shares() ? NULL : "this client needs epoll for them";
        return exchange_attempt_failed(x, FAILURE_HTTP2_NO_CONNECT, 0, detail);
    }
    if (waits_for_settings(x)) {
        x->wake_at = now + STREAM_RETRY; /* another call may read the SETTINGS */
        return STEP_WAIT;
    }
    if (x->no_stream_free) {
        while (http2_call_may_read(&x->call) && http2_call_read(&x->call, now)) {
        }
        if (try_open_stream(x, now)) return STEP_WAIT;
    }
    bool waited = x->no_stream_free;
    x->needs_other_connection = http2_connection_closing(x->call.http2) || !waited;
    x->no_stream_free = true;
    /* A first attempt is in PHASE_QUEUE already, but its wait begins now. */
    if (x->phase != PHASE_QUEUE) exchange_phase(x, PHASE_QUEUE, now);
    if (!waited) exchange_begin_wait(x, now);
    x->wake_at = now + STREAM_RETRY;
    if (x->needs_other_connection) return exchange_attempt_failed(x, FAILURE_CLOSED, 0, NULL);
    return exchange_wants_collection(x, now) ? STEP_COLLECT : STEP_WAIT;
}

/* ---- the response ---- */

static http1_framing framing_of(const exchange *x, int status, int64_t length) {
    if (http1_bodiless(status, x->request.head_method) || exchange_switches(x, status))
        return HTTP1_FRAMING_NONE;
    return length >= 0 ? HTTP1_FRAMING_LENGTH : HTTP1_FRAMING_CHUNKED;
}

/* Fills in x->response as the parser of HTTP/1.1 would for the same head. */
static step_result take_head(exchange *x, http2_head *head, nanoseconds now) {
    http1_response *r = &x->response;
    step_result step;
    exchange_first_byte(x, x->timings.gvl > 0 ? now - x->timings.gvl : now);
    free(r->fields);
    r->fields = head->fields;
    r->field_count = r->field_capacity = head->field_count;
    r->head_length = head->length;
    r->status = head->status;
    r->reason = r->reason_length = 0;
    r->content_length = x->call.stream->content_length;
    r->framing = framing_of(x, head->status, r->content_length);
    r->persistent = true;
    head->fields = NULL;
    if (r->status < 200) {
        step = exchange_informational(x, head->bytes, now);
    } else {
        exchange_phase(x, PHASE_READ, now);
        step = exchange_head(x, head->bytes, now);
    }
    http2_head_free(head);
    return step;
}

static step_result take_heads(exchange *x, nanoseconds now) {
    step_result step = STEP_WAIT;
    while (step == STEP_WAIT) {
        http2_head *head = http2_take_head(x->call.stream);
        if (head == NULL) break;
        step = take_head(x, head, now);
    }
    return step;
}

/* Moves bytes of `data` to the body buffer or x->body. Returns how many; -1 with x->why set. */
static ssize_t take_piece(exchange *x, buffer *data) {
    size_t count = buffer_length(data);
    if (x->body_buffer != NULL) {
        count = count < x->body_buffer_room ? count : x->body_buffer_room;
        memcpy(x->body_buffer, buffer_head(data), count);
        x->body_buffer += count;
        x->body_buffer_room -= count;
        buffer_consume(data, count);
        return exchange_count_delivered(x, count) ? (ssize_t)count : -1;
    }
    if (x->inflater == NULL && buffer_length(&x->body) == 0 && !x->request.streaming) {
        buffer empty = x->body;
        x->body = *data;
        *data = empty;
        return exchange_count_delivered(x, count) ? (ssize_t)count : -1;
    }
    count = count < STREAMED_AT_ONCE ? count : STREAMED_AT_ONCE;
    if (x->inflater == NULL) count = exchange_at_most(x, count);
    bool well = exchange_deliver(x, buffer_head(data), count);
    buffer_consume(data, count);
    return well ? (ssize_t)count : -1;
}

static step_result take_data(exchange *x, http2 *h, nanoseconds now) {
    http2_stream *s = x->call.stream;
    for (;;) {
        if (!exchange_decode_more(x)) return STEP_FAILED;
        if (exchange_has_enough(x)) return STEP_DATA;
        if (buffer_length(&s->data) == 0) return STEP_WAIT;
        if (x->body_buffer != NULL && x->body_buffer_room == 0) return STEP_BODY_BUFFER_FULL;
        ssize_t count = take_piece(x, &s->data);
        if (count < 0) return STEP_FAILED;
        x->response.body_bytes += (uint64_t)count;
        http2_consumed(h, s, (size_t)count);
        exchange_phase(x, PHASE_READ, now);
    }
}

static step_result complete(exchange *x) {
    http1_response *r = &x->response;
    http2_head *t = x->call.stream->trailers;
    if (t != NULL) {
        free(r->trailers);
        buffer_free(&r->trailer_bytes);
        r->trailers = t->fields;
        r->trailer_count = r->trailer_capacity = t->field_count;
        r->trailer_bytes = (buffer){t->bytes, 0, t->length, t->length};
        t->fields = NULL;
        t->bytes = NULL;
    }
    return exchange_body_complete(x);
}

/* ---- failures ---- */

/* RFC 9113, section 7. Apache and IIS reset a stream with HTTP_1_1_REQUIRED when its path needs a
 * client certificate. */
#define HTTP_1_1_REQUIRED 13

static const char *error_word(uint32_t code) {
    static const char *const words[] = {"NO_ERROR",
                                        "PROTOCOL_ERROR",
                                        "INTERNAL_ERROR",
                                        "FLOW_CONTROL_ERROR",
                                        "SETTINGS_TIMEOUT",
                                        "STREAM_CLOSED",
                                        "FRAME_SIZE_ERROR",
                                        "REFUSED_STREAM",
                                        "CANCEL",
                                        "COMPRESSION_ERROR",
                                        "CONNECT_ERROR",
                                        "ENHANCE_YOUR_CALM",
                                        "INADEQUATE_SECURITY",
                                        "HTTP_1_1_REQUIRED"};
    return code < sizeof(words) / sizeof(words[0]) ? words[code] : "an unknown code";
}

static bool has_error_code(failure_code code) {
    return code == FAILURE_HTTP2_RESET || code == FAILURE_HTTP2_REFUSED ||
           code == FAILURE_HTTP2_GONE;
}

static step_result stream_failed(exchange *x, const http2 *h) {
    const http2_stream *s = x->call.stream;
    const failure *why = http2_connection_why(x->call.http2);
    char detail[sizeof(why->detail)];
    x->unprocessed = s->unprocessed;
    if (s->failure == FAILURE_TRUNCATED || s->failure == FAILURE_TRUNCATED_HEAD)
        return exchange_cut_short(x, s->failure, why->system_error);
    if (has_error_code(s->failure)) {
        snprintf(detail, sizeof(detail), "%s (%u)%s", error_word(s->error_code), s->error_code,
                 s->error_code == HTTP_1_1_REQUIRED ? "; ask with http: :h1" : "");
    } else {
        snprintf(detail, sizeof(detail), "%s",
                 why->code == s->failure ? why->detail : http2_detail(h));
    }
    return exchange_attempt_failed(x, s->failure, why->system_error, detail);
}

/* ---- a step ---- */

/* Records how long the bytes waited: the call's driver may have been away when another call read
 * them. */
static void note_arrival(exchange *x, nanoseconds now) {
    nanoseconds arrived_at = x->call.arrived_at;
    if (arrived_at < 0) return;
    x->call.arrived_at = -1;
    x->timings.gvl = now > arrived_at ? now - arrived_at : 0;
}

/* Takes what has arrived for the stream, and sends more. STEP_WAIT: more must be read. */
static step_result advance(exchange *x, nanoseconds now) {
    http2 *h = http2_connection_session(x->call.http2);
    const http2_stream *s = x->call.stream;
    note_arrival(x, now);
    step_result step = take_heads(x, now);
    if (x->head != NULL && exchange_switches(x, x->response.status)) return STEP_DONE;
    if (step == STEP_WAIT && !send_more(x, h, now)) return STEP_FAILED;
    if (step == STEP_WAIT && x->head != NULL) step = take_data(x, h, now);
    if (step != STEP_WAIT) return step;
    if (s->ended && x->head != NULL) return complete(x);
    if (s->failure != FAILURE_NONE) return stream_failed(x, h);
    return STEP_WAIT;
}

/* `fresh`: the stream was just opened, so that nothing can have arrived for it. */
static step_result read_and_advance(exchange *x, bool fresh, nanoseconds now) {
    step_result step = advance(x, now);
    bool worthwhile = !fresh || x->batch != NULL;
    for (int reads = 0; step == STEP_WAIT && worthwhile && reads < READS_AT_ONCE; reads++) {
        if (!http2_call_may_read(&x->call)) break;
        worthwhile = http2_call_read(&x->call, now);
        step = advance(x, now);
    }
    if (step != STEP_WAIT) return step;
    if (x->request.streaming && buffer_length(&x->body) > 0) return STEP_DATA;
    return x->piece_wanted ? STEP_BODY_WANTED : STEP_WAIT;
}

/* Returns when to step even without an event. Another call may write the request's last frames at
 * any time, which starts the first-byte timeout. */
static nanoseconds next_step_at(const exchange *x, nanoseconds now) {
    if (x->call.stream == NULL) return x->wake_at;
    bool all_framed = !x->request_done && x->body_ended;
    return all_framed ? clock_after(now, x->request.options->timeouts[PHASE_FIRST_BYTE]) : NEVER;
}

static void report_state_change(exchange *x, bool state_changed) {
    if (state_changed) pool_reconsider(x->pool, x->connection);
}

step_result exchange_http2_talk(exchange *x, nanoseconds now) {
    http2_call *call = &x->call;
    x->again = false;
    if (!http2_call_enter(call)) return exchange_attempt_failed(x, FAILURE_FORKED, 0, NULL);
    call->fiber_driven = x->in_fiber;
    bool fresh = call->stream == NULL;
    step_result step = fresh ? open_stream(x, now) : STEP_WAIT;
    if (step == STEP_WAIT && call->stream != NULL) step = read_and_advance(x, fresh, now);
    if (step == STEP_DONE && exchange_switches(x, x->response.status)) {
        x->sent_so_far = SENT_ALL;
        report_state_change(x, http2_call_leave(call, false));
        return step;
    }
    if (step == STEP_DONE || step == STEP_FAILED) {
        note_sent(x);
        /* A request that the server has not acted on counts as not sent: it may be sent again. */
        x->sent_so_far = x->unprocessed ? SENT_NONE : (sent_state)http2_call_sent(call);
        x->stream_released = true;
        report_state_change(x, http2_call_quit(call, now));
        return step;
    }
    http2_call_flush(call, now);
    if (call->stream != NULL) note_progress(x, now);
    note_sent(x);
    if (step == STEP_WAIT && x->progress_due) step = STEP_PROGRESS; /* the call does not wait */
    x->wake_at = next_step_at(x, now);
    bool state_changed = http2_call_leave(call, step == STEP_WAIT);
    x->again = step == STEP_WAIT && call->again;
    report_state_change(x, state_changed);
    return step;
}

/* ---- the end ---- */

void exchange_http2_stop(exchange *x) {
    http2_call *call = &x->call;
    if (call->http2 == NULL || x->stream_released || !http2_call_enter(call)) return;
    x->sent_so_far = (sent_state)http2_call_sent(call);
    x->stream_released = true;
    report_state_change(x, http2_call_quit(call, clock_now()));
}

void exchange_http2_leave(exchange *x, nanoseconds now, nanoseconds idle_until) {
    connection *c = x->connection;
    http2_connection *h = x->call.http2;
    x->connection = NULL;
    x->call.http2 = NULL;
    x->call.stream = NULL;
    pool_leave(x->pool, c, now, idle_until);
    http2_connection_release(h);
}

void exchange_join(exchange *x, http2_batch *batch, event_loop *watcher) {
    http2_batch *before = x->batch;
    x->watcher = watcher;
    x->batch = batch != NULL ? http2_batch_keep(batch) : NULL;
    if (x->state == EXCHANGE_TALKING && x->http2 && http2_call_enter(&x->call)) {
        x->call.batch = batch;
        report_state_change(x, http2_call_leave(&x->call, false));
        x->again = true;
    }
    http2_batch_drop(before);
}

void exchange_depart(exchange *x) {
    x->driver_was_away = true;
    waker_depart(x->waker);
    if (x->state == EXCHANGE_DIALLING) pool_driver_left(x->pool);
    if (x->state == EXCHANGE_TALKING && x->http2 && http2_call_enter(&x->call))
        report_state_change(x, http2_call_leave(&x->call, false));
}

bool exchange_has_input(const exchange *x) {
    return x->http2 && __atomic_load_n(&x->call.has_input, __ATOMIC_ACQUIRE);
}
