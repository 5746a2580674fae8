#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_PATH_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Selects the wanted values of a document, with one segment for each level below its root. A zeroed
 * struct selects the root itself.
 */

#define JSON_NO_INDEX UINT64_MAX

typedef struct {
    uint8_t *name; /* owned; decoded, not NUL-terminated */
    size_t length;
    uint64_t index; /* `name` as the index of an element; JSON_NO_INDEX: it is no number */
    bool any;       /* matches every element and every member */
} json_segment;

typedef struct {
    json_segment *segments; /* owned */
    size_t length;
} json_path;

/* Adds a segment that matches the member `name`, and also the element with that index if `name` is
 * a decimal number. Copies `name`. Returns false without memory. */
bool json_path_add(json_path *path, const void *name, size_t length);

/* Adds a segment that matches every element and member. Returns false without memory. */
bool json_path_add_any(json_path *path);

/* Returns whether `raw`, a valid JSON string without its quotes, is the segment's name. The segment
 * must have a name. */
bool json_segment_is(const json_segment *segment, const uint8_t *raw, size_t length);

/* Frees what the path owns, but not the struct. */
void json_path_free(json_path *path);

#endif
