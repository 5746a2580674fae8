#ifndef TRUNKLINE_RUBY_REQUEST_PARAMS_H
#define TRUNKLINE_RUBY_REQUEST_PARAMS_H

#include "engine.h"

/* Encodes usual params: a Hash whose names are Strings and Symbols, and whose values are Strings,
 * Symbols, Integers, true, false or nil. Trunkline::Query encodes all others. */

#define PARAMS_MOST 24
#define DIGITS 24 /* room for a 64-bit number as text */

/* Must be on the stack, where the GC finds the values. */
typedef struct {
    VALUE names[PARAMS_MOST], values[PARAMS_MOST]; /* sorted by name */
    uint32_t count;
} request_params;

/* Stores two Hashes, the first of which may be nil, as one that is sorted by name: values of the
 * second replace those of the first. Returns false when one is not of a usual kind. */
bool params_take(request_params *p, VALUE own, VALUE given);

/* Returns the number of bytes of the encoded params. */
size_t params_length(const request_params *p);

/* Writes the encoded params to `out`, which must have room for params_length bytes. */
void params_put(char *out, const request_params *p);

/* Stores a String, Symbol or Integer of 64 bits as text in *text and *length; the text of an
 * Integer is in digits[24]. Returns false for other values. The text is valid until something
 * allocates. */
bool text_of_scalar(VALUE value, char *digits, const char **text, size_t *length);

#endif
