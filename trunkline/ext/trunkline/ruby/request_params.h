#ifndef TRUNKLINE_RUBY_REQUEST_PARAMS_H
#define TRUNKLINE_RUBY_REQUEST_PARAMS_H

#include "engine.h"

/* params: of usual kinds: a Hash whose names are Strings and Symbols, and whose values are these,
 * Integers, true, false or nil. Everything else is Trunkline::Query's to encode. */

#define PARAMS_MOST 24
#define DIGITS 24 /* room for a 64-bit number as text */

/* Must lie on the stack: the collector finds the values there. */
typedef struct {
    VALUE names[PARAMS_MOST], values[PARAMS_MOST]; /* by name */
    uint32_t count;
} request_params;

/* Takes a Hash in, in the order of its names. False: it is not of a usual kind. */
bool params_take(request_params *p, VALUE hash);

/* How many bytes they are, encoded. */
size_t params_length(const request_params *p);

/* Writes them to `out`, which has params_length bytes. */
void params_put(char *out, const request_params *p);

/* A String, Symbol or Integer of 64 bits as text, for which an Integer takes room in digits[24].
 * False: it is none. The text is valid until something allocates. */
bool text_of_scalar(VALUE value, char *digits, const char **text, size_t *length);

#endif
