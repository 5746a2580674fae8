#include "protocol/json/json_number.h"

#include <string.h>

#include "protocol/json/json_tokens.h"

#define MOST_DIGITS 19   /* any number of 19 digits is less than 2^64 */
#define MOST_EXPONENT 27 /* of the greatest power of five that is less than 2^63 */
#define ANY_EXPONENT 1000000

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Returns whether each of the eight bytes is a digit. */
static inline bool are_digits(uint64_t eight) {
    const uint64_t ones = UINT64_MAX / 255;
    return (((eight ^ ones * '0') | ((eight + ones * 6) ^ ones * '0')) & ones * 0xF0) == 0;
}

/* Converts eight digits to a number: first pairs of digits, then groups of four, then all. */
static inline uint64_t number_of(uint64_t eight) {
    eight = (eight & UINT64_C(0x0F0F0F0F0F0F0F0F)) * 2561 >> 8;
    eight = (eight & UINT64_C(0x00FF00FF00FF00FF)) * 6553601 >> 16;
    return (eight & UINT64_C(0x0000FFFF0000FFFF)) * UINT64_C(42949672960001) >> 32;
}
#endif

/* Adds the digits from `p` on to n->digits, and returns their end. A number of more than
 * MOST_DIGITS digits overflows; its `exact` is false then. */
static inline const uint8_t *add_digits(json_number *n, const uint8_t *p, const uint8_t *end) {
    uint64_t digits = n->digits;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (uint64_t eight; end - p >= 8; p += 8) {
        memcpy(&eight, p, 8);
        if (!are_digits(eight)) break;
        digits = digits * 100000000 + number_of(eight);
    }
#endif
    for (; p < end && json_is_digit(*p); p++) digits = digits * 10 + (*p - '0');
    n->digits = digits;
    return p;
}

static inline const uint8_t *skip_zeros(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p == '0') p++;
    return p;
}

/* Reads the exponent after the e and returns its end; NULL: it is not valid. */
static const uint8_t *read_exponent(json_number *n, const uint8_t *p, const uint8_t *end) {
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const uint8_t *first = p;
    int exponent = 0;
    for (; p < end && json_is_digit(*p); p++)
        if (exponent < ANY_EXPONENT) exponent = exponent * 10 + (*p - '0');
    if (p == first) return NULL;
    n->exponent += negative ? -exponent : exponent;
    return p;
}

/* Reads the digits after the point and returns their end; NULL: they are not a valid fraction. Adds
 * their number to *count, without leading zeros when no other digit precedes them. */
static const uint8_t *read_fraction(json_number *n, const uint8_t *p, const uint8_t *end,
                                    size_t *count) {
    const uint8_t *first = *count == 0 ? skip_zeros(p, end) : p;
    const uint8_t *stop = add_digits(n, first, end);
    if (stop == p || stop - p > ANY_EXPONENT) return NULL;
    *count += (size_t)(stop - first);
    n->exponent = -(int)(stop - p);
    return stop;
}

bool json_number_read(json_number *n, const uint8_t *p, const uint8_t *end) {
    const uint8_t *begin = p;
    *n = (json_number){.negative = p < end && *p == '-'};
    if (n->negative) p++;
    const uint8_t *first = p;
    p = add_digits(n, p, end);
    bool zero = p > first && *first == '0';
    if (p == first || (zero && p - first > 1)) return false;
    size_t count = zero ? 0 : (size_t)(p - first);
    if (p < end && *p == '.') {
        p = read_fraction(n, p + 1, end, &count);
        n->is_float = true;
    }
    if (p != NULL && p < end && (*p | 32) == 'e') {
        p = read_exponent(n, p + 1, end);
        n->is_float = true;
    }
    if (p == NULL) return false;
    n->length = (size_t)(p - begin);
    n->exact =
        count <= MOST_DIGITS && n->exponent >= -MOST_EXPONENT && n->exponent <= MOST_EXPONENT;
    return true;
}

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

static uint64_t power_of_five(int exponent) {
    static const uint64_t powers[] = {1,
                                      5,
                                      25,
                                      125,
                                      625,
                                      3125,
                                      15625,
                                      78125,
                                      390625,
                                      1953125,
                                      9765625,
                                      48828125,
                                      244140625,
                                      1220703125,
                                      6103515625,
                                      30517578125,
                                      152587890625,
                                      762939453125,
                                      3814697265625,
                                      19073486328125,
                                      95367431640625,
                                      476837158203125,
                                      2384185791015625,
                                      11920928955078125,
                                      59604644775390625,
                                      298023223876953125,
                                      1490116119384765625,
                                      7450580596923828125};
    return powers[exponent];
}

static int leading_zeros(wide bits) {
    uint64_t high = (uint64_t)(bits >> 64);
    return high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)bits);
}

static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof(power));
    return power;
}

/* Returns `bits` * 2^exponent, rounded once. `inexact`: the exact value is slightly greater. */
static double rounded(wide bits, int exponent, bool inexact) {
    int dropped = 128 - leading_zeros(bits) - 53;
    if (dropped <= 0) return (double)(uint64_t)bits * power_of_two(exponent);
    uint64_t kept = (uint64_t)(bits >> dropped);
    wide rest = bits & (((wide)1 << dropped) - 1), half = (wide)1 << (dropped - 1);
    if (rest > half || (rest == half && (inexact || (kept & 1) != 0))) kept++;
    return (double)kept * power_of_two(dropped + exponent);
}

/* digits / 5^(-exponent) * 2^exponent */
static double quotient_of(uint64_t digits, int exponent) {
    uint64_t divisor = power_of_five(-exponent);
    if ((digits | divisor) >> 53 == 0)
        return (double)digits / (double)divisor * power_of_two(exponent);
    /* The shift gives the quotient more bits than the 53 that a double keeps. */
    int shift = leading_zeros(digits) - 1;
    wide dividend = (wide)digits << shift, quotient = dividend / divisor;
    return rounded(quotient, exponent - shift, quotient * divisor != dividend);
}

bool json_number_double(const json_number *n, double *value) {
    if (!n->exact) return false;
    double size = 0;
    if (n->digits != 0 && n->exponent < 0)
        size = quotient_of(n->digits, n->exponent);
    else if (n->digits != 0)
        size = rounded((wide)n->digits * power_of_five(n->exponent), n->exponent, false);
    *value = n->negative ? -size : size;
    return true;
}

#else

bool json_number_double(const json_number *n, double *value) {
    return false;
}

#endif
