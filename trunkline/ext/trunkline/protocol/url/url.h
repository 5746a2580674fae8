#ifndef TRUNKLINE_PROTOCOL_URL_URL_H
#define TRUNKLINE_PROTOCOL_URL_URL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Recognizes URLs and references that can be sent without change (RFC 3986), so that others alone
 * need a full parser; and encodes forms.
 */

/* Does `text` begin with http:// or https:// and more? */
bool url_is_absolute(const char *text, size_t length);

/* The length of "https://authority" at the beginning of an absolute URL. The authority is not
 * checked: the caller looks it up among those that were. */
size_t url_origin_length(const char *text, size_t length);

/* Can a path and a query, or nothing, be sent as they stand? */
bool url_sendable(const char *text, size_t length);

/* Is this a reference of which no more must be known than whether it begins with "/" or "?"? Dot
 * segments, fragments, bytes to be percent-encoded, and references that are empty, begin with "//"
 * or have a colon in their first segment are unusual. */
bool url_reference_usual(const char *text, size_t length);

/* How many bytes form_put writes for these. */
size_t form_length(const char *bytes, size_t length);

/* Writes them so (a space becomes "+") to `out`, which has form_length bytes, and returns the end.
 */
char *form_put(char *out, const char *bytes, size_t length);

#endif
