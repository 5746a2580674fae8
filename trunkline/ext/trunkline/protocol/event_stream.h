#ifndef TRUNKLINE_PROTOCOL_EVENT_STREAM_H
#define TRUNKLINE_PROTOCOL_EVENT_STREAM_H

#include "protocol/buffer.h"

/*
 * Parses server-sent events (WHATWG HTML 9.2.6) in place: a text points into the bytes passed to
 * event_stream_feed, or into memory of the parser when it spans lines or feeds. Texts are not
 * decoded: invalid UTF-8 is passed on unchanged.
 */

typedef struct {
    const uint8_t *bytes;
    size_t length;
} event_text;

typedef struct {
    event_text type; /* empty: "message" */
    event_text data;
    int64_t retry; /* milliseconds, from this event's retry field; -1: none */
} server_event;

typedef enum {
    EVENT_STREAM_EVENT,
    EVENT_STREAM_MORE,      /* all bytes fed have been parsed */
    EVENT_STREAM_TOO_LARGE, /* every later call returns this too */
    EVENT_STREAM_NO_MEMORY, /* every later call returns this too */
} event_stream_result;

/* A text, and the buffer that it is copied to when the bytes it points into become invalid. */
typedef struct {
    event_text text;
    buffer own;
} event_field;

typedef struct {
    size_t limit;
    const uint8_t *at, *end;   /* the bytes fed but not parsed; not owned */
    const uint8_t *line_feed;  /* the first line feed from `at` on, or `end`; NULL: not searched */
    buffer line;               /* owned; the beginning of a line that goes on in the next feed */
    size_t size;               /* bytes of the event's lines so far, without comments */
    unsigned mark;             /* bytes of the byte order mark skipped so far; 3: check is done */
    bool after_cr;             /* a line feed now belongs to the previous line's end */
    bool in_comment;           /* the line that goes on in the next feed is a comment */
    event_stream_result state; /* TOO_LARGE and NO_MEMORY are final */

    event_field data, type;
    bool has_data, has_next_id;
    int64_t event_retry;
    buffer next_id; /* owned; becomes `id` when the event ends */

    buffer id;       /* owned; the last event ID of the stream */
    bool has_id;     /* `id` was set */
    bool id_changed; /* `id` was set since the caller cleared this flag */
    int64_t retry;   /* milliseconds, from the stream's latest retry field; -1: none */
} event_stream;

/* Begins a stream. limit: bytes of the lines of one event, without comments and line ends. */
void event_stream_begin(event_stream *s, size_t limit);

/* Passes the next bytes, which must stay valid until event_stream_next returns EVENT_STREAM_MORE.
 * Must not be called again before that. */
void event_stream_feed(event_stream *s, const void *bytes, size_t length);

/* Parses up to the end of the next event. `out` is valid until the next call. An incomplete event
 * at the end of a stream is dropped; no call is needed for that. */
event_stream_result event_stream_next(event_stream *s, server_event *out);

/* Sets the last event ID, as if an earlier event had set it. Returns false without memory. */
bool event_stream_set_id(event_stream *s, const void *bytes, size_t length);

/* Frees the parser's buffers, not `s` itself. */
void event_stream_free(event_stream *s);

#endif
