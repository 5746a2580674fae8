#ifndef TRUNKLINE_XML_ESCAPE_H
#define TRUNKLINE_XML_ESCAPE_H

#include "buffer.h"
#include <stdbool.h>

/* In attribute values quotation marks and line ends are escaped too. */
typedef enum { ESCAPE_TEXT, ESCAPE_ATTRIBUTE } escape_kind;

/* Puts `size` bytes of valid UTF-8 escaped: & < >, the C1 controls that Windows-1252 gives a
 * character, and U+FFFD for what XML 1.0 has no place for. `bytes` must not lie in out's String. */
void escape_put(buffer *out, const char *bytes, size_t size, escape_kind kind);

/* Whether the String is ASCII or valid UTF-8, as escape_put_string() and escape_string() want it.
 */
bool escape_readable_p(VALUE string);

/* The same text as such a String: itself where it is one. What is not what its encoding says is
 * read as Windows-1252. May run Ruby code; raises NoMethodError for what is no String, and
 * EncodingError. */
VALUE escape_readable(VALUE object);

/* Puts a readable String, which must not be out's own. */
void escape_put_string(buffer *out, VALUE string, escape_kind kind);

/* A readable String escaped into a new String in UTF-8. */
VALUE escape_string(VALUE string, escape_kind kind);

/* Defines Trunkline::XML::Escape.text. */
void escape_init(VALUE module);

#endif
