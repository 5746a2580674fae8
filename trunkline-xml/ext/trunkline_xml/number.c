#include "number.h"
#include <math.h>
#include <string.h>

/* Decimals of at most 15 digits survive the conversion to a double and back. So no two of them are
 * the same double, and the one that equals the number is what Float#to_s prints. */
static const double exact_limit = 1e15;
static const double powers[] = {1, 10, 100, 1000, 10000};

static size_t put_unsigned(unsigned long number, char *to) {
    char reversed[NUMBER_SIZE];
    size_t size = 0;
    do {
        reversed[size++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (size_t i = 0; i < size; i++) to[i] = reversed[size - 1 - i];
    return size;
}

static size_t put_integer(long number, char *to) {
    if (number >= 0) return put_unsigned((unsigned long)number, to);
    *to = '-';
    return 1 + put_unsigned(0UL - (unsigned long)number, to + 1);
}

/* Writes doubles with up to four decimals, such as prices and measures. Returns 0 for others, which
 * need Ruby's algorithm. */
static size_t put_float(double number, char *to) {
    size_t size = 0;
    if (signbit(number)) {
        to[size++] = '-';
        number = -number;
    }
    if (!(number < exact_limit) || (number < 0.001 && number != 0)) return 0;

    for (size_t decimals = 0; decimals < sizeof(powers) / sizeof(powers[0]); decimals++) {
        double scaled = nearbyint(number * powers[decimals]);
        if (scaled >= exact_limit) return 0;
        if (scaled / powers[decimals] != number) continue;

        unsigned long digits = (unsigned long)scaled, unit = (unsigned long)powers[decimals];
        size += put_unsigned(digits / unit, to + size);
        to[size++] = '.';
        size_t places = decimals ? decimals : 1;
        unsigned long fraction = digits % unit;
        for (size_t place = places; place > 0; place--) {
            to[size + place - 1] = (char)('0' + fraction % 10);
            fraction /= 10;
        }
        return size + places;
    }
    return 0;
}

size_t number_digits(VALUE number, char digits[NUMBER_SIZE]) {
    static ID id_to_s;
    if (!id_to_s) id_to_s = rb_intern("to_s");
    if (RB_FIXNUM_P(number)) {
        if (!rb_method_basic_definition_p(rb_cInteger, id_to_s)) return 0;
        return put_integer(FIX2LONG(number), digits);
    }
    if (!RB_FLOAT_TYPE_P(number) || !rb_method_basic_definition_p(rb_cFloat, id_to_s)) return 0;
    return put_float(RFLOAT_VALUE(number), digits);
}
