#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_INTERNAL_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_INTERNAL_H

#include "http2.h"
#include "http2_library_internal.h"

/* The header section that is being received. There is only one at a time, because no other frame
 * may come between its frames. */
typedef struct {
    const http2_stream *of; /* borrowed; NULL: no section is being received */
    buffer bytes;
    http1_field *fields; /* owned */
    uint32_t field_count, field_capacity;
    size_t size; /* bytes, as RFC 9113 6.5.2 counts them */
    int status;
    int64_t content_length;
} http2_section;

#define HTTP2_FRAME_HEAD 9

typedef struct {
    list blocks;    /* owned */
    bool exhausted; /* an allocation has failed */
} http2_memory;

struct http2 {
    nghttp2_session *session; /* allocated in ->memory, which frees it */
    http2_memory memory;
    http2_limits limits;
    failure_code failure; /* of the connection */
    bool session_ended;   /* nghttp2 must not be called any more */
    char detail[256];

    /* why a callback stopped the session, and the error code for GOAWAY */
    failure_code pending_failure;
    uint32_t pending_error_code;

    bool settings_begun;       /* the server's first frame began, and is SETTINGS */
    bool settings_applied;     /* the server's SETTINGS were received completely and applied */
    uint32_t settings_unacked; /* SETTINGS sent that the server has not acknowledged */
    bool narrow;               /* new streams have narrow windows */
    bool goaway_sent;          /* the client has sent GOAWAY */
    bool goaway_received;      /* the server has sent GOAWAY */
    uint32_t goaway_code;
    uint64_t pings_sent, pings_acked;

    /* output */
    buffer early_output;     /* frames that input caused, composed before http2_output was called */
    uint32_t control_frames; /* frames composed since http2_output, except HEADERS and DATA */
    uint64_t composed;       /* bytes composed so far */
    http2_stream *ending;    /* the frame being composed is the last of this stream's request */

    /* streams */
    list streams; /* owned */
    list changed; /* see http2_next_changed */
    uint32_t open;
    list free_streams; /* owned; for reuse */
    uint32_t free_stream_count;

    /* the frame that is being received, and counts that limit a server */
    uint8_t frame_head[HTTP2_FRAME_HEAD];
    uint32_t head_length, frame_left; /* bytes of ->frame_head so far; bytes left of the frame */
    uint32_t idle_frames;
    uint32_t continuations; /* of the header section */
    uint64_t late_data;     /* bytes of DATA that the server may still send for closed streams */
    bool any_closed_early;  /* a stream was closed before its response had ended */

    http2_section section;
    nghttp2_nv *header_list; /* owned; the headers of the request being sent */
    size_t header_capacity;
};

/* ---- http2.c ---- */

/* Stops the session from a callback of nghttp2, which must return this result. `code`: RFC 9113 7.
 */
int http2_stop(http2 *h, failure_code failure, uint32_t code, const char *detail);

/* As http2_stop, after an allocation has failed. */
static inline int http2_no_memory(http2 *h) {
    return http2_stop(h, FAILURE_OUT_OF_MEMORY, NGHTTP2_INTERNAL_ERROR, NULL);
}

/* Fails the connection and every incomplete stream. */
void http2_fail(http2 *h, failure_code code);

/* Checks the result of an nghttp2 function. When it ran out of memory, fails the connection and
 * returns false. */
bool http2_check_result(http2 *h, int result);

/* ---- http2_memory.c ---- */

/* Returns the allocator to pass to nghttp2, which borrows `memory`. */
nghttp2_mem http2_memory_of(http2_memory *memory);
void http2_memory_free(http2_memory *memory); /* frees all blocks */

/* ---- http2_frames.c ---- */

/* Returns how many bytes of the input belong to the current or next frame. Counts frames, and may
 * set ->pending_failure. */
size_t http2_next_piece(http2 *h, const uint8_t *bytes, size_t length);

/* ---- http2_events.c: callbacks of nghttp2 ---- */

/* Sets all callbacks of the session. */
void http2_set_callbacks(nghttp2_session_callbacks *callbacks);

/* ---- http2_head.c: received header sections ---- */

/* Begins an empty section for `s`, which is borrowed. */
void http2_section_begin(http2 *h, const http2_stream *s);
/* Adds a field. Returns the result for the nghttp2 callback: a refused field fails only this
 * stream. */
int http2_section_field(http2 *h, http2_stream *s, const uint8_t *name, size_t name_length,
                        const uint8_t *value, size_t value_length);
bool http2_section_end(http2 *h, http2_stream *s); /* false: no memory */

/* Frees the section's fields and bytes. */
void http2_section_free(http2_section *section);

/* ---- http2_stream.c ---- */

/* Adds a stream, which takes over the reserved `window`. Returns NULL without memory; `window` is
 * released then. */
http2_stream *http2_stream_new(http2 *h, uint32_t window);
void http2_stream_free(http2 *h, http2_stream *s); /* or keeps it in ->free_streams */
void http2_streams_free(http2 *h);                 /* all of them */

/* Adds the stream to those that http2_next_changed returns. */
void http2_mark_changed(http2 *h, http2_stream *s);

/* Fails the stream, unless it has failed or ended already. */
void http2_stream_fail(http2 *h, http2_stream *s, failure_code code);

/* To be called when nghttp2 closes the stream; may free it. */
void http2_stream_closed(http2 *h, http2_stream *s, uint32_t code);

/* Returns the source from which nghttp2 reads the request's body. */
http2_provider http2_body_of(http2_stream *s);

/* ---- http2_window.c ---- */

/* Reserves budget for a new stream's window and stores its bytes in *window. Returns false when
 * there is no room, or without memory. */
bool http2_window_reserve(http2 *h, uint32_t *window);

/* Returns the budget of the stream's window. */
void http2_window_release(http2_stream *s);

/* To be called when the server acknowledges SETTINGS. */
void http2_settings_acked(http2 *h);

/* Widens the window of a large response, when its owner takes data. */
void http2_window_widen(http2 *h, http2_stream *s);

/* Returns the stream with this id, borrowed; NULL: it was released, or is not the client's. */
static inline http2_stream *http2_stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

#endif
