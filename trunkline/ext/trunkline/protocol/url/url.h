#ifndef TRUNKLINE_PROTOCOL_URL_URL_H
#define TRUNKLINE_PROTOCOL_URL_URL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Recognizes URLs and references that can be sent without change (RFC 3986), so that only the
 * others need a full parser; and encodes forms.
 */

/* Returns whether `text` begins with http:// or https://, followed by at least one byte. */
bool url_is_absolute(const char *text, size_t length);

/* Returns the length of "https://authority" at the beginning of an absolute URL. The authority is
 * not validated: the caller looks it up among validated ones. */
size_t url_origin_length(const char *text, size_t length);

/* Returns whether `text`, a path and query or empty, can be sent without change. */
bool url_sendable(const char *text, size_t length);

/* Returns whether the reference can be resolved by its first byte alone ("/", "?" or another).
 * False for references with dot segments, fragments or bytes to be percent-encoded, and for those
 * that are empty, begin with "//" or have a colon in their first segment. */
bool url_reference_usual(const char *text, size_t length);

/* Returns how many bytes form_put writes for `bytes`. */
size_t form_length(const char *bytes, size_t length);

/* Writes `bytes` form-encoded (a space becomes "+") to `out`, which has room for form_length bytes.
 * Returns the end of the output. */
char *form_put(char *out, const char *bytes, size_t length);

#endif
