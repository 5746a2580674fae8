#include "exchange_internal.h"

#include "protocol/guard.h"

#include <stdio.h>
#include <string.h>

/* Heads and bodies of responses, over HTTP/1.1 and HTTP/2. */

#define BODY_BUFFER_FROM (64 * 1024) /* the smallest uncoded body read into the caller's buffer */

/* Writes which limit was exceeded, with its option's name if it has one, or the bytes that were
 * received as a status line; "" for other failures. */
static void describe(exchange *x, failure_code code, char *out, size_t room) {
    const call_options *options = x->request.options;
    switch (code) {
    case FAILURE_STATUS_LINE:
        http1_quote(buffer_head(&x->input), buffer_length(&x->input), out);
        break;
    case FAILURE_BODY_TOO_LARGE:
        snprintf(out, room, "max_body_bytes: %llu", (unsigned long long)options->max_body_bytes);
        break;
    case FAILURE_CODING_RATIO:
        snprintf(out, room, "max_decode_ratio: %u", options->max_decode_ratio);
        break;
    case FAILURE_HEAD_TOO_LARGE:
        snprintf(out, room, "max_header_bytes: %zu", options->limits.head_bytes);
        break;
    case FAILURE_TOO_MANY_FIELDS:
        snprintf(out, room, "max_headers: %u", options->limits.fields);
        break;
    case FAILURE_TRAILER_TOO_LARGE:
        snprintf(out, room, "at most %u bytes", options->limits.trailer_bytes);
        break;
    case FAILURE_INFORMATIONAL_LIMIT:
        snprintf(out, room, "at most %u", options->limits.informational);
        break;
    case FAILURE_CODING_CHAIN: snprintf(out, room, "at most %d", INFLATER_CHAIN); break;
    default: out[0] = '\0';
    }
}

step_result exchange_attempt_failed(exchange *x, failure_code code, int system_error,
                                    const char *detail) {
    char described[HTTP1_QUOTED_ROOM];
    describe(x, code, described, sizeof(described));
    failure_set(&x->why, code, x->any_byte ? PHASE_READ : PHASE_FIRST_BYTE, system_error, "%s",
                detail != NULL && detail[0] != '\0' ? detail : described);
    return STEP_FAILED;
}

void exchange_caught_up(exchange *x) {
    x->timings.gvl = -1;
    x->driver_was_away = false;
}

void exchange_first_byte(exchange *x, nanoseconds came) {
    if (x->any_byte) return;
    x->any_byte = true;
    nanoseconds since = x->request_done ? x->sent_at : x->sending_began;
    x->timings.first_byte = came > since ? came - since : 0;
    connection_note_response(x->connection, x->timings.first_byte);
}

/* ---- heads ---- */

static bool keep_hint(exchange *x, const uint8_t *bytes) {
    const http1_response *r = &x->response;
    hint *h = calloc(1, sizeof(*h));
    if (h == NULL) return false;
    h->bytes = malloc(r->head_length + 1);
    h->fields = malloc((r->field_count + 1) * sizeof(*h->fields));
    if (h->bytes == NULL || h->fields == NULL) {
        free(h->bytes);
        free(h->fields);
        free(h);
        return false;
    }
    if (r->field_count > 0) {
        memcpy(h->bytes, bytes, r->head_length);
        memcpy(h->fields, r->fields, r->field_count * sizeof(*h->fields));
    }
    h->field_count = r->field_count;
    *x->hints_end = h;
    x->hints_end = &h->next;
    return true;
}

step_result exchange_informational(exchange *x, const uint8_t *bytes, nanoseconds now) {
    int status = x->response.status;
    if (status == 103 && !keep_hint(x, bytes))
        return exchange_attempt_failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
    if (status == 100 && x->awaits_continue) {
        x->awaits_continue = false;
        x->again = true;
    }
    exchange_phase(x, x->request_done ? PHASE_FIRST_BYTE : PHASE_WRITE, now);
    return status == 103 && x->request.reports_hints ? STEP_HINTS : STEP_WAIT;
}

/* Joins the values of all Content-Encoding fields (RFC 9110 5.3). Returns false when they exceed
 * `room`. */
static bool content_codings(const exchange *x, char *out, size_t room, size_t *length) {
    const http1_response *r = &x->response;
    *length = 0;
    if (http1_find(r->fields, r->field_count, x->head, "Content-Encoding", 16) == NULL) return true;
    for (uint32_t i = 0; i < r->field_count; i++) {
        const http1_field *f = &r->fields[i];
        if (http1_find(f, 1, x->head, "Content-Encoding", 16) == NULL) continue;
        if (*length + f->value_length + 2 > room) return false;
        if (*length > 0) out[(*length)++] = ',';
        memcpy(out + *length, x->head + f->value, f->value_length);
        *length += f->value_length;
    }
    return true;
}

static bool start_inflating(exchange *x) {
    if (x->response.framing == HTTP1_FRAMING_NONE || !x->request.options->decode) return true;
    const http1_response *r = &x->response;
    bool lenient = x->request.options->limits.lenient;
    /* Net::HTTP does not decode a part of a coded body. */
    if (lenient && http1_find(r->fields, r->field_count, x->head, "Content-Range", 13) != NULL)
        return true;
    const inflater_limits limits = {x->body_limit, x->request.options->max_decode_ratio};
    char codings[256];
    size_t length;
    failure_code code = FAILURE_CODING_CHAIN;
    bool known;
    if (content_codings(x, codings, sizeof(codings), &length)) {
        if (length == 0)
            code = FAILURE_NONE;
        else if (lenient)
            code = inflater_new_zlib(&x->inflater, codings, length, &limits);
        else
            code = inflater_new(&x->inflater, &known, codings, length, &limits);
    }
    if (code != FAILURE_NONE) {
        exchange_attempt_failed(x, code, 0, NULL);
        return false;
    }
    return true;
}

static bool keep_head(exchange *x, const uint8_t *bytes, size_t length) {
    buffer_clear(&x->head_bytes);
    if (!buffer_reserve(&x->head_bytes, length + 1)) return false;
    if (length > 0) memcpy(buffer_tail(&x->head_bytes), bytes, length);
    x->head = buffer_tail(&x->head_bytes);
    return true;
}

step_result exchange_head(exchange *x, const uint8_t *bytes, nanoseconds now) {
    const http1_response *r = &x->response;
    if (!keep_head(x, bytes, r->head_length))
        return exchange_attempt_failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
    if (!x->request_done && (r->status >= 300 || x->awaits_continue)) exchange_cut_request(x, now);
    uint64_t limit = x->body_limit;
    if (limit > 0 && r->framing == HTTP1_FRAMING_LENGTH && (uint64_t)r->content_length > limit)
        return exchange_attempt_failed(x, FAILURE_BODY_TOO_LARGE, 0, NULL);
    if (!start_inflating(x)) return STEP_FAILED;
    bool large = x->inflater == NULL && r->framing == HTTP1_FRAMING_LENGTH &&
                 r->content_length >= BODY_BUFFER_FROM;
    return x->request.streaming || large ? STEP_HEAD : STEP_WAIT;
}

/* ---- the body ---- */

bool exchange_count_delivered(exchange *x, size_t count) {
    x->delivered += count;
    if (GUARD(BODY_BYTES) && x->body_limit > 0 && x->delivered > x->body_limit) {
        buffer_clear(&x->body); /* no byte beyond the limit is passed to the caller */
        exchange_attempt_failed(x, FAILURE_BODY_TOO_LARGE, 0, NULL);
        return false;
    }
    return true;
}

/* Less room than this is not worth a read. */
#define WORTHWHILE_ROOM 4096

bool exchange_has_enough(const exchange *x) {
    return x->request.streaming && buffer_length(&x->body) > EXCHANGE_PIECE - WORTHWHILE_ROOM;
}

size_t exchange_at_most(const exchange *x, size_t count) {
    if (!x->request.streaming) return count;
    size_t length = buffer_length(&x->body);
    size_t left = length < EXCHANGE_PIECE ? EXCHANGE_PIECE - length : 0;
    return count < left ? count : left;
}

/* Decodes until more input is needed, or a streaming caller has enough. */
static bool inflate_some(exchange *x, const uint8_t *bytes, size_t length, size_t *taken) {
    inflater_result result;
    *taken = 0;
    do {
        if (!buffer_reserve(&x->body, length < 4096 ? 16 * 1024 : BULK_READ)) {
            exchange_attempt_failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
            return false;
        }
        /* Decodes at most BULK_READ bytes at once, because the limits are checked in between. */
        size_t room = buffer_room(&x->body), consumed, produced;
        room = exchange_at_most(x, room < BULK_READ ? room : BULK_READ);
        result = inflater_feed(x->inflater, bytes + *taken, length - *taken, &consumed,
                               buffer_tail(&x->body), room, &produced);
        *taken += consumed;
        buffer_commit(&x->body, produced);
        if (!exchange_count_delivered(x, produced)) return false;
    } while (result == INFLATER_FULL && !exchange_has_enough(x));
    if (result == INFLATER_FAILED) {
        exchange_attempt_failed(x, inflater_failure(x->inflater), 0, NULL);
        return false;
    }
    x->decodes_more = result == INFLATER_FULL;
    return true;
}

bool exchange_decode_more(exchange *x) {
    static const uint8_t nothing[1];
    size_t length = buffer_length(&x->undecoded), taken;
    if (!x->decodes_more || exchange_has_enough(x)) return true;
    bool well = inflate_some(x, length > 0 ? buffer_head(&x->undecoded) : nothing, length, &taken);
    buffer_consume(&x->undecoded, taken);
    return well;
}

static bool append(exchange *x, buffer *to, const uint8_t *bytes, size_t length) {
    if (buffer_append(to, bytes, length)) return true;
    exchange_attempt_failed(x, FAILURE_OUT_OF_MEMORY, 0, NULL);
    return false;
}

bool exchange_deliver(exchange *x, const uint8_t *bytes, size_t length) {
    size_t taken;
    if (x->inflater == NULL)
        return exchange_count_delivered(x, length) && append(x, &x->body, bytes, length);
    return inflate_some(x, bytes, length, &taken) &&
           (taken == length || append(x, &x->undecoded, bytes + taken, length - taken));
}

void exchange_keep_rest(exchange *x) {
    uint64_t most = x->request.options->max_body_bytes;
    uint64_t limit = x->delivered - buffer_length(&x->body) + most;
    if (most > 0 && (x->body_limit == 0 || limit < x->body_limit)) x->body_limit = limit;
}

step_result exchange_cut_short(exchange *x, failure_code code, int system_error) {
    const http1_response *r = &x->response;
    bool in_body = x->head != NULL;
    unsigned long long came = in_body ? r->body_bytes : buffer_length(&x->input);
    char detail[80] = "";
    if (in_body && r->framing == HTTP1_FRAMING_LENGTH) {
        snprintf(detail, sizeof(detail), "%llu of %lld bytes came", came,
                 (long long)r->content_length);
    } else if (in_body || came > 0) {
        snprintf(detail, sizeof(detail), "%llu bytes of it came", came);
    }
    return exchange_attempt_failed(x, code, system_error, detail);
}

step_result exchange_body_complete(exchange *x) {
    failure_code code = x->inflater ? inflater_finish(x->inflater) : FAILURE_NONE;
    return code == FAILURE_NONE ? STEP_DONE : exchange_attempt_failed(x, code, 0, NULL);
}
