#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_TOKENS_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_TOKENS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Which bytes the tokens of JSON (RFC 8259) consist of. */

static inline bool json_is_blank(uint8_t c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The top bit of each of eight bytes that is a quote, a backslash or a control character; behind
 * the first such byte, of others too. */
static inline uint64_t json_specials(uint64_t eight) {
    const uint64_t ones = UINT64_MAX / 255, tops = ones * 128;
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
            ((eight - ones * 0x20) & ~eight)) &
           tops;
}

#if defined(__SSE2__)
/* A bit for each of sixteen bytes that is a quote, a backslash or a control character. */
static inline unsigned json_specials_of_16(const uint8_t *p) {
    __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8('\\'));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(sixteen, _mm_set1_epi8(0x1F)), sixteen);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control));
}
#endif

/* The first byte from `p` on that is a quote, a backslash or a control character; `end`: none is.
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

/* Whether the character may be behind a backslash; u, which has digits behind it, is not told. */
static inline bool json_is_escape(uint8_t c) {
    return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
}

static inline bool json_is_hex(uint8_t c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* What was seen last of a number. */
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

static inline bool json_is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

/* What the number is when this byte is behind it; 0 when it cannot be there. */
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

static inline bool json_number_is_complete(int number) {
    return number == JSON_ZERO || number == JSON_INTEGER || number == JSON_FRACTION ||
           number == JSON_EXPONENT_DIGITS;
}

/* The literal that begins so; NULL: none does. */
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
