#include "exchange_internal.h"

#include <string.h>

#define FIRST_READ (16 * 1024) /* holds most responses whole; a free exchange keeps as much */
#define NEXT_READ 4096         /* the minimum room for the rest of a head */
#define LEAST_ROOM 2048        /* the first room for a streamed body */
#define DIRECT_READ 4096       /* an uncoded body with this much left is read without a copy */
#define READS_AT_ONCE 32       /* reads in one step, which no interrupt can end */

/* ---- the head ---- */

/* After a 1xx response the first-byte timeout starts again. */
static step_result informational(exchange *x, nanoseconds now) {
    step_result step = exchange_informational(x, buffer_head(&x->input), now);
    if (step != STEP_FAILED) {
        buffer_consume(&x->input, x->response.head_length);
        http1_next_head(&x->response);
    }
    return step;
}

static step_result final_head(exchange *x, nanoseconds now) {
    step_result step = exchange_head(x, buffer_head(&x->input), now);
    buffer_consume(&x->input, x->response.head_length);
    return step;
}

/* Parses the heads in the input. After STEP_WAIT x->head is NULL unless the final one was among
 * them. */
static step_result take_head(exchange *x, nanoseconds now) {
    while (buffer_length(&x->input) > 0) {
        switch (http1_head(&x->response, buffer_head(&x->input), buffer_length(&x->input))) {
        case HTTP1_DONE:
            if (x->response.status >= 200 || exchange_switches(x, x->response.status))
                return final_head(x, now);
            step_result step = informational(x, now);
            if (step != STEP_WAIT) return step;
            break;
        case HTTP1_FAILED: return exchange_attempt_failed(x, x->response.failure, 0, NULL);
        default: return STEP_WAIT;
        }
        if (x->response.failure != FAILURE_NONE)
            return exchange_attempt_failed(x, x->response.failure, 0, NULL);
    }
    return STEP_WAIT;
}

/* ---- the body ---- */

/* Moves body bytes from the input to the body buffer. Returns STEP_WAIT to continue. */
static step_result drain_to_body_buffer(exchange *x) {
    uint64_t expected = http1_unframed_bytes(&x->response);
    size_t count = buffer_length(&x->input);
    count = count > expected ? (size_t)expected : count;
    if (count > x->body_buffer_room) return STEP_BODY_BUFFER_FULL;
    memcpy(x->body_buffer, buffer_head(&x->input), count);
    buffer_consume(&x->input, count);
    x->body_buffer += count;
    x->body_buffer_room -= count;
    http1_consumed(&x->response, count);
    return exchange_count_delivered(x, count) ? STEP_WAIT : STEP_FAILED;
}

/* When the input holds all of an uncoded body and nothing else, its buffer becomes the body without
 * a copy. Returns false when a limit is exceeded; x->why is set then. */
static bool take_whole(exchange *x) {
    size_t count = buffer_length(&x->input);
    bool whole = count > 0 && x->inflater == NULL && x->response.framing == HTTP1_FRAMING_LENGTH &&
                 count == http1_unframed_bytes(&x->response) && buffer_length(&x->body) == 0;
    if (!whole) return true;
    buffer emptied = x->body;
    x->body = x->input;
    x->input = emptied;
    http1_consumed(&x->response, count);
    return exchange_count_delivered(x, count);
}

/* Parses the body bytes in the input. STEP_WAIT: more input is needed. */
static step_result take_body(exchange *x) {
    if (x->body_buffer != NULL && buffer_length(&x->input) > 0) {
        step_result step = drain_to_body_buffer(x);
        if (step != STEP_WAIT) return step;
    }
    if (!take_whole(x)) return STEP_FAILED;
    for (;;) {
        if (!exchange_decode_more(x)) return STEP_FAILED;
        if (exchange_has_enough(x)) return STEP_DATA;
        http1_piece piece = {0};
        http1_result result =
            http1_body(&x->response, buffer_head(&x->input), buffer_length(&x->input), &piece);
        if (result == HTTP1_DATA && !exchange_deliver(x, piece.data, piece.length))
            return STEP_FAILED;
        buffer_consume(&x->input, piece.consumed);
        if (result == HTTP1_DONE) return STEP_DONE;
        if (result == HTTP1_FAILED) return exchange_attempt_failed(x, x->response.failure, 0, NULL);
        if (result == HTTP1_MORE) return STEP_WAIT;
    }
}

/* ---- reading ---- */

/* Returns the room for the next read of a body. There may be many streamed bodies of small pieces,
 * and touching a new page of memory costs more than the read: only a stream that fills its room
 * gets more. */
static size_t body_room(const exchange *x) {
    return !x->request.streaming ? BULK_READ : x->read_size > 0 ? x->read_size : LEAST_ROOM;
}

/* Returns `room`, or less if a streaming caller takes less at once: the bytes of an uncoded body
 * must not exceed that, however they are framed. */
static size_t uncoded_room(const exchange *x, size_t room) {
    return x->inflater == NULL ? exchange_at_most(x, room) : room;
}

static void note_read(exchange *x, size_t count, size_t room) {
    if (count == room) x->read_size = room < BULK_READ / 4 ? room * 4 : BULK_READ;
}

/* Reads an uncoded body into its destination, without a copy. */
static io_result read_direct(exchange *x, uint64_t expected, failure *f) {
    uint8_t *where = x->body_buffer;
    size_t room = x->body_buffer_room;
    if (where == NULL) {
        size_t most = uncoded_room(x, body_room(x));
        size_t wanted = expected < most ? (size_t)expected : most;
        if (x->request.streaming && buffer_length(&x->input) == 0) buffer_free(&x->input);
        if (!buffer_reserve(&x->body, wanted)) {
            failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_READ, 0, NULL);
            return IO_FAILED;
        }
        where = buffer_tail(&x->body);
        room = wanted;
    }
    if (room > expected) room = (size_t)expected;
    size_t count = 0;
    io_result io = connection_read(x->connection, where, room, &count, f);
    if (io != IO_DONE) return io;
    note_read(x, count, room);
    if (x->body_buffer != NULL) {
        x->body_buffer += count;
        x->body_buffer_room -= count;
    } else {
        buffer_commit(&x->body, count);
    }
    http1_consumed(&x->response, count);
    return exchange_count_delivered(x, count) ? IO_DONE : IO_FAILED;
}

static io_result read_input(exchange *x, failure *f) {
    bool first = x->head == NULL && buffer_length(&x->input) == 0;
    size_t wanted = first ? FIRST_READ : x->head == NULL ? NEXT_READ : body_room(x);
    if (!buffer_reserve(&x->input, wanted)) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_READ, 0, NULL);
        return IO_FAILED;
    }
    size_t room = uncoded_room(x, buffer_room(&x->input)), count = 0;
    io_result io = connection_read(x->connection, buffer_tail(&x->input), room, &count, f);
    if (io != IO_DONE) return io;
    if (x->head != NULL) note_read(x, count, room);
    buffer_commit(&x->input, count);
    return io;
}

/* Records and returns when the bytes of the last read had arrived. */
static nanoseconds note_arrival(exchange *x, nanoseconds now) {
    nanoseconds came = x->connection->arrived.at;
    if (came < 0 || came >= now) return now;
    x->timings.gvl = now - came;
    return came;
}

/* Reads once. The read may wait; *now is updated then. */
static io_result read_some(exchange *x, nanoseconds *now) {
    failure f = {0};
    uint64_t expected =
        x->head != NULL && x->inflater == NULL ? http1_unframed_bytes(&x->response) : 0;
    bool direct = x->body_buffer != NULL || expected >= DIRECT_READ;
    bool waits = x->read_waits;
    x->read_waits = false;
    x->connection->arrived.wanted = x->driver_was_away;
    io_result io = direct ? read_direct(x, expected, &f) : read_input(x, &f);
    if (waits) *now = clock_now();
    if (io == IO_DONE) {
        /* In an exchange loop epoll reports later bytes. Outside a loop an exchange reads until
         * EAGAIN, except for a streamed body, whose reader waits for the piece that has arrived. */
        bool enough = x->watcher != NULL || x->request.streaming;
        x->again = !enough || !x->connection->drained;
        exchange_first_byte(x, note_arrival(x, *now));
        exchange_phase(x, PHASE_READ, *now);
    } else if (io == IO_FAILED && x->why.code == FAILURE_NONE) {
        bool in_body = x->head != NULL, midway = in_body || buffer_length(&x->input) > 0;
        if (midway && f.code == FAILURE_RESET) {
            exchange_cut_short(x, in_body ? FAILURE_TRUNCATED : FAILURE_TRUNCATED_HEAD,
                               f.system_error);
        } else {
            exchange_attempt_failed(x, f.code, f.system_error, f.detail);
        }
    }
    return io;
}

/* Handles the end of the connection, which is the end of the body or an error. */
static step_result at_end(exchange *x, bool clean) {
    http1_result result = http1_end(&x->response, clean, buffer_length(&x->input));
    if (result == HTTP1_DONE) return STEP_DONE;
    if (x->write_failure.code != FAILURE_NONE && !x->any_byte) {
        x->why = x->write_failure;
        return STEP_FAILED;
    }
    return exchange_cut_short(x, x->response.failure, 0);
}

/* Called at the end of the connection: completes a head that may end without its last bytes.
 * Returns false when the head may not, or is complete. */
static bool complete_head(exchange *x) {
    const char *end = x->head == NULL ? http1_missing_end(&x->response) : NULL;
    if (end == NULL || !buffer_append(&x->input, end, strlen(end))) return false;
    x->response.tolerated = true;
    return true;
}

/* Parses what was read. STEP_WAIT: more must be read. */
static step_result parse_input(exchange *x, nanoseconds now) {
    if (x->head == NULL) {
        step_result step = take_head(x, now);
        if (step != STEP_WAIT || x->head == NULL) return step;
    }
    step_result step = take_body(x);
    return step == STEP_DONE ? exchange_body_complete(x) : step;
}

step_result exchange_receive(exchange *x, nanoseconds now) {
    x->events = POLLIN;
    for (int reads = 0;; reads++) {
        step_result step = parse_input(x, now);
        if (step != STEP_WAIT) return step;
        if (x->body_buffer != NULL && x->body_buffer_room == 0) return STEP_BODY_BUFFER_FULL;
        if (exchange_has_enough(x)) return STEP_DATA;
        if (reads > 0 && (!x->again || reads >= READS_AT_ONCE)) break;
        x->again = false;
        io_result io = read_some(x, &now);
        if (io == IO_END && complete_head(x)) {
            x->again = true;
            continue;
        }
        if (io == IO_END || io == IO_TRUNCATED) {
            step = at_end(x, io == IO_END);
            return step == STEP_DONE ? exchange_body_complete(x) : step;
        }
        if (io == IO_FAILED) return STEP_FAILED;
        if (io != IO_DONE) {
            x->events = io == IO_WRITE ? POLLOUT : POLLIN;
            break;
        }
    }
    bool data = x->request.streaming && buffer_length(&x->body) > 0;
    return data ? STEP_DATA : STEP_WAIT;
}
