#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_TOKENS_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_TOKENS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The bytes that JSON tokens consist of (RFC 8259). */

/* Returns whether the byte is white space. */
static inline bool json_is_blank(uint8_t c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Returns a mask with the top bit of each byte that is a quote, a backslash or a control character.
 * After the first such byte, the top bits of other bytes may be set too. */
static inline uint64_t json_specials(uint64_t eight) {
    const uint64_t ones = UINT64_MAX / 255, tops = ones * 128;
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
            ((eight - ones * 0x20) & ~eight)) &
           tops;
}

#if defined(__SSE2__)
/* Returns a mask with one bit for each of the sixteen bytes, set for a quote, a backslash or a
 * control character. */
static inline unsigned json_specials_of_16(const uint8_t *p) {
    __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('\\'));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(sixteen, _mm_set1_epi8(0x1F)), sixteen);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control));
}
#endif

/* Returns the first byte from `p` on that is a quote, a backslash or a control character, or `end`.
 */
static inline const uint8_t *json_skip_plain(const uint8_t *p, const uint8_t *end) {
#if defined(__SSE2__)
    for (; end - p >= 16; p += 16) {
        unsigned specials = json_specials_of_16(p);
        if (specials != 0) return p + __builtin_ctz(specials);
    }
#endif
    for (uint64_t eight; end - p >= 8; p += 8) {
        memcpy(&eight, p, 8);
        uint64_t found = json_specials(eight);
        if (found == 0) continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return p + __builtin_ctzll(found) / 8;
#else
        break;
#endif
    }
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) p++;
    return p;
}

/* Returns whether the character may follow a backslash. False for u, which the caller must handle
 * because of the digits after it. */
static inline bool json_is_escape(uint8_t c) {
    return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
}

/* Returns whether the byte is a hexadecimal digit. */
static inline bool json_is_hex(uint8_t c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* The state of a number: the part that was scanned last. */
enum {
    JSON_MINUS = 1,
    JSON_ZERO,
    JSON_INTEGER,
    JSON_POINT,
    JSON_FRACTION,
    JSON_EXPONENT,
    JSON_EXPONENT_SIGN,
    JSON_EXPONENT_DIGITS
};

/* Returns whether the byte is a decimal digit. */
static inline bool json_is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

/* Returns the number's state after the byte `c`; 0 when `c` cannot follow. */
static inline int json_number_after(int number, uint8_t c) {
    bool digit = json_is_digit(c), exponent = (c | 32) == 'e';
    switch (number) {
    case JSON_MINUS: return c == '0' ? JSON_ZERO : digit ? JSON_INTEGER : 0;
    case JSON_ZERO: return c == '.' ? JSON_POINT : exponent ? JSON_EXPONENT : 0;
    case JSON_INTEGER:
        return digit ? JSON_INTEGER : c == '.' ? JSON_POINT : exponent ? JSON_EXPONENT : 0;
    case JSON_POINT: return digit ? JSON_FRACTION : 0;
    case JSON_FRACTION: return digit ? JSON_FRACTION : exponent ? JSON_EXPONENT : 0;
    case JSON_EXPONENT:
        return digit ? JSON_EXPONENT_DIGITS : c == '+' || c == '-' ? JSON_EXPONENT_SIGN : 0;
    default: return digit ? JSON_EXPONENT_DIGITS : 0;
    }
}

/* Returns whether a number may end in this state. */
static inline bool json_number_is_complete(int number) {
    return number == JSON_ZERO || number == JSON_INTEGER || number == JSON_FRACTION ||
           number == JSON_EXPONENT_DIGITS;
}

/* Returns the literal that begins with `c`; NULL: none does. */
static inline const char *json_literal_of(uint8_t c, bool nan) {
    switch (c) {
    case 't': return "true";
    case 'f': return "false";
    case 'n': return "null";
    case 'N': return nan ? "NaN" : NULL;
    case 'I': return nan ? "Infinity" : NULL;
    case '-': return "-Infinity";
    default: return NULL;
    }
}

#endif
