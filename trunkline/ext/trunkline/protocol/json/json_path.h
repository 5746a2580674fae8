#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_PATH_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which values of a document are wanted: one segment for each level below its root. A zeroed struct
 * is the path of the root itself.
 */

#define JSON_NO_INDEX UINT64_MAX

typedef struct {
    uint8_t *name; /* owned; decoded, not NUL-terminated */
    size_t length;
    uint64_t index; /* of the element that it names; JSON_NO_INDEX: none */
    bool any;       /* every element and every member */
} json_segment;

typedef struct {
    json_segment *segments; /* owned */
    size_t length;
} json_path;

/* Adds a segment that names a member, and the element with that index when `name` is a decimal
 * number. Copies `name`. False when there is no memory. */
bool json_path_add(json_path *path, const void *name, size_t length);

/* Adds a segment for every element and member. False when there is no memory. */
bool json_path_add_any(json_path *path);

/* Whether `raw`, a valid string of JSON without its quotes, is the name of the segment, which has
 * one. */
bool json_segment_is(const json_segment *segment, const uint8_t *raw, size_t length);

void json_path_free(json_path *path);

#endif
