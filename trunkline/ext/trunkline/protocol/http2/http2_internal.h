#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_INTERNAL_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_INTERNAL_H

#include "http2.h"
#include "http2_library.h"

/* The header section that is coming: there is only ever one, as nothing may come between its
 * frames. */
typedef struct {
    const http2_stream *of; /* borrowed; NULL: none is coming */
    buffer bytes;
    http1_field *fields; /* owned */
    uint32_t field_count, field_capacity;
    size_t size; /* as RFC 9113 6.5.2 counts */
    int status;
    int64_t content_length;
} http2_section;

#define HTTP2_FRAME_HEAD 9

typedef struct {
    list blocks; /* owned */
} http2_memory;

struct http2 {
    nghttp2_session *session; /* lies in ->memory, which frees it */
    http2_memory memory;
    http2_limits limits;
    failure_code failure; /* of the connection */
    bool over;            /* nghttp2 must not be called any more, but to be freed */
    char detail[256];

    /* why a callback stops the session, and what the server is told */
    failure_code verdict;
    uint32_t verdict_code;

    bool settings_came;
    uint32_t settings_out; /* of ours, those that the server has not acknowledged */
    bool narrow;           /* its streams have narrow windows */
    bool goodbye;          /* was said by us */
    bool goaway;           /* came from the server */
    uint32_t goaway_code;
    uint64_t pings_out, pings_answered;

    /* output */
    buffer ahead;         /* composed before it was asked for: answers to what came */
    uint32_t answers;     /* frames in it, requests not counted */
    uint64_t composed;    /* bytes, ever */
    http2_stream *ending; /* its last frame is the one being composed */

    /* streams */
    list streams; /* owned */
    list touched; /* see http2_next_touched */
    uint32_t open;
    list free_streams; /* owned; for use again */
    uint32_t free_stream_count;

    /* the frame that is coming, and what a server may not do without end */
    uint8_t frame_head[HTTP2_FRAME_HEAD];
    uint32_t head_length, frame_left; /* bytes that came of the one, and that lack of the other */
    uint32_t idle_frames;
    uint32_t continuations; /* of the header section that is coming */
    uint64_t late_data;     /* bytes of DATA that may still come for streams that are closed */

    http2_section section;
    nghttp2_nv *header_list; /* owned; where requests are put together */
    size_t header_capacity;
};

/* ---- http2.c ---- */

/* Stops the session from within a callback, whose result this is. `code`: of RFC 9113 7. */
int http2_stop(http2 *h, failure_code verdict, uint32_t code, const char *detail);

static inline int http2_no_memory(http2 *h) {
    return http2_stop(h, FAILURE_OUT_OF_MEMORY, NGHTTP2_INTERNAL_ERROR, NULL);
}

/* The connection is of no use any more: every stream that is not over fails. */
void http2_fail(http2 *h, failure_code code);

/* The result of an nghttp2 function that was called from outside: false, and the connection has
 * failed, when there was no memory. */
bool http2_done(http2 *h, int result);

/* ---- http2_memory.c ---- */

nghttp2_mem http2_memory_of(http2_memory *memory);
void http2_memory_free(http2_memory *memory); /* all that was taken and not given back */

/* ---- http2_frames.c ---- */

/* How much of the input belongs to the frame that is coming, or to the next. That may be too much:
 * see ->verdict. */
size_t http2_next_piece(http2 *h, const uint8_t *bytes, size_t length);

/* ---- http2_events.c: what nghttp2 tells ---- */

void http2_set_callbacks(nghttp2_session_callbacks *callbacks);

/* ---- http2_head.c: header sections that come ---- */

void http2_section_begin(http2 *h, const http2_stream *s);
/* The result is that of the callback: what is refused is refused for this stream. */
int http2_section_field(http2 *h, http2_stream *s, const uint8_t *name, size_t name_length,
                        const uint8_t *value, size_t value_length);
bool http2_section_end(http2 *h, http2_stream *s); /* false: no memory */
void http2_section_free(http2_section *section);

/* ---- http2_stream.c ---- */

/* NULL: no memory, and `window`, which was reserved for it, is given back. */
http2_stream *http2_stream_new(http2 *h, uint32_t window);
void http2_stream_free(http2 *h, http2_stream *s); /* or keeps it for use again */
void http2_streams_free(http2 *h);                 /* all, and those kept */
void http2_touch(http2 *h, http2_stream *s);

/* Nothing more comes for the stream, for that reason, unless there is one already or it has ended.
 */
void http2_stream_fail(http2 *h, http2_stream *s, failure_code code);

/* nghttp2 forgets the stream, which may be gone after this call. */
void http2_stream_closed(http2 *h, http2_stream *s, uint32_t code);

/* What nghttp2 reads the body of a request from. */
http2_provider http2_body_of(http2_stream *s);

/* ---- http2_window.c ---- */

/* Has the budget room for another stream? Then *window is reserved for it. */
bool http2_window_reserve(http2 *h, uint32_t *window);
void http2_window_release(http2_stream *s);

/* The server acknowledged SETTINGS of ours. */
void http2_settings_heard(http2 *h);

/* Some of what came was taken: more may come at once of what is likely to be a large answer. */
void http2_window_widen(http2 *h, http2_stream *s);

static inline http2_stream *http2_stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

#endif
