#ifndef TRUNKLINE_XML_ESCAPE_H
#define TRUNKLINE_XML_ESCAPE_H

#include "buffer.h"
#include <stdbool.h>

/* ESCAPE_ATTRIBUTE also escapes quotation marks and line ends. */
typedef enum { ESCAPE_TEXT, ESCAPE_ATTRIBUTE } escape_kind;

/* Puts `size` bytes of valid UTF-8, escaped: & < > become references, C1 controls become the
 * characters that Windows-1252 has for these bytes, and characters that XML 1.0 forbids become
 * U+FFFD. `bytes` must not be in out's String. */
void escape_put(buffer *out, const char *bytes, size_t size, escape_kind kind);

/* Returns whether the String is readable: ASCII or valid UTF-8, as escape_put_string() and
 * escape_string() require. */
bool escape_readable_p(VALUE string);

/* Returns the text as a readable String; the object itself if it is one. Bytes that are invalid as
 * UTF-8 are read as Windows-1252. May run Ruby code; raises NoMethodError if the object is not a
 * String, and EncodingError. */
VALUE escape_readable(VALUE object);

/* Puts a readable String, which must not be out's own. */
void escape_put_string(buffer *out, VALUE string, escape_kind kind);

/* Returns a readable String, escaped, as a new String in UTF-8. */
VALUE escape_string(VALUE string, escape_kind kind);

/* Defines Trunkline::XML::Escape.text. */
void escape_init(VALUE module);

#endif
