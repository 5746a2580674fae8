#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_STRING_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `*raw` in a valid string of JSON, and moves behind it; returns its bytes
 * in UTF-8, 4 at most. A surrogate without its other half is encoded as it stands. */
size_t json_next_character(const uint8_t **raw, const uint8_t *end, uint8_t *out);

/* The quote that ends the string whose first byte is at `p`; NULL when it is not there, or the
 * string is not valid. `escaped` is told whether it has escapes. */
const uint8_t *json_string_end(const uint8_t *p, const uint8_t *end, bool *escaped);

/* Decodes a valid string into `out`, which has room for as many bytes as `raw` has, and writes how
 * many these are. False when half of a surrogate pair is in it, which is no character. */
bool json_string_decode(const uint8_t *raw, size_t count, uint8_t *out, size_t *length);

#endif
