#include "exchange_internal.h"

#define JOINED_BODY 16384 /* the largest body that is sent with the head in one write */
#define PROGRESS_EVERY (100 * MILLISECOND)
#define PROGRESS_PIECE (1024 * 1024)

static void next_segment(exchange *x, const void *bytes, size_t length) {
    x->segment = bytes;
    x->segment_length = length;
    x->segment_sent = 0;
}

bool exchange_send_begin(exchange *x, nanoseconds now) {
    const exchange_request *request = &x->request;
    x->sent_bytes = x->body_sent = 0;
    x->progress_due = request->reports_progress;
    x->session_before = x->connection->session ? tls_sent(x->connection->session) : 0;
    x->request_done = x->request_cut = x->piece_wanted = x->body_begun = false;
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
    x->progress_due = x->request.reports_progress;
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

/* Without this check the server could read the next request as the rest of this one. */
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

/* ---- progress ---- */

void exchange_note_body(exchange *x, uint64_t bytes) {
    if (bytes <= x->body_sent) return;
    x->body_sent = bytes;
    x->body_begun = true;
    x->progress_due = x->request.reports_progress && clock_now() >= x->progress_at;
}

uint64_t exchange_progress(exchange *x, bool *over) {
    x->progress_due = false;
    x->progress_at = clock_now() + PROGRESS_EVERY;
    *over = x->request_done;
    return x->body_sent;
}

/* Returns how many body bytes were sent, without the head and the chunk framing. Framing bytes that
 * are not sent yet count as unsent body bytes. */
static uint64_t body_sent(const exchange *x) {
    uint64_t fed = (uint64_t)x->fed_bytes, unsent = x->segment_length - x->segment_sent;
    if (x->request.fed) return fed > unsent ? fed - unsent : 0;
    return x->sent_bytes > x->request.head_length ? x->sent_bytes - x->request.head_length : 0;
}

/* ---- sending ---- */

/* A socket may accept everything at once while the server reads, so less is written at once when
 * the caller wants progress. */
static size_t most_at_once(const exchange *x) {
    size_t left = x->segment_length - x->segment_sent;
    return x->request.reports_progress && left > PROGRESS_PIECE ? PROGRESS_PIECE : left;
}

static io_result send_segment(exchange *x, nanoseconds now) {
    while (x->segment_sent < x->segment_length) {
        size_t count = 0;
        io_result io = connection_write(x->connection, x->segment + x->segment_sent,
                                        most_at_once(x), &count, &x->write_failure);
        if (io != IO_DONE) return io;
        x->segment_sent += count;
        x->sent_bytes += count;
        exchange_note_body(x, body_sent(x));
        exchange_phase(x, PHASE_WRITE, now);
        if (x->progress_due && x->segment_sent < x->segment_length) return IO_WRITE;
    }
    return IO_DONE;
}

static void request_sent(exchange *x) {
    /* The wait for the response starts with the last byte sent, not with the beginning of the
     * step. */
    nanoseconds now = clock_now();
    x->request_done = true;
    x->progress_due = x->request.reports_progress;
    x->sent_at = now;
    x->timings.write = now - x->sending_began;
    if (!x->any_byte) {
        exchange_phase(x, PHASE_FIRST_BYTE, now);
        x->poll_first = true;
    }
}

/* Prepares the segment after the one that was sent. Returns false when there is none for now. */
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
