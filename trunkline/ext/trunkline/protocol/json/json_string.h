#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_STRING_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `*raw` in a valid JSON string into `out` as UTF-8, and moves *raw past
 * it. Returns the number of bytes, 4 at most. A lone surrogate is encoded without change. */
size_t json_next_character(const uint8_t **raw, const uint8_t *end, uint8_t *out);

/* Returns the closing quote of the string whose first byte is at `p`; NULL when the quote is
 * missing or the string is invalid. Stores in *escaped whether the string has escapes. */
const uint8_t *json_string_end(const uint8_t *p, const uint8_t *end, bool *escaped);

/* Decodes a valid string into `out`, which must have room for `count` bytes, and stores the length
 * in *length. Returns false when the string has a lone surrogate, which is not a character. */
bool json_string_decode(const uint8_t *raw, size_t count, uint8_t *out, size_t *length);

#endif
