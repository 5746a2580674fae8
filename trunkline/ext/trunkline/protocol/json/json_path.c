#include "protocol/json/json_path.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/json/json_string.h"

static json_segment *add(json_path *path) {
    json_segment *grown = realloc(path->segments, (path->length + 1) * sizeof(*grown));
    if (grown == NULL) return NULL;
    path->segments = grown;
    json_segment *segment = &grown[path->length];
    memset(segment, 0, sizeof(*segment));
    segment->index = JSON_NO_INDEX;
    return segment;
}

/* Returns the array index that the name denotes. A name with leading zeros is not an index; a
 * number of 20 digits is greater than any index. */
static uint64_t index_of(const uint8_t *name, size_t length) {
    uint64_t index = 0;
    if (length == 0 || length > 19 || (length > 1 && name[0] == '0')) return JSON_NO_INDEX;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') return JSON_NO_INDEX;
        index = index * 10 + (name[i] - '0');
    }
    return index;
}

bool json_path_add(json_path *path, const void *name, size_t length) {
    json_segment *segment = add(path);
    if (segment == NULL) return false;
    segment->name = malloc(length > 0 ? length : 1);
    if (segment->name == NULL) return false;
    if (length > 0) memcpy(segment->name, name, length);
    segment->length = length;
    segment->index = index_of(segment->name, length);
    path->length++;
    return true;
}

bool json_path_add_any(json_path *path) {
    json_segment *segment = add(path);
    if (segment == NULL) return false;
    segment->any = true;
    path->length++;
    return true;
}

bool json_segment_is(const json_segment *segment, const uint8_t *raw, size_t length) {
    const uint8_t *end = raw + length;
    if (length == segment->length && memchr(raw, '\\', length) == NULL)
        return memcmp(raw, segment->name, length) == 0;
    size_t at = 0;
    while (raw < end) {
        uint8_t character[4];
        size_t count = json_next_character(&raw, end, character);
        if (count > segment->length - at || memcmp(segment->name + at, character, count) != 0)
            return false;
        at += count;
    }
    return at == segment->length;
}

void json_path_free(json_path *path) {
    for (size_t i = 0; i < path->length; i++) free(path->segments[i].name);
    free(path->segments);
    memset(path, 0, sizeof(*path));
}
