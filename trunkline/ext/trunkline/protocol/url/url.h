#ifndef TRUNKLINE_PROTOCOL_URL_URL_H
#define TRUNKLINE_PROTOCOL_URL_URL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Recognizes URLs and references that can be sent without change (RFC 3986), so that others alone
 * need a full parser; and encodes forms.
 */

typedef enum {
    URL_UNUSUAL,  /* it may be valid, but not as it stands */
    URL_ABSOLUTE, /* http://authority or https://authority, then a path or query or nothing */
    URL_ROOTED,   /* a path from the root: "/users?page=2" */
    URL_RELATIVE  /* a path below another, or a query alone: "users", "?page=2" */
} url_form;

/* Tells which form `text` has and where it divides. The authority is not checked: the caller looks
 * it up among those that were. Dot segments, fragments, bytes to be percent-encoded, and references
 * that begin with "//" or have a colon in their first segment make it unusual.
 *
 * text, length: any bytes. *origin: set to the length of "https://authority", 0 in a reference;
 * of no meaning when the form is URL_UNUSUAL. */
url_form url_scan(const char *text, size_t length, size_t *origin);

/* How many bytes form_put writes for these. */
size_t form_length(const char *bytes, size_t length);

/* Writes them so (a space becomes "+") to `out`, which has form_length bytes, and returns the end.
 */
char *form_put(char *out, const char *bytes, size_t length);

#endif
