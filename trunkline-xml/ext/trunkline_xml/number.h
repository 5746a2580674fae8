#ifndef TRUNKLINE_XML_NUMBER_H
#define TRUNKLINE_XML_NUMBER_H

#include <ruby.h>

/* Room for the digits of any long, and of any Float that number_digits() supports. */
enum { NUMBER_SIZE = 24 };

/* Writes the text of `number.to_s`, and returns its length. Returns 0 when Ruby must be called: for
 * other objects than a Fixnum or an ordinary Float, and when to_s is redefined. Allocates nothing.
 */
size_t number_digits(VALUE number, char digits[NUMBER_SIZE]);

#endif
