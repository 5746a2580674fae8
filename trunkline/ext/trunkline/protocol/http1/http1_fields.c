#include "http1_internal.h"
#include "protocol/guard.h"
#include "http1_usual_internal.h"

/* Returns the slot for the next field, which is counted when its line is complete; NULL without
 * memory. */
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

static uint32_t trimmed_length(const uint8_t *value, const uint8_t *end) {
    while (end > value && http1_blank(end[-1])) end--;
    return (uint32_t)(end - value);
}

/* Reopens the last field, because the next line continues its value (a line fold); the field is
 * counted again at its end. Folds are replaced when the section is complete, because the bytes may
 * move before that. */
static http1_field *unfinish_field(http1_response *r, http1_section *s) {
    r->folded = r->tolerated = true;
    r->position = AT_VALUE;
    return *s->list + --*s->count;
}

/* Replaces each line end in a value, with the blanks around it, by one space. Returns the value's
 * new end. */
static uint8_t *unfold_value(uint8_t *at, const uint8_t *end) {
    uint8_t *out = at;
    while (at < end) {
        const uint8_t *text = at;
        bool fold = false;
        for (; text < end && (http1_blank(*text) || *text == '\r' || *text == '\n'); text++)
            fold |= !http1_blank(*text);
        if (fold) {
            *out++ = ' ';
            at += text - at;
        }
        while (at < text) *out++ = *at++;
        if (at < end) *out++ = *at++;
    }
    return out;
}

static void unfold(http1_response *r, const http1_section *s) {
    for (http1_field *field = *s->list; field < *s->list + *s->count; field++) {
        uint8_t *value = s->bytes + field->value, *end = value + field->value_length;
        end = unfold_value(value, end);
        while (value < end && http1_blank(*value)) value++;
        field->value = (uint32_t)(value - s->bytes);
        field->value_length = trimmed_length(value, end);
    }
    r->folded = false;
}

/* Completes the section, which ends before `next`. */
static http1_result section_end(http1_response *r, const http1_section *s, const uint8_t *next) {
    if (r->folded) unfold(r, s);
    r->scan = (uint32_t)(next - s->bytes);
    return HTTP1_DONE;
}

/* Parses lines of the usual form (http1_usual_internal.h), as many as there are slots and `most`
 * allows. Returns the end of the last. */
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

/* skip_name and skip_value return the end of a name or value. In lenient mode they accept any bytes
 * up to the delimiter, as Net::HTTP does. */
static const uint8_t *skip_name(http1_response *r, const uint8_t *at, const uint8_t *end) {
    while (at < end && http1_is(*at, CLASS_TOKEN)) at++;
    if (GUARD(FIELD_NAME) && !r->limits->lenient) return at;
    const uint8_t *token_end = at;
    while (at < end && *at != ':' && *at != '\r' && *at != '\n') at++;
    r->tolerated |= at > token_end;
    return at;
}

static const uint8_t *skip_value(http1_response *r, const uint8_t *at, const uint8_t *end) {
    at = http1_skip_text(at, end);
    if (GUARD(FIELD_VALUE) && !r->limits->lenient) return at;
    const uint8_t *text_end = at;
    while (at < end && *at != '\r' && *at != '\n') at++;
    r->tolerated |= at > text_end;
    return at;
}

/* Parses usual lines, and then the first byte of the line after them. Sets *at, the position, and
 * *field: the slot of the field that begins or continues there; NULL: no memory. Returns
 * HTTP1_FAILED when there are too many fields, else HTTP1_MORE. */
static inline http1_result begin_line(http1_response *r, http1_section *s, http1_field **field,
                                      const uint8_t **at) {
    *at = usual_lines(s, r->limits->fields, *at);
    *field = next_slot(s);
    if (*field == NULL || *at == s->bytes + s->length) return HTTP1_MORE;
    if (**at == '\r' || **at == '\n') {
        *at = http1_line_feed(r, *at);
        r->position = AT_LAST_LF;
        return HTTP1_MORE;
    }
    if (http1_blank(**at) && *s->count > 0) {
        *field = unfinish_field(r, s);
        return HTTP1_MORE;
    }
    if (http1_blank(**at) && r->limits->lenient) {
        r->tolerated = true;
        ++*at;
        return HTTP1_MORE;
    }
    if (GUARD(FIELD_COUNT) && *s->count >= r->limits->fields)
        return http1_refuse(r, FAILURE_TOO_MANY_FIELDS);
    (*field)->name = (uint32_t)(*at - s->bytes);
    r->position = AT_NAME;
    return HTTP1_MORE;
}

/* Parses in one pass. Each case falls through to the next when its part of the line is complete;
 * otherwise the next call resumes there. White space before the first field is an invalid name (RFC
 * 9112 2.2), except in lenient mode. */
http1_result http1_parse_fields(http1_response *r, http1_section *s) {
    const uint8_t *const bytes = s->bytes, *const end = bytes + s->length, *at = bytes + r->scan;
    http1_field *field = next_slot(s);
    while (field != NULL && at < end) {
        switch (r->position) {
        case AT_FIELD:
            if (begin_line(r, s, &field, &at) == HTTP1_FAILED) return HTTP1_FAILED;
            if (r->position != AT_NAME) continue;
            /* fall through */
        case AT_NAME:
            at = skip_name(r, at, end);
            if (at == end) continue;
            field->name_length = trimmed_length(bytes + field->name, at);
            if (*at != ':' || field->name_length == 0) return http1_refuse(r, FAILURE_FIELD_NAME);
            at++;
            r->position = AT_BLANK;
            /* fall through */
        case AT_BLANK:
            while (at < end && http1_blank(*at)) at++;
            if (at == end) continue;
            field->value = (uint32_t)(at - bytes);
            r->position = AT_VALUE;
            /* fall through */
        case AT_VALUE:
            at = skip_value(r, at, end);
            if (at == end) continue;
            if (*at != '\r' && *at != '\n') return http1_refuse(r, FAILURE_FIELD_VALUE);
            field->value_length = trimmed_length(bytes + field->value, at);
            at = http1_line_feed(r, at);
            r->position = AT_VALUE_LF;
            /* fall through */
        case AT_VALUE_LF:
            if (at == end) continue;
            if (GUARD(LINE_END) && *at != '\n') return http1_refuse(r, FAILURE_LINE_END);
            at++;
            ++*s->count;
            r->position = AT_FIELD;
            continue;
        case AT_LAST_LF:
            if (*at != '\n') return http1_refuse(r, FAILURE_LINE_END);
            return section_end(r, s, at + 1);
        }
    }
    if (field == NULL) return http1_refuse(r, FAILURE_OUT_OF_MEMORY);
    r->scan = (uint32_t)(at - bytes);
    return HTTP1_MORE;
}

const http1_field *http1_find(const http1_field *fields, uint32_t count, const uint8_t *bytes,
                              const char *name, size_t name_length) {
    for (const http1_field *field = fields; count > 0; field++, count--)
        if (http1_same(bytes + field->name, field->name_length, name, name_length)) return field;
    return NULL;
}
