#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_NUMBER_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A JSON number: `digits` times ten to the power of `exponent`. */
typedef struct {
    size_t length; /* bytes */
    bool negative;
    bool is_float; /* it has a fraction or an exponent */
    bool exact;    /* digits and exponent are within what json_number_double can convert */
    uint64_t digits;
    int exponent;
} json_number;

/* Reads the number that begins at `p`. Returns false when there is no valid number. The caller must
 * know that the number does not go on after `end`. */
bool json_number_read(json_number *number, const uint8_t *p, const uint8_t *end);

/* Stores the nearest double, on a tie the even one (as strtod rounds), in *value. Returns false
 * when the number is not `exact`, or the compiler has no 128-bit integers. */
bool json_number_double(const json_number *number, double *value);

#endif
