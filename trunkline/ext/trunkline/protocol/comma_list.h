#ifndef TRUNKLINE_PROTOCOL_COMMA_LIST_H
#define TRUNKLINE_PROTOCOL_COMMA_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* An iterator over a comma-separated list (RFC 9110 5.6.1). Initialise it with {.rest = value, .end
 * = value + length}; all memory is borrowed. */
typedef struct {
    const char *rest, *end; /* the unread part of the list; rest is NULL after the last element */
    const char *element;    /* the current element, without the spaces and tabs around it */
    size_t length;          /* of `element`, which may be empty */
} comma_list;

/* Moves on to the next element, which may be empty. Returns false at the end of the list. */
static inline bool comma_list_next(comma_list *l) {
    if (l->rest == NULL) return false;
    const char *start = l->rest, *comma = memchr(start, ',', (size_t)(l->end - start));
    const char *stop = comma != NULL ? comma : l->end;
    l->rest = comma != NULL ? comma + 1 : NULL;
    while (start < stop && (*start == ' ' || *start == '\t')) start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t')) stop--;
    l->element = start;
    l->length = (size_t)(stop - start);
    return true;
}

#endif
