#ifndef TRUNKLINE_XML_NUMBER_H
#define TRUNKLINE_XML_NUMBER_H

#include <ruby.h>

/* Enough for the digits of any long and of any Float that number_digits() takes. */
enum { NUMBER_SIZE = 24 };

/* Writes what `number.to_s` is, and returns its length; 0 when that is for Ruby to say: no Fixnum
 * and no ordinary Float, or somebody has redefined to_s. Allocates nothing. */
size_t number_digits(VALUE number, char digits[NUMBER_SIZE]);

#endif
