#ifndef TRUNKLINE_PROTOCOL_HTTP1_HTTP1_USUAL_INTERNAL_H
#define TRUNKLINE_PROTOCOL_HTTP1_HTTP1_USUAL_INTERNAL_H

#include "http1.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/*
 * Parses the form that nearly all field lines have, sixteen bytes at a time: names of letters and
 * "-", one space, values of visible ASCII and spaces. The result is the same as that of the
 * byte-by-byte parser, which handles all other lines and all errors.
 */

#define HTTP1_LANES 16

/* The compiler's vector types, compiled to SSE2, NEON, or words. */
typedef uint8_t http1_lanes __attribute__((vector_size(HTTP1_LANES)));
typedef int8_t http1_signed_lanes __attribute__((vector_size(HTTP1_LANES)));

/* Marks (0xFF) the bytes from `first` to `last`, which must be ASCII. Adding `up` moves `last` to
 * 0x7F, the greatest signed byte, so that one comparison checks both ends. */
static inline http1_lanes http1_between(http1_lanes bytes, uint8_t first, uint8_t last) {
    uint8_t up = 0x7F - last;
    return (http1_lanes)((http1_signed_lanes)(bytes + up) > (int8_t)(first + up - 1));
}

/* Marks the bytes that a usual name consists of: ASCII letters and "-". */
static inline http1_lanes http1_usual_in_name(http1_lanes bytes) {
    return http1_between(bytes | 0x20, 'a', 'z') | (http1_lanes)(bytes == '-');
}

/* Marks the bytes that a usual value consists of: visible ASCII and spaces. */
static inline http1_lanes http1_usual_in_value(http1_lanes bytes) {
    return http1_between(bytes, ' ', '~');
}

/* Returns how many lanes are marked before the first unmarked one. */
static inline size_t http1_marked(http1_lanes marks) {
#if defined(__SSE2__)
    return (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8((__m128i)marks));
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t halves[2];
    memcpy(halves, &marks, sizeof(halves));
    size_t second = halves[0] == UINT64_MAX;
    if (halves[second] == UINT64_MAX) return HTTP1_LANES;
    return second * 8 + (size_t)__builtin_ctzll(~halves[second]) / 8;
#else
    (void)marks;
    return 0; /* the byte-by-byte parser handles all lines */
#endif
}

/* Skips the bytes that `usual` marks. Stops at or after `last`; from any byte before `last`,
 * HTTP1_LANES bytes can be loaded. */
static inline const uint8_t *http1_pass(const uint8_t *at, const uint8_t *last,
                                        http1_lanes usual(http1_lanes)) {
    while (at < last) {
        http1_lanes bytes;
        memcpy(&bytes, at, sizeof(bytes));
        size_t count = http1_marked(usual(bytes));
        at += count;
        if (count < HTTP1_LANES) break;
    }
    return at;
}

/* Parses the line that begins at `name`. Fills in the field and returns the end of the line, or
 * NULL when the line has another form or is too close to `last`. */
static inline const uint8_t *http1_usual_line(http1_field *field, const uint8_t *bytes,
                                              const uint8_t *name, const uint8_t *last) {
    const uint8_t *colon = http1_pass(name, last, http1_usual_in_name);
    if (colon >= last || colon == name || memcmp(colon, ": ", 2) != 0) return NULL;
    const uint8_t *value = colon + 2, *end = http1_pass(value, last, http1_usual_in_value);
    if (end >= last || memcmp(end, "\r\n", 2) != 0 || *value == ' ' || end[-1] == ' ') return NULL;
    *field = (http1_field){(uint32_t)(name - bytes), (uint32_t)(colon - name),
                           (uint32_t)(value - bytes), (uint32_t)(end - value)};
    return end + 2;
}

#endif
