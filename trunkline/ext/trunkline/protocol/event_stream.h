#ifndef TRUNKLINE_PROTOCOL_EVENT_STREAM_H
#define TRUNKLINE_PROTOCOL_EVENT_STREAM_H

#include "protocol/buffer.h"

/*
 * Server-sent events (WHATWG HTML 9.2.6), parsed where they lie: a text points into the bytes that
 * were fed, or into memory of the parser when it spans lines or feeds. Texts are not decoded: bytes
 * that are no UTF-8 are as they came.
 */

typedef struct {
    const uint8_t *bytes;
    size_t length;
} event_text;

typedef struct {
    event_text type; /* empty: "message" */
    event_text data;
    int64_t retry; /* milliseconds that the event's own lines ask for; -1: none */
} server_event;

typedef enum {
    EVENT_STREAM_EVENT,
    EVENT_STREAM_MORE,      /* all that was fed has been parsed */
    EVENT_STREAM_TOO_LARGE, /* and from now on */
    EVENT_STREAM_NO_MEMORY, /* and from now on */
} event_stream_result;

/* A text that is kept when what it points into goes. */
typedef struct {
    event_text text;
    buffer own;
} event_field;

typedef struct {
    size_t limit;
    const uint8_t *at, *end;   /* what was fed and is not parsed; not owned */
    const uint8_t *line_feed;  /* the first at or behind `at`, or `end`; NULL: not searched for */
    buffer line;               /* owned; the beginning of a line that goes on in the next feed */
    size_t size;               /* bytes of the event's lines so far, without comments */
    unsigned mark;             /* bytes of the byte order mark so far; more than 3: no more of it */
    bool after_cr;             /* a line feed now belongs to the line before */
    bool in_comment;           /* the line that goes on in the next feed is a comment */
    event_stream_result state; /* TOO_LARGE and NO_MEMORY stay */

    event_field data, type;
    bool has_data, has_next_id;
    int64_t event_retry;
    buffer next_id; /* owned; the last event's id once the event has ended */

    buffer id;       /* owned; the last event ID of the stream */
    bool has_id;     /* an id was named */
    bool id_changed; /* since the caller cleared this */
    int64_t retry;   /* milliseconds, the last that were asked for; -1: none */
} event_stream;

/* Begins a stream. limit: bytes of the lines of one event, without comments and line ends. */
void event_stream_begin(event_stream *s, size_t limit);

/* Gives the bytes that come next: to be valid until event_stream_next returns EVENT_STREAM_MORE,
 * and only to be given then. */
void event_stream_feed(event_stream *s, const void *bytes, size_t length);

/* Parses up to the end of the next event. `out` is valid until the next call. What is left at the
 * end of a stream is no event: there is nothing to be called for it. */
event_stream_result event_stream_next(event_stream *s, server_event *out);

/* Sets the last event ID, as if an event before had named it. Returns false without memory. */
bool event_stream_set_id(event_stream *s, const void *bytes, size_t length);

/* Frees what the parser owns. */
void event_stream_free(event_stream *s);

#endif
