#include "exchange_states.h"

#include <stdio.h>
#include <string.h>

#define FIRST_READ 4096           /* room for a head and a small body */
#define BULK_READ (64 * 1024)     /* for each read of a large one */
#define STREAM_PIECE (128 * 1024) /* at most this much before a streaming caller is given it */
#define SINK_BODY (64 * 1024)     /* from this size on a plain body is worth a sink */
#define READS_AT_ONCE 32          /* before the driver may look at interrupts and the clock */

static step_result failed(exchange *x, failure_code code, int system_error, const char *detail) {
    failure_set(&x->why, code, x->any_byte ? PHASE_READ : PHASE_FIRST_BYTE, system_error, "%s",
                detail ? detail : "");
    return STEP_FAILED;
}

/* ---- the head ---- */

static bool keep_hint(exchange *x) {
    http1_response *r = &x->answer;
    hint *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        return false;
    }
    h->bytes = malloc(r->head_length);
    h->fields = malloc((r->field_count + 1) * sizeof(*h->fields));
    if (h->bytes == NULL || h->fields == NULL) {
        free(h->bytes);
        free(h->fields);
        free(h);
        return false;
    }
    memcpy(h->bytes, buffer_head(&x->input), r->head_length);
    if (r->field_count > 0) {
        memcpy(h->fields, r->fields, r->field_count * sizeof(*h->fields));
    }
    h->field_count = r->field_count;
    *x->hints_end = h;
    x->hints_end = &h->next;
    return true;
}

/* A 1xx: the answer is still to come, and its time starts anew. */
static step_result informational(exchange *x, nanoseconds now) {
    int status = x->answer.status;
    if (status == 103 && !keep_hint(x)) {
        return failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
    }
    buffer_consume(&x->input, x->answer.head_length);
    http1_again(&x->answer);
    if (status == 100 && x->awaits_continue) {
        x->awaits_continue = false;
        x->again = true;
    }
    exchange_phase(x, x->request_done ? PHASE_FIRST_BYTE : PHASE_WRITE, now);
    return status == 103 && x->out.tells_hints ? STEP_HINTS : STEP_WAIT;
}

/* Content-Encoding, which may stand on several lines (RFC 9110 5.3), in the order of its
 * application. */
static bool content_codings(const exchange *x, char *out, size_t room, size_t *length) {
    const http1_response *r = &x->answer;
    *length = 0;
    for (uint32_t i = 0; i < r->field_count; i++) {
        const http1_field *f = &r->fields[i];
        if (http1_find(f, 1, x->head, "content-encoding", 16) == NULL) {
            continue;
        }
        if (*length + f->value_length + 2 > room) {
            return false;
        }
        if (*length > 0) {
            out[(*length)++] = ',';
        }
        memcpy(out + *length, x->head + f->value, f->value_length);
        *length += f->value_length;
    }
    return true;
}

static bool start_inflating(exchange *x) {
    if (x->answer.framing == HTTP1_FRAMING_NONE || !x->out.how->decode) {
        return true;
    }
    char codings[256];
    size_t length;
    failure_code code = FAILURE_CODING_CHAIN;
    bool known;
    if (content_codings(x, codings, sizeof(codings), &length)) {
        code = length == 0
                   ? FAILURE_NONE
                   : inflater_new(&x->inflater, &known, codings, length, &x->out.how->inflate);
    }
    if (code != FAILURE_NONE) {
        failed(x, code, 0, NULL);
        return false;
    }
    return true;
}

/* The answer's head is complete: what is left of the request is cut short unless the server goes
 * along with it (RFC 9112 9.5). */
static step_result final_head(exchange *x, nanoseconds now) {
    http1_response *r = &x->answer;
    x->head = malloc(r->head_length);
    if (x->head == NULL) {
        return failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
    }
    memcpy(x->head, buffer_head(&x->input), r->head_length);
    buffer_consume(&x->input, r->head_length);
    if (!x->request_done && (r->status >= 300 || x->awaits_continue)) {
        exchange_cut_request(x, now);
    }
    uint64_t limit = x->out.how->max_body_bytes;
    if (limit > 0 && r->framing == HTTP1_FRAMING_LENGTH && (uint64_t)r->content_length > limit) {
        return failed(x, FAILURE_BODY_TOO_LARGE, 0, NULL);
    }
    if (!start_inflating(x)) {
        return STEP_FAILED;
    }
    bool sink =
        x->inflater == NULL && r->framing == HTTP1_FRAMING_LENGTH && r->content_length >= SINK_BODY;
    return x->out.streaming || sink ? STEP_HEAD : STEP_WAIT;
}

/* Takes apart the heads that lie in the input. STEP_WAIT: look whether x->head is there. */
static step_result take_head(exchange *x, nanoseconds now) {
    while (buffer_length(&x->input) > 0) {
        switch (http1_head(&x->answer, buffer_head(&x->input), buffer_length(&x->input))) {
        case HTTP1_DONE:
            if (x->answer.status >= 200) {
                return final_head(x, now);
            }
            step_result step = informational(x, now);
            if (step != STEP_WAIT) {
                return step;
            }
            break;
        case HTTP1_FAILED: return failed(x, x->answer.failure, 0, NULL);
        default: return STEP_WAIT;
        }
        if (x->answer.failure != FAILURE_NONE) {
            return failed(x, x->answer.failure, 0, NULL);
        }
    }
    return STEP_WAIT;
}

/* ---- the body ---- */

static bool count_delivered(exchange *x, size_t count) {
    uint64_t limit = x->out.how->max_body_bytes;
    x->delivered += count;
    if (limit > 0 && x->delivered > limit) {
        buffer_clear(&x->body); /* not a byte more than was allowed is handed over */
        failed(x, FAILURE_BODY_TOO_LARGE, 0, NULL);
        return false;
    }
    return true;
}

static bool inflate_piece(exchange *x, const uint8_t *bytes, size_t length) {
    inflater_result result;
    do {
        if (!buffer_reserve(&x->body, length < 4096 ? 16 * 1024 : BULK_READ)) {
            failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
            return false;
        }
        size_t consumed, produced;
        result = inflater_feed(x->inflater, bytes, length, &consumed, buffer_tail(&x->body),
                               buffer_room(&x->body), &produced);
        bytes += consumed;
        length -= consumed;
        buffer_commit(&x->body, produced);
        if (!count_delivered(x, produced)) {
            return false;
        }
    } while (result == INFLATER_FULL);
    if (result == INFLATER_FAILED) {
        failed(x, inflater_failure(x->inflater), 0, NULL);
        return false;
    }
    return true;
}

static bool deliver(exchange *x, const uint8_t *bytes, size_t length) {
    if (x->inflater != NULL) {
        return inflate_piece(x, bytes, length);
    }
    if (!count_delivered(x, length)) {
        return false;
    }
    if (!buffer_append(&x->body, bytes, length)) {
        failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
        return false;
    }
    return true;
}

static bool streaming_enough(const exchange *x) {
    return x->out.streaming && buffer_length(&x->body) >= STREAM_PIECE;
}

/* Of what lies in the input, to the sink without a detour through x->body. STEP_WAIT: go on. */
static step_result drain_to_sink(exchange *x) {
    uint64_t expected = http1_expect(&x->answer);
    size_t count = buffer_length(&x->input);
    count = count > expected ? (size_t)expected : count;
    if (count > x->sink_room) {
        return STEP_SINK_FULL;
    }
    memcpy(x->sink, buffer_head(&x->input), count);
    buffer_consume(&x->input, count);
    x->sink += count;
    x->sink_room -= count;
    http1_took(&x->answer, count);
    return count_delivered(x, count) ? STEP_WAIT : STEP_FAILED;
}

/* Takes apart the body that lies in the input. STEP_WAIT: more is needed. */
static step_result take_body(exchange *x) {
    if (x->sink != NULL && buffer_length(&x->input) > 0) {
        step_result step = drain_to_sink(x);
        if (step != STEP_WAIT) {
            return step;
        }
    }
    for (;;) {
        http1_piece piece = {0};
        http1_result result =
            http1_body(&x->answer, buffer_head(&x->input), buffer_length(&x->input), &piece);
        if (result == HTTP1_DATA && !deliver(x, piece.data, piece.length)) {
            return STEP_FAILED;
        }
        buffer_consume(&x->input, piece.consumed);
        if (result == HTTP1_DONE) {
            return STEP_DONE;
        }
        if (result == HTTP1_FAILED) {
            return failed(x, x->answer.failure, 0, NULL);
        }
        if (streaming_enough(x)) {
            return STEP_DATA;
        }
        if (result == HTTP1_MORE) {
            return STEP_WAIT;
        }
    }
}

/* ---- reading ---- */

/* The connection ended in the midst of an answer: says how much of it there was. */
static step_result cut_short(exchange *x, failure_code code, int system_error) {
    char detail[80] = "";
    if (x->head != NULL && x->answer.framing == HTTP1_FRAMING_LENGTH) {
        snprintf(detail, sizeof(detail), "%llu of %lld bytes came",
                 (unsigned long long)x->answer.body_bytes, (long long)x->answer.content_length);
    }
    return failed(x, code, system_error, detail);
}

/* Bytes of a plain body go where they belong, without a copy. */
static io_result read_direct(exchange *x, uint64_t expected, failure *f) {
    uint8_t *where = x->sink;
    size_t room = x->sink_room;
    if (where == NULL) {
        size_t wanted = expected < BULK_READ ? (size_t)expected : BULK_READ;
        if (!buffer_reserve(&x->body, wanted)) {
            failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_READ, 0, NULL);
            return IO_FAILED;
        }
        where = buffer_tail(&x->body);
        room = wanted;
    }
    if (room > expected) {
        room = (size_t)expected;
    }
    size_t count = 0;
    io_result io = connection_read(x->line, where, room, &count, f);
    if (io != IO_DONE) {
        return io;
    }
    if (x->sink != NULL) {
        x->sink += count;
        x->sink_room -= count;
    } else {
        buffer_commit(&x->body, count);
    }
    http1_took(&x->answer, count);
    return count_delivered(x, count) ? IO_DONE : IO_FAILED;
}

static io_result read_input(exchange *x, failure *f) {
    size_t wanted = x->head == NULL ? FIRST_READ : BULK_READ;
    if (!buffer_reserve(&x->input, wanted)) {
        failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_READ, 0, NULL);
        return IO_FAILED;
    }
    size_t room = buffer_room(&x->input), count = 0;
    io_result io = connection_read(x->line, buffer_tail(&x->input), room, &count, f);
    if (io == IO_DONE) {
        buffer_commit(&x->input, count);
    }
    return io;
}

static io_result read_some(exchange *x, nanoseconds now) {
    failure f = {0};
    uint64_t expected = x->head != NULL && x->inflater == NULL ? http1_expect(&x->answer) : 0;
    bool direct = x->sink != NULL || expected >= FIRST_READ;
    io_result io = direct ? read_direct(x, expected, &f) : read_input(x, &f);
    if (io == IO_DONE) {
        x->again = true; /* until it would block: a loop on edges is not told twice */
        if (!x->any_byte) {
            x->any_byte = true;
            x->timings.first_byte = now - (x->request_done ? x->sent_at : x->sending_began);
        }
        exchange_phase(x, PHASE_READ, now);
    } else if (io == IO_FAILED && x->why.code == FAILURE_NONE) {
        bool midway = x->any_byte && f.code == FAILURE_RESET;
        if (midway) {
            cut_short(x, FAILURE_TRUNCATED, f.system_error);
        } else {
            failed(x, f.code, f.system_error, f.detail);
        }
    }
    return io;
}

/* The connection has ended: that may be the body's proper end, and is an error anywhere else. */
static step_result at_end(exchange *x, bool clean) {
    http1_result result = http1_end(&x->answer, clean, buffer_length(&x->input));
    if (result == HTTP1_DONE) {
        return STEP_DONE;
    }
    if (x->write_failure.code != FAILURE_NONE && !x->any_byte) {
        x->why = x->write_failure;
        return STEP_FAILED;
    }
    return cut_short(x, x->answer.failure, 0);
}

static step_result body_complete(exchange *x) {
    failure_code code = x->inflater ? inflater_finish(x->inflater) : FAILURE_NONE;
    return code == FAILURE_NONE ? STEP_DONE : failed(x, code, 0, NULL);
}

/* Takes apart what is there already. STEP_WAIT: only reading helps. */
static step_result take_apart(exchange *x, nanoseconds now) {
    if (x->head == NULL) {
        step_result step = take_head(x, now);
        if (step != STEP_WAIT || x->head == NULL) {
            return step;
        }
    }
    step_result step = take_body(x);
    return step == STEP_DONE ? body_complete(x) : step;
}

step_result exchange_receive(exchange *x, nanoseconds now) {
    x->events = POLLIN;
    for (int reads = 0;; reads++) {
        step_result step = take_apart(x, now);
        if (step != STEP_WAIT) {
            return step;
        }
        if (x->sink != NULL && x->sink_room == 0) {
            return STEP_SINK_FULL;
        }
        if (streaming_enough(x)) {
            return STEP_DATA;
        }
        if (reads > 0 && (!x->again || reads >= READS_AT_ONCE)) {
            break;
        }
        x->again = false;
        io_result io = read_some(x, now);
        if (io == IO_END || io == IO_TRUNCATED) {
            step = at_end(x, io == IO_END);
            return step == STEP_DONE ? body_complete(x) : step;
        }
        if (io == IO_FAILED) {
            return STEP_FAILED;
        }
        if (io != IO_DONE) {
            x->events = io == IO_WRITE ? POLLOUT : POLLIN;
            break;
        }
    }
    bool data = x->out.streaming && buffer_length(&x->body) > 0;
    return data ? STEP_DATA : STEP_WAIT;
}
