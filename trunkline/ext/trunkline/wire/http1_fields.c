#include "http1_internal.h"
#include "http1_usual.h"

/* The slot for the next field, which stays in it, not counted, until its line is complete. */
static http1_field *next_slot(http1_section *s) {
    if (*s->count == *s->capacity) {
        uint32_t wanted = *s->capacity ? *s->capacity * 2 : 16;
        http1_field *grown = realloc(*s->list, wanted * sizeof(**s->list));
        if (grown == NULL) return NULL;
        *s->list = grown;
        *s->capacity = wanted;
    }
    return *s->list + *s->count;
}

/* What is wrong with a line that begins with this byte? White space before the first field belongs
 * to no line before it, so nobody agrees on what it means (RFC 9112 2.2). */
static failure_code line_start(const http1_response *r, uint32_t count, uint8_t byte) {
    if (byte == '\n') return FAILURE_LINE_END;
    if (http1_blank(byte)) return count == 0 ? FAILURE_FIELD_NAME : FAILURE_FIELD_FOLDED;
    return count >= r->limits->fields ? FAILURE_TOO_MANY_FIELDS : FAILURE_NONE;
}

static uint32_t trimmed_length(const uint8_t *value, const uint8_t *end) {
    while (end > value && http1_blank(end[-1])) end--;
    return (uint32_t)(end - value);
}

/* Takes the usual lines that come next, as far as there are slots for them and the limit allows.
 * Returns what follows. */
static const uint8_t *usual_lines(http1_section *s, uint32_t most, const uint8_t *at) {
    if (s->length < HTTP1_LANES) return at;
    const uint8_t *const last = s->bytes + s->length - HTTP1_LANES, *next;
    uint32_t room = *s->capacity < most ? *s->capacity : most;
    for (; *s->count < room; ++*s->count, at = next) {
        next = http1_usual_line(*s->list + *s->count, s->bytes, at, last);
        if (next == NULL) break;
    }
    return at;
}

/* One pass; each case falls into the next when its part of the line is there, and is come back to
 * when it is not. */
http1_result http1_parse_fields(http1_response *r, http1_section *s) {
    const uint8_t *const bytes = s->bytes, *const end = bytes + s->length;
    const uint8_t *at = bytes + r->scan;
    http1_field *field = next_slot(s);
    while (field != NULL && at < end) {
        switch (r->step) {
        case STEP_FIELD:
            at = usual_lines(s, r->limits->fields, at);
            field = next_slot(s);
            if (field == NULL || at == end) continue;
            if (*at == '\r') {
                at++;
                r->step = STEP_LAST_LF;
                continue;
            }
            failure_code wrong = line_start(r, *s->count, *at);
            if (wrong != FAILURE_NONE) return http1_refuse(r, wrong);
            field->name = (uint32_t)(at - bytes);
            r->step = STEP_NAME;
            /* fall through */
        case STEP_NAME:
            while (at < end && http1_is(*at, CLASS_TOKEN)) at++;
            if (at == end) continue;
            field->name_length = (uint32_t)(at - bytes) - field->name;
            if (*at != ':' || field->name_length == 0) return http1_refuse(r, FAILURE_FIELD_NAME);
            at++;
            r->step = STEP_BLANK;
            /* fall through */
        case STEP_BLANK:
            while (at < end && http1_blank(*at)) at++;
            if (at == end) continue;
            field->value = (uint32_t)(at - bytes);
            r->step = STEP_VALUE;
            /* fall through */
        case STEP_VALUE:
            at = http1_skip_text(at, end);
            if (at == end) continue;
            if (*at == '\n') return http1_refuse(r, FAILURE_LINE_END);
            if (*at != '\r') return http1_refuse(r, FAILURE_FIELD_VALUE);
            field->value_length = trimmed_length(bytes + field->value, at);
            at++;
            r->step = STEP_VALUE_LF;
            /* fall through */
        case STEP_VALUE_LF:
            if (at == end) continue;
            if (*at != '\n') return http1_refuse(r, FAILURE_LINE_END);
            at++;
            ++*s->count;
            r->step = STEP_FIELD;
            continue;
        case STEP_LAST_LF:
            if (*at != '\n') return http1_refuse(r, FAILURE_LINE_END);
            r->scan = (uint32_t)(at - bytes) + 1;
            return HTTP1_DONE;
        }
    }
    if (field == NULL) return http1_refuse(r, FAILURE_OUT_OF_MEMORY);
    r->scan = (uint32_t)(at - bytes);
    return HTTP1_MORE;
}

const http1_field *http1_find(const http1_field *fields, uint32_t count, const uint8_t *bytes,
                              const char *name, size_t name_length) {
    for (const http1_field *field = fields; count > 0; field++, count--) {
        if (http1_same(bytes + field->name, field->name_length, name, name_length)) return field;
    }
    return NULL;
}
