#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H

#include "protocol/buffer.h"
#include "protocol/failure_codes.h"
#include "protocol/list.h"
#include "protocol/http1/http1.h"

/*
 * HTTP/2 on the wire (RFC 9113), over nghttp2: one session of a client, which knows bytes only.
 * What was read from the connection goes in by http2_input, what is to be written comes out by
 * http2_output, and what came for a stream lies in it until it is taken. Nothing here is safe to be
 * used by two threads at once: whoever shares a session locks it.
 */
typedef struct http2 http2;

typedef struct {
    uint32_t stream_window;     /* bytes that may lie in one stream untaken: 1 MiB */
    uint32_t narrow_window;     /* and when half of the budget is in use: 64 KiB; see budget.h */
    uint32_t connection_window; /* bytes under way on the whole connection: 16 MiB */
    uint32_t header_list;       /* the largest header section, as the server is told: 64 KiB */
    uint32_t streams;           /* at once, whatever the server allows: 1000 */
    uint32_t idle_frames; /* frames that carry nothing, in a row over the connection: 10,000 */
} http2_limits;

extern const http2_limits http2_default_limits;

#define HTTP2_CONTINUATIONS 64 /* CONTINUATION frames in one header section, at most */

/* A header section that came: a 1xx, the answer's head, or its trailers. */
typedef struct http2_head {
    struct http2_head *next;
    int status;     /* 0: trailers */
    uint8_t *bytes; /* owned; names and values, as the offsets say */
    uint32_t length;
    http1_field *fields; /* owned; pseudo-headers are not among them */
    uint32_t field_count;
} http2_head;

/* One request and its answer. Everything above the line may be read by its owner. */
typedef struct http2_stream {
    void *owner; /* the caller's */
    int32_t id;

    http2_head *heads;      /* owned; 1xx and the answer's, oldest first: take by http2_take_head */
    http2_head *trailers;   /* owned; NULL: none (yet) */
    buffer data;            /* of the body, what has not been taken: see http2_took */
    int64_t content_length; /* as the answer's head told; -1: it did not */
    bool ended;             /* the answer is complete: nothing comes behind what lies here */
    failure_code failure;   /* FAILURE_NONE, or why nothing more comes; ->ended is false then */
    uint32_t error_code;    /* of RST_STREAM or GOAWAY (RFC 9113 7), when that is the failure */
    bool unprocessed;       /* it failed, and the server has certainly not acted on it */
    bool upload_stopped;    /* the server wants no more of the request's body (RST NO_ERROR, or it
                               has answered and ended) */
    bool wants_body;        /* what was fed is sent: more is wanted by http2_feed */
    uint64_t head_begins;  /* where its HEADERS begin in all that http2_output ever gave; UINT64_MAX
                              before they do */
    uint64_t request_ends; /* where its last byte ends; UINT64_MAX before */

    /* the session's own */
    bool touched;
    bool closed;       /* nghttp2 knows it no more */
    bool given_up;     /* its owner let go of it before it was closed */
    bool final_seen;   /* the head of the answer has come, and not just a 1xx */
    bool reset;        /* by the server */
    bool head_request; /* to which Content-Length promises nothing */
    bool body_ended;   /* the last piece was fed */
    bool deferred;     /* nghttp2 waits for more of the body */
    uint32_t window;   /* how much of the budget it has reserved */
    uint32_t informational;
    const http1_limits *limits; /* borrowed */
    buffer upload;              /* fed, and not framed yet */
    uint64_t framed, received;  /* bytes of both bodies */
    list_node node;             /* among the session's streams, or the free ones */
    list_node touched_node;
} http2_stream;

/* Was this built with nghttp2? If not, http2_new gives NULL, and nothing else may be called. */
bool http2_available(void);

/* The preface and SETTINGS lie ready for http2_output. NULL: no memory. */
http2 *http2_new(const http2_limits *limits);
void http2_free(http2 *h); /* with all streams that are still in it; NULL is fine */

/* What was read. FAILURE_NONE, or why the connection is of no further use: every stream that
 * was not over has failed then, and http2_output gives the GOAWAY that tells the server. */
failure_code http2_input(http2 *h, const uint8_t *bytes, size_t length);

/* The connection ended or broke: fails all streams that are not over with `code`; those of which
 * nothing was given by http2_output as unprocessed. For CLOSED and RESET: with HTTP2_GONE when the
 * server had told an error by GOAWAY, else with TRUNCATED when the answer's head had come, and with
 * TRUNCATED_HEAD when a part of it had. */
void http2_end(http2 *h, failure_code code);

/* Why the connection is of no further use, which http2_output may find too; FAILURE_NONE: it is. */
failure_code http2_failure(const http2 *h);

/* What the server did wrong, or what its GOAWAY said, for a person to read: "" or more, printable,
 * owned by the session. */
const char *http2_detail(const http2 *h);

/* Appends what is to be written to `out`, until about `enough` bytes lie there. False: no memory.
 */
bool http2_output(http2 *h, buffer *out, size_t enough);
bool http2_wants_output(const http2 *h);

/* ---- streams ---- */

/* How many streams may be opened now (RFC 9113 5.1.2); 0 once the session is closing. */
uint32_t http2_room(const http2 *h);
uint32_t http2_open_streams(const http2 *h);
uint32_t http2_most_streams(const http2 *h); /* at once, as the server allows and we do */

/* Is it closing (GOAWAY came, it failed, its numbers are used up)? Streams under way may still end
 * well, but none may be opened. */
bool http2_closing(const http2 *h);

/* Opens a stream and queues its HEADERS. The head is that of HTTP/1.1, complete, as http1_request
 * composes it: the request line and Host become the pseudo-headers with `scheme`, names are written
 * small, and what HTTP/2 has no room for (Connection, Transfer-Encoding, Keep-Alive, Upgrade,
 * Proxy-Connection, TE but "trailers") is left out (RFC 9113 8.2.2, 8.3). Credentials are not put
 * into the compression's table. `body`: http2_feed follows. `limits` is borrowed and outlives the
 * stream. NULL: no memory, no room, or no budget for its window (budget.h). */
http2_stream *http2_request(http2 *h, const char *scheme, const char *head, size_t head_length,
                            bool body, bool head_request, const http1_limits *limits, void *owner);

/* The next piece of the request's body, which is copied; `last`: that was all (the piece may be
 * empty). Call it when ->wants_body, else what is not sent yet piles up. False: no memory. */
bool http2_feed(http2 *h, http2_stream *s, const void *piece, size_t length, bool last);

/* How many bytes of body data are framed and under way, of all that were fed. */
uint64_t http2_fed_and_framed(const http2_stream *s);

/* Takes the oldest head out; the caller's from now on (http2_head_free). NULL: none. */
http2_head *http2_take_head(http2_stream *s);
void http2_head_free(http2_head *head);

/* The owner took `count` bytes of ->data (by buffer_consume): the server may send as many again,
 * and more at once if much has come already. */
void http2_took(http2 *h, http2_stream *s, size_t count);

/* The owner lets go of the stream: reset with CANCEL when it is not over; `s` is gone after this
 * call. What still comes for it is counted and thrown away. */
void http2_release(http2 *h, http2_stream *s);

/* The next stream for which something has changed since it was asked last; NULL: none. What changes
 * a stream: http2_input, http2_output (->wants_body), http2_end. */
http2_stream *http2_next_touched(http2 *h);

/* ---- the connection ---- */

/* Asks whether the server is alive: http2_pings_answered counts what came back. False: no memory,
 * or the connection is of no use. */
bool http2_ping(http2 *h);
uint64_t http2_pings_answered(const http2 *h);

/* Some seconds have passed: forgets the frames that carried nothing so far, of which a server may
 * send as many as it likes in the course of hours. */
void http2_calm(http2 *h);

/* No new streams: GOAWAY with NO_ERROR is queued. */
void http2_goodbye(http2 *h);

#endif
