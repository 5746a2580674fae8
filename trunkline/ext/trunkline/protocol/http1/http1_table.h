#ifndef TRUNKLINE_PROTOCOL_HTTP1_HTTP1_TABLE_H
#define TRUNKLINE_PROTOCOL_HTTP1_HTTP1_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Classes of bytes, as bits of http1_class. */
enum {
    CLASS_TOKEN = 1, /* RFC 9110 5.6.2 */
    CLASS_TEXT = 2,  /* field values and reason phrases, RFC 9110 5.5: HTAB, SP, VCHAR, 0x80-0xFF */
    CLASS_TARGET = 4, /* request targets, RFC 9112 3.2: VCHAR except "#" */
    CLASS_URL = 8,    /* paths and queries sent without change: RFC 3986 3.3, 3.4, "[" and "]" */
    CLASS_FORM = 16   /* names and values of forms that need no encoding: RFC 3986 2.3 */
};

/* clang-format off */
static const uint8_t http1_class[256] = {
     0,  0,  0,  0,  0,  0,  0,  0,  0,  2,  0,  0,  0,  0,  0,  0, /* 00 */
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, /* 10 */
     2, 15,  6,  3, 15,  7, 15, 15, 14, 14, 15, 15, 14, 31, 31, 14, /* 20 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14, 14,  6, 14,  6, 14, /* 30 */
    14, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, /* 40 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 14,  6, 14,  7, 31, /* 50 */
     7, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31, /* 60 */
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 31,  6,  7,  6, 31,  0, /* 70 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* 80 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* 90 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* a0 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* b0 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* c0 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* d0 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* e0 */
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2, /* f0 */
};
/* clang-format on */

/* Returns whether the byte belongs to one of these classes (CLASS_TOKEN and so on). */
static inline bool http1_is(uint8_t byte, int class) {
    return http1_class[byte] & class;
}

/* Returns whether the byte is a decimal digit. */
static inline bool http1_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

/* Returns whether the byte is white space within a line (OWS, RFC 9110 5.6.3). */
static inline bool http1_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

/* Converts an ASCII letter to lower case; returns other bytes unchanged. */
static inline uint8_t http1_lower(uint8_t byte) {
    return (uint8_t)(byte - 'A') < 26 ? byte | 0x20 : byte;
}

/* Returns whether eight bytes are equal except for the case of ASCII letters. `letters` has the
 * high bit of each byte that is a letter, which may differ in 0x20, two bits lower. */
static inline bool http1_same_eight(const uint8_t *bytes, const char *word) {
    const uint64_t ones = UINT64_MAX / 255, highs = ones * 0x80;
    uint64_t a, b;
    memcpy(&a, bytes, sizeof(a));
    memcpy(&b, word, sizeof(b));
    uint64_t low = (a | ones * 0x20) & ~highs;
    uint64_t from_a = low + ones * (0x80 - 'a'), beyond_z = low + ones * (0x7F - 'z');
    uint64_t letters = from_a & ~beyond_z & ~a & highs;
    return ((a ^ b) & ~(letters >> 2)) == 0;
}

/* Returns whether the texts are equal except for the case of ASCII letters. Fastest when they are
 * identical. */
static inline bool http1_same(const uint8_t *bytes, size_t length, const char *word,
                              size_t word_length) {
    if (length != word_length) return false;
    if (memcmp(bytes, word, word_length) == 0) return true;
    size_t at = 0;
    for (; at + 8 <= word_length; at += 8)
        if (!http1_same_eight(bytes + at, word + at)) return false;
    for (; at < word_length; at++)
        if (http1_lower(bytes[at]) != http1_lower((uint8_t)word[at])) return false;
    return true;
}

#define HTTP1_SAME(bytes, length, literal) http1_same(bytes, length, literal, sizeof(literal) - 1)

/* Returns a mask with the high bit of each byte that is below 0x20 or 0x7F. The lowest set bit is
 * always right; the bits above it may be wrong. */
static inline uint64_t http1_controls(uint64_t eight) {
    const uint64_t ones = UINT64_MAX / 255, highs = ones * 0x80;
    uint64_t deleted = eight ^ (ones * 0x7F);
    return (((eight - ones * 0x20) & ~eight) | ((deleted - ones) & ~deleted)) & highs;
}

/* Returns the first byte that is not text, or `end`. Scans eight bytes at a time up to the first
 * control character (a tab is one). */
static inline const uint8_t *http1_skip_text(const uint8_t *at, const uint8_t *end) {
    for (uint64_t eight; end - at >= 8; at += 8) {
        memcpy(&eight, at, sizeof(eight));
        uint64_t controls = http1_controls(eight);
        if (controls == 0) continue;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        at += __builtin_ctzll(controls) / 8;
#endif
        break;
    }
    while (at < end && http1_is(*at, CLASS_TEXT)) at++;
    return at;
}

#endif
