#ifdef HAVE_NGHTTP2

#include "http2_internal.h"
#include "protocol/guard.h"
#include "protocol/http1/http1_table.h"

/* Received header sections. Limits are checked at each field, because nghttp2 accepts any number of
 * them. A section is copied when it is complete. */

#define FIELD_OVERHEAD 32 /* RFC 9113 6.5.2 */

void http2_section_begin(http2 *h, const http2_stream *s) {
    http2_section *section = &h->section;
    section->of = s;
    buffer_clear(&section->bytes);
    section->field_count = 0;
    section->size = 0;
    section->status = 0;
    section->content_length = -1;
}

void http2_section_free(http2_section *section) {
    buffer_free(&section->bytes);
    free(section->fields);
}

static int refuse(http2 *h, http2_stream *s, failure_code code) {
    http2_stream_fail(h, s, code);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Does not check the bytes, because nghttp2 has checked that they are digits. */
static int64_t number(const uint8_t *digits, size_t length) {
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) value = value * 10 + (digits[i] - '0');
    return value;
}

static bool add_field(http2_section *section, const uint8_t *name, size_t name_length,
                      const uint8_t *value, size_t value_length) {
    if (section->field_count == section->field_capacity) {
        uint32_t wanted = section->field_capacity ? section->field_capacity * 2 : 32;
        http1_field *grown = realloc(section->fields, wanted * sizeof(*grown));
        if (grown == NULL) return false;
        section->fields = grown;
        section->field_capacity = wanted;
    }
    uint32_t at = (uint32_t)section->bytes.end;
    if (!buffer_append(&section->bytes, name, name_length)) return false;
    if (!buffer_append(&section->bytes, value, value_length)) return false;
    section->fields[section->field_count++] = (http1_field){
        at, (uint32_t)name_length, at + (uint32_t)name_length, (uint32_t)value_length};
    return true;
}

static int take_status(http2 *h, http2_stream *s, int status) {
    h->section.status = status;
    if (status >= 200 || ++s->informational <= s->limits->informational ||
        !GUARD(HTTP2_INFORMATIONAL_LIMIT))
        return 0;
    return refuse(h, s, FAILURE_INFORMATIONAL_LIMIT);
}

int http2_section_field(http2 *h, http2_stream *s, const uint8_t *name, size_t name_length,
                        const uint8_t *value, size_t value_length) {
    http2_section *section = &h->section;
    const http1_limits *limits = s->limits;
    section->size += name_length + value_length + FIELD_OVERHEAD;
    size_t most = s->final_seen ? limits->trailer_bytes : limits->head_bytes;
    if (GUARD(HTTP2_HEAD_BYTES) && section->size > most)
        return refuse(h, s, s->final_seen ? FAILURE_TRAILER_TOO_LARGE : FAILURE_HEAD_TOO_LARGE);
    if (name_length > 0 && name[0] == ':') return take_status(h, s, (int)number(value, 3));
    if (GUARD(HTTP2_FIELD_COUNT) && section->field_count == limits->fields)
        return refuse(h, s, FAILURE_TOO_MANY_FIELDS);
    if (HTTP1_SAME(name, name_length, "content-length"))
        section->content_length = number(value, value_length);
    if (!add_field(section, name, name_length, value, value_length)) return http2_no_memory(h);
    return 0;
}

/* Allocates memory for length 0 too, so that NULL always means out of memory. */
static void *copy(const void *bytes, size_t length) {
    void *made = malloc(length ? length : 1);
    if (made != NULL && length > 0) memcpy(made, bytes, length);
    return made;
}

static http2_head *take_section(const http2_section *section) {
    http2_head *head = calloc(1, sizeof(*head));
    if (head == NULL) return NULL;
    head->status = section->status;
    head->length = (uint32_t)section->bytes.end;
    head->bytes = copy(section->bytes.bytes, head->length);
    head->field_count = section->field_count;
    head->fields = copy(section->fields, section->field_count * sizeof(*head->fields));
    if (head->bytes != NULL && head->fields != NULL) return head;
    http2_head_free(head);
    return NULL;
}

bool http2_section_end(http2 *h, http2_stream *s) {
    http2_head *head = take_section(&h->section);
    h->section.of = NULL;
    if (head == NULL) return false;
    http2_mark_changed(h, s);
    if (s->final_seen) {
        s->trailers = head;
        return true;
    }
    http2_head **last = &s->heads;
    while (*last != NULL) last = &(*last)->next;
    *last = head;
    if (head->status >= 200) {
        s->final_seen = true;
        s->content_length = h->section.content_length;
    }
    return true;
}

#endif
