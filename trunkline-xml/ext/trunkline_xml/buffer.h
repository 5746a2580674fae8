#ifndef TRUNKLINE_XML_BUFFER_H
#define TRUNKLINE_XML_BUFFER_H

#include <ruby.h>
#include <ruby/encoding.h>
#include <string.h>

/*
 * A window on the free end of a Ruby String. While it is open its bytes are not yet part of the
 * String and no Ruby code may run: buffer_close() first, buffer_open() afterwards.
 * The String belongs to whoever opened the window, who also keeps it alive.
 */
typedef struct {
    VALUE string;
    char *at;
    char *limit;
    int coderange; /* of the String with all that was put; kept so that nobody need scan it again */
} buffer;

/* rb_utf8_encindex(), which never changes, without the call. */
extern int utf8_index;

/* Makes room for `size` more bytes; the capacity at least doubles. Raises FrozenError,
 * NoMemoryError; what was put so far is then part of the String. */
void buffer_grow(buffer *out, size_t size);

/* Opens the window at the end of `string`, which must not be frozen, with room for `size` bytes. */
static inline void buffer_open(buffer *out, VALUE string, size_t size) {
    char *start = RSTRING_PTR(string);
    out->string = string;
    out->coderange = ENC_CODERANGE(string);
    out->at = start + RSTRING_LEN(string);
    /* Of a shared String this is its length, so that it is not written to before it was copied. */
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

/* Tells the coderange that valid UTF-8 outside ASCII was put. */
static inline void buffer_note_utf8(buffer *out) {
    if (out->coderange == ENC_CODERANGE_7BIT) out->coderange = ENC_CODERANGE_VALID;
}

/* Tells the coderange that nothing is known about what was put. */
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
