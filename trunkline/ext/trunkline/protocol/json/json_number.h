#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_NUMBER_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number of JSON: `digits` times ten to the power of `exponent`. */
typedef struct {
    size_t length; /* bytes */
    bool negative;
    bool is_float; /* it has a fraction or an exponent */
    bool exact;    /* it has few enough digits, and so small an exponent, for the two below */
    uint64_t digits;
    int exponent;
} json_number;

/* Reads the number that begins at `p`; false when none does. Whether more of it may come behind
 * `end` is the caller's to know. */
bool json_number_read(json_number *number, const uint8_t *p, const uint8_t *end);

/* The double that is nearest to it, of two the one that is even (as strtod rounds). False when this
 * takes more digits than are computed with here. */
bool json_number_double(const json_number *number, double *value);

#endif
