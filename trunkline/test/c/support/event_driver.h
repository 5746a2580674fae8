#ifndef TRUNKLINE_TEST_EVENT_DRIVER_H
#define TRUNKLINE_TEST_EVENT_DRIVER_H

#include "protocol/event_stream.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes an event as "type|data|id|retry\n". */
static inline void write_event(buffer *out, const event_stream *s, const server_event *e) {
    char number[32];
    int digits = snprintf(number, sizeof(number), "|%" PRId64 "\n", e->retry);
    bool written = buffer_append(out, e->type.bytes, e->type.length) &&
                   buffer_append(out, "|", 1) && buffer_append(out, e->data.bytes, e->data.length);
    written = written && buffer_append(out, "|", 1) &&
              buffer_append(out, s->id.bytes, buffer_length(&s->id)) &&
              buffer_append(out, number, (size_t)digits);
    if (!written) abort();
}

/* Feeds `bytes` in pieces, of which the first has `first` bytes. Each piece is in memory of exactly
 * its size and freed before the next, so that the sanitizers find reads beyond it. Appends the
 * events to `out`. */
static inline event_stream_result read_events(buffer *out, event_stream *s, const void *bytes,
                                              size_t length, size_t first, size_t piece) {
    const uint8_t *from = bytes;
    event_stream_result result = EVENT_STREAM_MORE;
    size_t given = first;
    for (size_t at = 0; at < length && result == EVENT_STREAM_MORE; at += given, given = piece) {
        if (given > length - at) given = length - at;
        uint8_t *chunk = malloc(given > 0 ? given : 1);
        if (chunk == NULL) abort();
        memcpy(chunk, from + at, given);
        event_stream_feed(s, chunk, given);
        server_event event;
        while ((result = event_stream_next(s, &event)) == EVENT_STREAM_EVENT)
            write_event(out, s, &event);
        free(chunk);
    }
    return result;
}

#endif
