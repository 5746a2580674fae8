#include "exchange_internal.h"

#define JOINED_BODY 16384 /* the largest body that is sent with the head in one write */

static void next_segment(exchange *x, const void *bytes, size_t length) {
    x->segment = bytes;
    x->segment_length = length;
    x->segment_sent = 0;
}

bool exchange_send_begin(exchange *x, nanoseconds now) {
    const exchange_request *request = &x->request;
    x->sent_bytes = 0;
    x->session_before = x->connection->session ? tls_sent(x->connection->session) : 0;
    x->request_done = x->request_cut = x->piece_wanted = false;
    x->write_failure.code = FAILURE_NONE;
    x->awaits_continue = request->expects;
    x->sending_began = now;
    if (x->connection->http2 != NULL) {
        exchange_http2_begin(x);
        return true;
    }
    x->http2 = false;
    x->body_queued = request->body_length == 0;
    next_segment(x, request->head, request->head_length);
    if (request->body != NULL && !request->expects && request->body_length <= JOINED_BODY) {
        buffer_clear(&x->frame);
        if (!buffer_append(&x->frame, request->head, request->head_length) ||
            !buffer_append(&x->frame, request->body, (size_t)request->body_length))
            return false;
        next_segment(x, buffer_head(&x->frame), buffer_length(&x->frame));
        x->body_queued = true;
    }
    exchange_phase(x, PHASE_WRITE, now);
    return true;
}

void exchange_cut_request(exchange *x, nanoseconds now) {
    x->request_done = x->request_cut = true;
    x->piece_wanted = x->awaits_continue = false;
    x->sent_at = now;
}

static bool frame_piece(exchange *x, const char *piece, size_t length, bool chunked) {
    char line[HTTP1_CHUNK_LINE];
    size_t line_length = chunked ? http1_chunk_line(line, length) : 0;
    buffer_clear(&x->frame);
    if (!buffer_append(&x->frame, line, line_length) || !buffer_append(&x->frame, piece, length) ||
        (chunked && !buffer_append(&x->frame, "\r\n", 2)))
        return false;
    next_segment(x, buffer_head(&x->frame), buffer_length(&x->frame));
    return true;
}

void exchange_feed(exchange *x, const char *piece, size_t length) {
    bool chunked = x->request.body_length < 0 && !x->http2;
    x->piece_wanted = false;
    if (piece == NULL || length == 0) {
        x->body_queued = true;
        if (chunked) next_segment(x, HTTP1_LAST_CHUNK, sizeof(HTTP1_LAST_CHUNK) - 1);
        return;
    }
    x->fed_bytes += (int64_t)length;
    if (!frame_piece(x, piece, length, chunked))
        failure_set(&x->why, FAILURE_OUT_OF_MEMORY, PHASE_WRITE, 0, NULL);
    x->body_queued = x->request.body_length >= 0 && x->fed_bytes >= x->request.body_length;
}

/* Otherwise the server would take the next request for the rest of this one. */
bool exchange_fed_as_declared(exchange *x) {
    int64_t declared = x->request.body_length;
    if (x->why.code != FAILURE_NONE) return false;
    if (!x->request.fed || declared < 0) return true;
    if (x->fed_bytes > declared) {
        return failure_set(&x->why, FAILURE_BODY_LONG, PHASE_WRITE, 0, "%lld bytes were declared",
                           (long long)declared);
    }
    if (x->body_queued && x->fed_bytes < declared) {
        return failure_set(&x->why, FAILURE_BODY_SHORT, PHASE_WRITE, 0,
                           "%lld of %lld bytes were given", (long long)x->fed_bytes,
                           (long long)declared);
    }
    return true;
}

static io_result send_segment(exchange *x, nanoseconds now) {
    while (x->segment_sent < x->segment_length) {
        size_t count = 0;
        io_result io =
            connection_write(x->connection, x->segment + x->segment_sent,
                             x->segment_length - x->segment_sent, &count, &x->write_failure);
        if (io != IO_DONE) return io;
        x->segment_sent += count;
        x->sent_bytes += count;
        exchange_phase(x, PHASE_WRITE, now);
    }
    return IO_DONE;
}

static void request_sent(exchange *x) {
    /* The wait for the response starts with the last byte sent, not with the step. */
    nanoseconds now = clock_now();
    x->request_done = true;
    x->sent_at = now;
    x->timings.write = now - x->sending_began;
    if (!x->any_byte) {
        exchange_phase(x, PHASE_FIRST_BYTE, now);
        x->poll_first = true;
    }
}

/* Readies the segment after the one that was sent. Returns false when there is none for now. */
static bool more_to_send(exchange *x) {
    if (x->body_queued) {
        request_sent(x);
        return false;
    }
    if (x->awaits_continue) return false;
    if (x->request.fed) {
        x->piece_wanted = true;
        return false;
    }
    next_segment(x, x->request.body, (size_t)x->request.body_length);
    x->body_queued = true;
    return true;
}

io_result exchange_send(exchange *x, nanoseconds now) {
    if (x->piece_wanted) return IO_DONE;
    if (!exchange_fed_as_declared(x)) return IO_FAILED;
    do {
        io_result io = send_segment(x, now);
        if (io != IO_DONE) return io;
    } while (more_to_send(x));
    return IO_DONE;
}

sent_state exchange_sent(const exchange *x) {
    if (x->http2) return x->sent_so_far;
    if (x->request_done && !x->request_cut) return SENT_ALL;
    if (x->connection != NULL && x->connection->session != NULL && x->sent_bytes == 0)
        return tls_sent(x->connection->session) > x->session_before ? SENT_PARTIAL : SENT_NONE;
    return x->sent_bytes > 0 ? SENT_PARTIAL : SENT_NONE;
}

const char *sent_word(sent_state sent) {
    static const char *const words[] = {"none", "partial", "all"};
    return words[sent];
}
