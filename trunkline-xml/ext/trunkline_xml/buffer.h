#ifndef TRUNKLINE_XML_BUFFER_H
#define TRUNKLINE_XML_BUFFER_H

#include <ruby.h>
#include <ruby/encoding.h>
#include <string.h>

/*
 * A write window on the free capacity of a Ruby String. While the window is open, the bytes written
 * are not yet part of the String, and no Ruby code may run: call buffer_close() before that, and
 * buffer_open() afterwards. The caller owns the String, and must keep it alive.
 */
typedef struct {
    VALUE string;
    char *at;
    char *limit;
    int coderange; /* of the String with the bytes put; kept so that no scan is needed later */
} buffer;

/* The result of rb_utf8_encindex(), which never changes, cached to save the call. */
extern int utf8_index;

/* Makes room for `size` more bytes; the capacity at least doubles. Raises FrozenError and
 * NoMemoryError; the bytes put so far are part of the String then. */
void buffer_grow(buffer *out, size_t size);

/* Opens the window at the end of `string`, which must not be frozen, with room for `size` bytes. */
static inline void buffer_open(buffer *out, VALUE string, size_t size) {
    char *start = RSTRING_PTR(string);
    out->string = string;
    out->coderange = ENC_CODERANGE(string);
    out->at = start + RSTRING_LEN(string);
    /* The capacity of a shared String is its length, so that it is copied before it is written. */
    out->limit = start + rb_str_capacity(string);
    if ((size_t)(out->limit - out->at) < size) buffer_grow(out, size);
}

static inline void buffer_close(buffer *out) {
    ENC_CODERANGE_CLEAR(out->string);
    rb_str_set_len(out->string, out->at - RSTRING_PTR(out->string));
    ENC_CODERANGE_SET(out->string, out->coderange);
}

static inline void buffer_reserve(buffer *out, size_t size) {
    if ((size_t)(out->limit - out->at) < size) buffer_grow(out, size);
}

/* Updates the coderange after valid UTF-8 outside ASCII was put. */
static inline void buffer_note_utf8(buffer *out) {
    if (out->coderange == ENC_CODERANGE_7BIT) out->coderange = ENC_CODERANGE_VALID;
}

/* Updates the coderange after bytes that may be invalid were put. */
static inline void buffer_note_unknown(buffer *out) {
    out->coderange = ENC_CODERANGE_UNKNOWN;
}

static inline void buffer_put(buffer *out, const char *bytes, size_t size) {
    buffer_reserve(out, size);
    memcpy(out->at, bytes, size);
    out->at += size;
}

static inline void buffer_put_byte(buffer *out, char byte) {
    buffer_reserve(out, 1);
    *out->at++ = byte;
}

static inline void buffer_fill(buffer *out, char byte, size_t size) {
    buffer_reserve(out, size);
    memset(out->at, byte, size);
    out->at += size;
}

#endif
