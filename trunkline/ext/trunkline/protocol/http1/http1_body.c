#include "http1_internal.h"

#include "protocol/guard.h"

#define MOST_DIGITS 16

static int hex_digit(uint8_t byte) {
    if (http1_digit(byte)) return byte - '0';
    uint8_t letter = (uint8_t)(http1_lower(byte) - 'a');
    return letter < 6 ? letter + 10 : -1;
}

static failure_code chunk_line_end(http1_response *r) {
    uint64_t weight = r->framing_bytes / HTTP1_OVERHEAD_RATIO;
    uint64_t most = r->body_bytes + HTTP1_OVERHEAD_SLACK / HTTP1_OVERHEAD_RATIO;
    if (GUARD(CHUNK_OVERHEAD) && weight > most) return FAILURE_CHUNK_OVERHEAD;
    if (r->remaining > 0) {
        r->state = STATE_CHUNK_DATA;
        return FAILURE_NONE;
    }
    r->state = STATE_TRAILERS;
    r->position = AT_FIELD;
    r->scan = 0;
    r->folded = false;
    return FAILURE_NONE;
}

/* Handles a bare LF, which Net::HTTP accepts as a line end. */
static failure_code bare_line_feed(http1_response *r) {
    if (GUARD(CHUNK_LINE_END) && !r->limits->lenient) return FAILURE_LINE_END;
    r->tolerated = true;
    return chunk_line_end(r);
}

/* Refuses sizes beyond INT64_MAX, so that none equals UINT64_MAX, which means "until close". */
static failure_code chunk_size_byte(http1_response *r, uint8_t byte) {
    int digit = hex_digit(byte);
    if (digit >= 0) {
        bool huge = r->digits == MOST_DIGITS || r->remaining > INT64_MAX >> 4;
        if (GUARD(CHUNK_SIZE_RANGE) && huge) return FAILURE_CHUNK_SIZE;
        r->remaining = r->remaining << 4 | (uint64_t)digit;
        r->digits++;
        return FAILURE_NONE;
    }
    if (r->digits == 0) return FAILURE_CHUNK_SIZE;
    switch (byte) {
    case ';': r->state = STATE_CHUNK_EXTENSION; return FAILURE_NONE;
    case '\r': r->state = STATE_CHUNK_LF; return FAILURE_NONE;
    case '\n': return bare_line_feed(r);
    default: /* any other byte, including white space */
        if (GUARD(CHUNK_SIZE_DIGITS) && !r->limits->lenient) return FAILURE_CHUNK_SIZE;
        r->tolerated = true;
        r->state = STATE_CHUNK_EXTENSION;
        return FAILURE_NONE;
    }
}

/* Ignores extensions, but checks that they are text and within the limits. */
static failure_code extension_byte(http1_response *r, uint8_t byte) {
    if (byte == '\r') {
        r->state = STATE_CHUNK_LF;
        return FAILURE_NONE;
    }
    if (byte == '\n') return bare_line_feed(r);
    if (!http1_is(byte, CLASS_TEXT)) return FAILURE_CHUNK_EXTENSION;
    r->line_extension++;
    r->total_extension++;
    bool fits = r->line_extension <= r->limits->extension_line &&
                r->total_extension <= r->limits->extension_total;
    return fits || !GUARD(CHUNK_OVERHEAD) ? FAILURE_NONE : FAILURE_CHUNK_EXTENSION;
}

static failure_code chunk_byte(http1_response *r, uint8_t byte) {
    r->framing_bytes++;
    switch (r->state) {
    case STATE_CHUNK_SIZE: return chunk_size_byte(r, byte);
    case STATE_CHUNK_EXTENSION: return extension_byte(r, byte);
    case STATE_CHUNK_LF: return byte == '\n' ? chunk_line_end(r) : FAILURE_LINE_END;
    case STATE_CHUNK_END_CR:
        r->state = STATE_CHUNK_END_LF;
        return byte == '\r' || !GUARD(CHUNK_END) ? FAILURE_NONE : FAILURE_CHUNK_END;
    default: /* STATE_CHUNK_END_LF */
        r->state = STATE_CHUNK_SIZE;
        r->digits = 0;
        r->line_extension = 0;
        return byte == '\n' || !GUARD(CHUNK_END) ? FAILURE_NONE : FAILURE_CHUNK_END;
    }
}

/* Copies the trailers, because the input may be gone before they are complete. They are not
 * interpreted: nothing after a body may change its framing. */
static http1_result trailer_section(http1_response *r, const uint8_t *bytes, size_t length,
                                    size_t *taken) {
    size_t had = buffer_length(&r->trailer_bytes);
    size_t limit = GUARD(TRAILER_BYTES) ? r->limits->trailer_bytes : UINT32_MAX;
    size_t added = length < limit - had ? length : limit - had;
    if (!buffer_append(&r->trailer_bytes, bytes, added))
        return http1_refuse(r, FAILURE_OUT_OF_MEMORY);
    http1_section section = {buffer_head(&r->trailer_bytes), had + added, &r->trailers,
                             &r->trailer_count, &r->trailer_capacity};
    http1_result result = http1_parse_fields(r, &section);
    *taken = added;
    if (result == HTTP1_MORE && had + added == limit)
        return http1_refuse(r, FAILURE_TRAILER_TOO_LARGE);
    if (result == HTTP1_DONE) {
        *taken = r->scan - had;
        r->trailer_bytes.end = r->trailer_bytes.start + r->scan;
        r->persistent &= !r->tolerated;
        r->state = STATE_COMPLETE;
    }
    return result;
}

static http1_result hand_over(http1_response *r, const uint8_t *bytes, size_t length,
                              http1_piece *piece) {
    uint64_t expected = http1_unframed_bytes(r);
    piece->data = bytes;
    piece->length = length < expected ? length : (size_t)expected;
    piece->consumed += piece->length;
    http1_consumed(r, piece->length);
    return piece->length > 0 ? HTTP1_DATA : HTTP1_MORE;
}

static http1_result chunked_body(http1_response *r, const uint8_t *bytes, size_t length,
                                 http1_piece *piece) {
    while (r->state != STATE_COMPLETE) {
        if (piece->consumed == length) return HTTP1_MORE;
        const uint8_t *at = bytes + piece->consumed;
        size_t left = length - piece->consumed, taken = 0;
        if (r->state == STATE_CHUNK_DATA) return hand_over(r, at, left, piece);
        if (r->state == STATE_TRAILERS) {
            http1_result result = trailer_section(r, at, left, &taken);
            piece->consumed += taken;
            return result;
        }
        piece->consumed++;
        failure_code wrong = chunk_byte(r, *at);
        if (wrong != FAILURE_NONE) return http1_refuse(r, wrong);
    }
    return HTTP1_DONE;
}

/* Returns whether the body is complete by its framing. */
static bool complete(const http1_response *r) {
    switch (r->framing) {
    case HTTP1_FRAMING_NONE: return true;
    case HTTP1_FRAMING_LENGTH: return r->remaining == 0;
    case HTTP1_FRAMING_CHUNKED: return r->state == STATE_COMPLETE;
    default: return false;
    }
}

http1_result http1_body(http1_response *r, const uint8_t *bytes, size_t length,
                        http1_piece *piece) {
    *piece = (http1_piece){0};
    if (r->state == STATE_FAILED) return HTTP1_FAILED;
    if (complete(r)) return HTTP1_DONE;
    if (r->framing == HTTP1_FRAMING_CHUNKED) return chunked_body(r, bytes, length, piece);
    return hand_over(r, bytes, length, piece);
}

uint64_t http1_unframed_bytes(const http1_response *r) {
    if (r->state == STATE_CHUNK_DATA) return r->remaining;
    if (r->state != STATE_BODY) return 0;
    return r->framing == HTTP1_FRAMING_CLOSE ? UINT64_MAX : r->remaining;
}

void http1_consumed(http1_response *r, uint64_t count) {
    r->body_bytes += count;
    if (r->framing == HTTP1_FRAMING_CLOSE) return;
    r->remaining -= count;
    if (r->state == STATE_CHUNK_DATA && r->remaining == 0) r->state = STATE_CHUNK_END_CR;
}

http1_result http1_end(http1_response *r, bool clean, size_t received) {
    if (r->state == STATE_FAILED) return HTTP1_FAILED;
    if (r->state < STATE_BODY) {
        if (received == 0) return http1_refuse(r, FAILURE_CLOSED);
        return http1_refuse(r, clean ? FAILURE_TRUNCATED_HEAD : FAILURE_TRUNCATED_HEAD_TLS);
    }
    bool close_notified = clean || !GUARD(CLOSE_NOTIFY);
    if (complete(r) || (r->framing == HTTP1_FRAMING_CLOSE && close_notified)) return HTTP1_DONE;
    if (!GUARD(WHOLE_BODY)) return HTTP1_DONE;
    return http1_refuse(r, clean ? FAILURE_TRUNCATED : FAILURE_TRUNCATED_TLS);
}
