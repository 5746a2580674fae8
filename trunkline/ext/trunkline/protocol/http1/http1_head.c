#include "http1_internal.h"

#include "protocol/comma_list.h"
#include "protocol/guard.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

const http1_limits http1_default_limits = {
    .head_bytes = 64 * 1024,
    .fields = 200,
    .extension_line = 256,
    .extension_total = 16 * 1024,
    .trailer_bytes = 8 * 1024,
    .informational = 16,
};

void http1_begin(http1_response *r, const http1_limits *limits, bool head_request) {
    *r = (http1_response){
        .fields = r->fields,
        .field_capacity = r->field_capacity,
        .trailers = r->trailers,
        .trailer_capacity = r->trailer_capacity,
        .trailer_bytes = r->trailer_bytes,
        .limits = limits,
        .head_request = head_request,
        .content_length = -1,
        .keep_alive_timeout = -1,
    };
    buffer_clear(&r->trailer_bytes);
}

void http1_next_head(http1_response *r) {
    uint32_t count = r->informational_count + 1;
    bool tolerated = r->tolerated, may_switch = r->may_switch;
    http1_begin(r, r->limits, r->head_request);
    r->informational_count = count;
    r->tolerated = tolerated;
    r->may_switch = may_switch;
    if (GUARD(INFORMATIONAL_LIMIT) && count > r->limits->informational)
        http1_refuse(r, FAILURE_INFORMATIONAL_LIMIT);
}

void http1_free(http1_response *r) {
    free(r->fields);
    free(r->trailers);
    buffer_free(&r->trailer_bytes);
    memset(r, 0, sizeof(*r));
}

/* Checks one byte of "HTTP/1.1 200", so that other protocols fail at their first wrong byte. */
static failure_code status_byte(size_t at, uint8_t byte) {
    static const char shape[] = "HTTP/1.x d00";
    switch (shape[at]) {
    case '1':
        if (byte == '1') return FAILURE_NONE;
        return http1_digit(byte) ? FAILURE_VERSION : FAILURE_STATUS_LINE;
    case 'x':
        if (byte == '0' || byte == '1') return FAILURE_NONE;
        return http1_digit(byte) ? FAILURE_VERSION : FAILURE_STATUS_LINE;
    case 'd': return http1_digit(byte) && byte != '0' ? FAILURE_NONE : FAILURE_STATUS_LINE;
    case '0': return http1_digit(byte) ? FAILURE_NONE : FAILURE_STATUS_LINE;
    default: return byte == (uint8_t)shape[at] ? FAILURE_NONE : FAILURE_STATUS_LINE;
    }
}

#define STATUS_LENGTH 12 /* of "HTTP/1.1 200" */

/* Handles the most frequent status line with one comparison. */
static bool usual_status_line(http1_response *r, const uint8_t *bytes, size_t length) {
    static const char line[] = "HTTP/1.1 200 OK\r\n";
    if (length < sizeof(line) - 1 || memcmp(bytes, line, sizeof(line) - 1) != 0) return false;
    r->minor_version = 1;
    r->status = 200;
    r->reason = STATUS_LENGTH + 1;
    r->reason_length = sizeof("OK") - 1;
    r->scan = sizeof(line) - 1;
    r->state = STATE_FIELDS;
    return true;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && http1_digit(*at)) at++;
    return at;
}

/* Parses a version, which may be missing, and returns its end; NULL: it is malformed. All versions
 * except 1.0 count as 1.1. */
static const uint8_t *lenient_version(http1_response *r, const uint8_t *at, const uint8_t *end) {
    r->minor_version = 1;
    if (at == end || *at != '/') return at;
    const uint8_t *major = at + 1, *dot = skip_digits(major, end);
    if (dot == major || dot == end || *dot != '.') return NULL;
    at = skip_digits(dot + 1, end);
    if (at == dot + 1) return NULL;
    r->minor_version = memcmp(major, "1.0", 3) == 0 && at == major + 3 ? 0 : 1;
    return at;
}

/* Parses the line as Net::HTTP does: in either case, with any version or none, and any blanks. */
static http1_result lenient_status_line(http1_response *r, const uint8_t *bytes, size_t length) {
    const uint8_t *line_end = memchr(bytes, '\n', length), *end = line_end;
    if (line_end == NULL) return HTTP1_MORE;
    if (end > bytes && end[-1] == '\r') end--;
    if (end - bytes < 4 || !HTTP1_SAME(bytes, 4, "HTTP"))
        return http1_refuse(r, FAILURE_STATUS_LINE);
    const uint8_t *after = lenient_version(r, bytes + 4, end), *status = after;
    if (after == NULL) return http1_refuse(r, FAILURE_VERSION);
    while (status < end && http1_blank(*status)) status++;
    if (status == after || skip_digits(status, end) != status + 3 || *status == '0')
        return http1_refuse(r, FAILURE_STATUS_LINE);
    const uint8_t *reason = status + 3;
    if (reason < end && !http1_blank(*reason)) return http1_refuse(r, FAILURE_STATUS_LINE);
    r->status = (status[0] - '0') * 100 + (status[1] - '0') * 10 + (status[2] - '0');
    while (reason < end && http1_blank(*reason)) reason++;
    r->reason = (uint32_t)(reason - bytes);
    r->reason_length = (uint32_t)(end - reason);
    r->scan = (uint32_t)(line_end + 1 - bytes);
    r->state = STATE_FIELDS;
    r->tolerated = true;
    return HTTP1_DONE;
}

static http1_result odd_status_line(http1_response *r, const uint8_t *bytes, size_t length,
                                    failure_code wrong) {
    return r->limits->lenient ? lenient_status_line(r, bytes, length) : http1_refuse(r, wrong);
}

/* Parses up to the reason phrase, which may be missing with its space (RFC 9112 4). After
 * HTTP1_MORE it reads the first bytes again, at most twelve. */
static http1_result status_line(http1_response *r, const uint8_t *bytes, size_t length) {
    if (usual_status_line(r, bytes, length)) return HTTP1_DONE;
    for (size_t at = 0; at < length && at < STATUS_LENGTH; at++) {
        failure_code wrong = status_byte(at, bytes[at]);
        if (GUARD(STATUS_LINE) && wrong != FAILURE_NONE)
            return odd_status_line(r, bytes, length, wrong);
    }
    if (length <= STATUS_LENGTH) return HTTP1_MORE;
    r->minor_version = bytes[7] - '0';
    r->status = (bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + (bytes[11] - '0');
    r->scan = STATUS_LENGTH;
    if (bytes[r->scan] == ' ')
        r->scan++;
    else if (!(bytes[r->scan] == '\r' || bytes[r->scan] == '\n'))
        return odd_status_line(r, bytes, length, FAILURE_STATUS_LINE);
    r->reason = r->scan;
    r->state = STATE_REASON;
    return HTTP1_DONE;
}

static http1_result reason_phrase(http1_response *r, const uint8_t *bytes, size_t length) {
    r->scan = (uint32_t)(http1_skip_text(bytes + r->scan, bytes + length) - bytes);
    if (r->scan == length) return HTTP1_MORE;
    uint8_t byte = bytes[r->scan];
    if (byte != '\r' && byte != '\n') return http1_refuse(r, FAILURE_STATUS_LINE);
    r->reason_length = r->scan - r->reason;
    r->scan = (uint32_t)(http1_line_feed(r, bytes + r->scan) - bytes);
    r->state = STATE_REASON_LF;
    return HTTP1_DONE;
}

static http1_result reason_end(http1_response *r, const uint8_t *bytes, size_t length) {
    if (r->scan == length) return HTTP1_MORE;
    if (bytes[r->scan] != '\n') return http1_refuse(r, FAILURE_LINE_END);
    r->scan++;
    r->state = STATE_FIELDS;
    return HTTP1_DONE;
}

/* The meaning of the fields for framing and the connection. */
typedef struct {
    bool close;
    bool keep_alive;
    bool chunked;
    uint32_t transfer_codings;
} meaning;

/* Parses 1*DIGIT. Returns -1 for anything else and for numbers beyond int64_t. */
static int64_t number(const uint8_t *bytes, size_t length) {
    int64_t value = 0;
    if (length == 0) return -1;
    for (size_t i = 0; i < length; i++) {
        if (!http1_digit(bytes[i])) return -1;
        int digit = bytes[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value)) return -1;
        if (__builtin_add_overflow(value, digit, &value)) return -1;
    }
    return value;
}

static comma_list list_of(const uint8_t *bytes, const http1_field *field) {
    const char *value = (const char *)bytes + field->value;
    return (comma_list){.rest = value, .end = value + field->value_length};
}

static bool element_is(const comma_list *list, const char *word, size_t length) {
    return http1_same((const uint8_t *)list->element, list->length, word, length);
}

#define ELEMENT_IS(list, literal) element_is(list, literal, sizeof(literal) - 1)

/* Accepts several equal values, in several fields or in a list, as one (RFC 9110 8.6). */
static failure_code content_length(http1_response *r, comma_list list) {
    while (comma_list_next(&list)) {
        int64_t value = number((const uint8_t *)list.element, list.length);
        if (GUARD(LENGTH_IS_A_NUMBER) && value < 0) return FAILURE_LENGTH_INVALID;
        if (GUARD(LENGTHS_AGREE) && r->content_length >= 0 && r->content_length != value)
            return FAILURE_LENGTH_CONFLICT;
        r->content_length = value;
    }
    return FAILURE_NONE;
}

static void connection_options(meaning *m, comma_list list) {
    while (comma_list_next(&list)) {
        if (ELEMENT_IS(&list, "close")) m->close = true;
        if (ELEMENT_IS(&list, "keep-alive")) m->keep_alive = true;
    }
}

/* Keeps the smallest of several timeouts, and ignores malformed ones. */
static void keep_alive_hint(http1_response *r, comma_list list) {
    static const char timeout[] = "timeout=";
    const size_t prefix = sizeof(timeout) - 1;
    while (comma_list_next(&list)) {
        const uint8_t *element = (const uint8_t *)list.element;
        if (list.length <= prefix || !http1_same(element, prefix, timeout, prefix)) continue;
        int64_t seconds = number(element + prefix, list.length - prefix);
        if (seconds < 0 || seconds > INT_MAX) continue;
        if (r->keep_alive_timeout < 0 || seconds < r->keep_alive_timeout)
            r->keep_alive_timeout = (int)seconds;
    }
}

/* In lenient mode `chunked` may be anywhere in the list, and other codings are not decoded, as in
 * Net::HTTP. */
static failure_code transfer_coding(http1_response *r, meaning *m, comma_list list) {
    uint32_t before = m->transfer_codings;
    while (comma_list_next(&list)) {
        m->transfer_codings++;
        m->chunked |= ELEMENT_IS(&list, "chunked");
    }
    if (m->chunked && m->transfer_codings == 1 && before == 0) return FAILURE_NONE;
    r->tolerated |= r->limits->lenient;
    bool wrong = GUARD(KNOWN_TRANSFER_CODING) && !r->limits->lenient;
    return wrong ? FAILURE_TRANSFER_CODING : FAILURE_NONE;
}

/* Selects by the name's length first, so that most names are not compared at all. */
static failure_code field_meaning(http1_response *r, meaning *m, const uint8_t *bytes,
                                  const http1_field *field) {
#define NAMED(literal) HTTP1_SAME(bytes + field->name, field->name_length, literal)
    switch (field->name_length) {
    case sizeof("Connection") - 1:
        if (NAMED("Connection")) connection_options(m, list_of(bytes, field));
        if (NAMED("Keep-Alive")) keep_alive_hint(r, list_of(bytes, field));
        return FAILURE_NONE;
    case sizeof("Content-Length") - 1:
        if (!NAMED("Content-Length")) return FAILURE_NONE;
        return content_length(r, list_of(bytes, field));
    case sizeof("Transfer-Encoding") - 1:
        if (!NAMED("Transfer-Encoding")) return FAILURE_NONE;
        return transfer_coding(r, m, list_of(bytes, field));
    default: return FAILURE_NONE;
    }
#undef NAMED
}

bool http1_bodiless(int status, bool head_request) {
    return head_request || status < 200 || status == 204 || status == 304;
}

/* Decides the framing of the body (RFC 9112 6.3), and whether the connection is persistent. */
static void set_framing(http1_response *r, const meaning *m) {
    if (http1_bodiless(r->status, r->head_request)) {
        r->framing = HTTP1_FRAMING_NONE;
    } else if (m->transfer_codings > 0) {
        r->framing = m->chunked ? HTTP1_FRAMING_CHUNKED : HTTP1_FRAMING_CLOSE;
    } else if (r->content_length >= 0) {
        r->framing = HTTP1_FRAMING_LENGTH;
        r->remaining = (uint64_t)r->content_length;
    } else {
        r->framing = HTTP1_FRAMING_CLOSE;
    }
    r->state = r->framing == HTTP1_FRAMING_CHUNKED ? STATE_CHUNK_SIZE : STATE_BODY;
    r->persistent = (!GUARD(CLOSE_OPTION) || !m->close) &&
                    (!GUARD(TOLERATED_HEAD) || !r->tolerated) &&
                    (!GUARD(HTTP_1_0_CLOSES) || r->minor_version == 1 || m->keep_alive) &&
                    r->framing != HTTP1_FRAMING_CLOSE;
}

/* Interprets all fields, also after a failure. Returns the first failure. */
static failure_code fields_meaning(http1_response *r, meaning *m, const uint8_t *bytes) {
    failure_code first = FAILURE_NONE;
    const http1_field *field = r->fields;
    for (uint32_t left = r->field_count; left > 0; left--, field++) {
        failure_code wrong = field_meaning(r, m, bytes, field);
        if (first == FAILURE_NONE) first = wrong;
    }
    if (first != FAILURE_NONE || m->transfer_codings == 0) return first;
    if (r->limits->lenient) { /* Transfer-Encoding overrides Content-Length, in HTTP/1.0 too */
        r->tolerated |= r->content_length >= 0 || r->minor_version == 0;
        r->content_length = -1;
        return FAILURE_NONE;
    }
    if (GUARD(LENGTH_OR_CODING) && r->content_length >= 0) return FAILURE_LENGTH_AND_CODING;
    bool old = GUARD(NO_CODING_IN_HTTP_1_0) && r->minor_version == 0;
    return old ? FAILURE_TRANSFER_CODING : FAILURE_NONE;
}

/* Tolerates invalid framing of a response without a body, but the connection is not reused. Invalid
 * framing of a 1xx is a failure, because the final response follows. */
static http1_result head_complete(http1_response *r, const uint8_t *bytes) {
    meaning m = {0};
    r->head_length = r->scan;
    failure_code wrong = fields_meaning(r, &m, bytes);
    if (wrong != FAILURE_NONE) {
        if (r->status < 200 || !http1_bodiless(r->status, r->head_request))
            return http1_refuse(r, wrong);
        r->content_length = -1;
        r->tolerated = true;
    }
    if (r->status == 101) {
        if (!r->limits->lenient && !r->may_switch) return http1_refuse(r, FAILURE_SWITCHED);
        r->tolerated = true;
    }
    set_framing(r, &m);
    return HTTP1_DONE;
}

/* Parses no byte beyond the limit, so that the result does not depend on how the head is split. */
http1_result http1_head(http1_response *r, uint8_t *bytes, size_t length) {
    bool limited = GUARD(HEAD_BYTES) && r->limits->head_bytes < UINT32_MAX;
    size_t limit = limited ? r->limits->head_bytes : UINT32_MAX;
    size_t seen = length < limit ? length : limit;
    http1_result result = HTTP1_DONE;
    while (result == HTTP1_DONE) {
        switch (r->state) {
        case STATE_STATUS_LINE: result = status_line(r, bytes, seen); break;
        case STATE_REASON: result = reason_phrase(r, bytes, seen); break;
        case STATE_REASON_LF: result = reason_end(r, bytes, seen); break;
        case STATE_FIELDS: {
            http1_section section = {bytes, seen, &r->fields, &r->field_count, &r->field_capacity};
            result = http1_parse_fields(r, &section);
            if (result == HTTP1_DONE) return head_complete(r, bytes);
            break;
        }
        case STATE_FAILED: return HTTP1_FAILED;
        default: return HTTP1_DONE;
        }
    }
    if (result == HTTP1_MORE && seen == limit) return http1_refuse(r, FAILURE_HEAD_TOO_LARGE);
    return result;
}

const char *http1_missing_end(const http1_response *r) {
    if (!r->limits->lenient || r->state != STATE_FIELDS) return NULL;
    switch (r->position) {
    case AT_FIELD: return "\r\n";
    case AT_VALUE_LF: return "\n\r\n";
    case AT_LAST_LF: return "\n";
    case AT_NAME: return NULL; /* a line without a colon is malformed */
    default: return "\r\n\r\n";
    }
}

void http1_quote(const uint8_t *bytes, size_t length, char out[HTTP1_QUOTED_ROOM]) {
    char *at = out;
    *at++ = '"';
    for (size_t i = 0; i < length && i < HTTP1_QUOTED_BYTES; i++) {
        uint8_t byte = bytes[i];
        if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\')
            *at++ = (char)byte;
        else
            at += sprintf(at, "\\x%02X", byte);
    }
    memcpy(at, "\"", 2);
}
