#include "protocol/json/json_path.h"

#include <stdlib.h>
#include <string.h>

static json_segment *add(json_path *path) {
    json_segment *grown = realloc(path->segments, (path->length + 1) * sizeof(*grown));
    if (grown == NULL) return NULL;
    path->segments = grown;
    json_segment *segment = &grown[path->length];
    memset(segment, 0, sizeof(*segment));
    segment->index = JSON_NO_INDEX;
    return segment;
}

/* Leading zeros make another name, and 20 digits more elements than there can be. */
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

static uint32_t hex(const uint8_t *digits) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = digits[i];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
}

/* A surrogate without its other half is encoded as it stands, and equals no name. */
static size_t encode_utf8(uint32_t code, uint8_t *out) {
    if (code < 0x80) return out[0] = (uint8_t)code, 1;
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (uint8_t)(0x80 | (code & 0x3F));
    out[0] = (uint8_t)(heads[length] | code);
    return length;
}

/* Decodes the character at `*raw` and moves behind it; returns its bytes in UTF-8. */
static size_t next_character(const uint8_t **raw, const uint8_t *end, uint8_t *out) {
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const uint8_t *p = *raw;
    if (*p != '\\' || end - p < 2) return out[0] = *p, *raw = p + 1, 1;
    if (p[1] != 'u' || end - p < 6) {
        const char *letter = strchr(letters, p[1]);
        out[0] = p[1] != '\0' && letter != NULL ? (uint8_t)meanings[letter - letters] : p[1];
        return *raw = p + 2, 1;
    }
    uint32_t code = hex(p + 2);
    *raw = p + 6;
    if (code >= 0xD800 && code < 0xDC00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
        uint32_t low = hex(p + 8);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            *raw = p + 12;
        }
    }
    return encode_utf8(code, out);
}

bool json_segment_is(const json_segment *segment, const uint8_t *raw, size_t length) {
    const uint8_t *end = raw + length;
    if (length == segment->length && memchr(raw, '\\', length) == NULL)
        return memcmp(raw, segment->name, length) == 0;
    size_t at = 0;
    while (raw < end) {
        uint8_t character[4];
        size_t count = next_character(&raw, end, character);
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
