#ifndef TRUNKLINE_PROTOCOL_BUFFER_H
#define TRUNKLINE_PROTOCOL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A growing byte buffer: bytes are appended at the end and consumed from the start. It owns its
 * memory, which comes from malloc (never xmalloc: buffers grow where the GVL is not held). A zeroed
 * struct is an empty buffer.
 */
typedef struct {
    uint8_t *bytes; /* owned */
    size_t start;
    size_t end;
    size_t capacity;
} buffer;

/* Returns the number of bytes that are not consumed. */
static inline size_t buffer_length(const buffer *b) {
    return b->end - b->start;
}

/* Returns the first byte's address; NULL if nothing was ever allocated (C does not allow adding
 * even 0 to NULL). */
static inline uint8_t *buffer_head(buffer *b) {
    return b->start > 0 ? b->bytes + b->start : b->bytes;
}

/* Returns the address after the last byte, where buffer_reserve makes room; NULL if nothing was
 * ever allocated. */
static inline uint8_t *buffer_tail(buffer *b) {
    return b->end > 0 ? b->bytes + b->end : b->bytes;
}

/* Frees the memory; `b` is an empty buffer then. */
static inline void buffer_free(buffer *b) {
    free(b->bytes);
    memset(b, 0, sizeof(*b));
}

/* Makes room for `extra` more bytes at the tail, by moving the contents to the front when that is
 * enough. Returns false without memory; the contents are unchanged then. */
static inline bool buffer_reserve(buffer *b, size_t extra) {
    if (b->capacity - b->end >= extra) return true;
    size_t length = buffer_length(b);
    if (extra > SIZE_MAX / 2 - length) return false;
    if (b->start > 0) {
        memmove(b->bytes, b->bytes + b->start, length);
        b->start = 0;
        b->end = length;
        if (b->capacity - length >= extra) return true;
    }
    size_t wanted = b->capacity ? b->capacity : 512;
    while (wanted - length < extra) wanted *= 2;
    if (length == 0) buffer_free(b); /* realloc would copy consumed bytes */
    uint8_t *grown = realloc(b->bytes, wanted);
    if (grown == NULL) return false;
    b->bytes = grown;
    b->capacity = wanted;
    return true;
}

/* Returns how many bytes fit at the tail without buffer_reserve. */
static inline size_t buffer_room(const buffer *b) {
    return b->capacity - b->end;
}

/* Adds `count` bytes that the caller wrote at the tail after buffer_reserve. */
static inline void buffer_commit(buffer *b, size_t count) {
    b->end += count;
}

/* Appends a copy of the bytes. Returns false without memory; the contents are unchanged then. */
static inline bool buffer_append(buffer *b, const void *bytes, size_t count) {
    if (!buffer_reserve(b, count)) return false;
    if (count > 0) memcpy(b->bytes + b->end, bytes, count);
    b->end += count;
    return true;
}

/* Drops `count` bytes from the front. */
static inline void buffer_consume(buffer *b, size_t count) {
    b->start += count;
    if (b->start == b->end) b->start = b->end = 0;
}

/* Drops all bytes, and keeps the memory. */
static inline void buffer_clear(buffer *b) {
    b->start = b->end = 0;
}

#endif
