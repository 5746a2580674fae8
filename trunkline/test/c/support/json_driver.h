#ifndef TRUNKLINE_TEST_JSON_DRIVER_H
#define TRUNKLINE_TEST_JSON_DRIVER_H

#include "protocol/json/json_scanner.h"

#include <stdio.h>
#include <string.h>

/* How a stream is divided into pieces. */
typedef struct {
    size_t first, then; /* bytes of the first piece, and of each later one */
} json_division;

/* Splits a path like each_json does; NULL is the empty path. Stops at a failed allocation. */
static inline json_path json_driver_path(const char *text) {
    json_path path = {0};
    if (text == NULL || *text == '\0') return path;
    for (const char *end = text; end != NULL; text = end + 1) {
        end = strchr(text, '.');
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        bool any = length == 1 && *text == '*';
        if (!(any ? json_path_add_any(&path) : json_path_add(&path, text, length))) break;
        if (end == NULL) break;
    }
    return path;
}

static inline void json_driver_location(buffer *output, const json_location *location) {
    char text[64];
    int length = snprintf(text, sizeof(text), " @%llu:%llu", (unsigned long long)location->byte,
                          (unsigned long long)location->line);
    buffer_append(output, text, (size_t)length);
    for (size_t i = 0; i < location->levels && location->positions[i] != JSON_UNKNOWN; i++) {
        length =
            location->positions[i] == JSON_MEMBER
                ? snprintf(text, sizeof(text), " m")
                : snprintf(text, sizeof(text), " %llu", (unsigned long long)location->positions[i]);
        buffer_append(output, text, (size_t)length);
    }
    buffer_append(output, "\n", 1);
}

/* Appends the scanner's results: a line for each value, "VALUE @byte:line positions", then "end" or
 * the message of the failure with its position. */
static inline json_failure json_drive(buffer *output, const json_options *options,
                                      const void *bytes, size_t length, json_division division) {
    json_scanner s;
    json_value value;
    json_location location;
    json_result result = JSON_MORE;
    if (!json_scanner_init(&s, options)) {
        json_scanner_free(&s);
        return JSON_OUT_OF_MEMORY;
    }
    bool fed = true;
    for (size_t at = 0, piece = division.first; fed && result != JSON_FAILED;
         piece = division.then) {
        if (at == length) json_scanner_finish(&s);
        size_t count = length - at < piece ? length - at : piece;
        fed = json_scanner_feed(&s, (const uint8_t *)bytes + at, count);
        at += count;
        while (fed && (result = json_scanner_next(&s, &value)) == JSON_VALUE) {
            buffer_append(output, value.bytes, value.length);
            json_driver_location(output, &value.location);
        }
        if (result == JSON_END) break;
    }
    json_failure failure = json_scanner_failure(&s, &location);
    const char *words = result == JSON_END ? "end" : json_failure_words(failure);
    buffer_append(output, words, strlen(words));
    if (result != JSON_END) json_driver_location(output, &location);
    json_scanner_free(&s);
    return fed ? failure : JSON_OUT_OF_MEMORY;
}

#endif
