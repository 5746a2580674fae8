#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H

#include "protocol/buffer.h"
#include "protocol/failure_codes.h"
#include "protocol/list.h"
#include "protocol/http1/http1.h"

/*
 * A client's HTTP/2 session (RFC 9113) over nghttp2. It knows bytes only: http2_input takes what
 * was read from the connection, http2_output gives what is to be written, and what came for a
 * stream is kept in it until its owner takes it. A session is used by one thread at a time; callers
 * that share one lock it.
 */
typedef struct http2 http2;

typedef struct {
    uint32_t stream_window;     /* bytes that a stream may hold: 1 MiB */
    uint32_t narrow_window;     /* the same when half of the budget is used: 64 KiB; see budget.h */
    uint32_t connection_window; /* bytes in flight on the connection: 16 MiB */
    uint32_t header_list;       /* the largest header section, as SETTINGS say: 64 KiB */
    uint32_t streams;           /* at once, whatever the server allows: 1000 */
    uint32_t idle_frames;       /* consecutive frames without content: 10,000 */
} http2_limits;

extern const http2_limits http2_default_limits;

#define HTTP2_CONTINUATIONS 64 /* CONTINUATION frames in one header section, at most */

/* A received header section: a 1xx, the final head, or trailers. */
typedef struct http2_head {
    struct http2_head *next;
    int status;     /* 0: trailers */
    uint8_t *bytes; /* owned; names and values, as the offsets say */
    uint32_t length;
    http1_field *fields; /* owned; pseudo-headers are not among them */
    uint32_t field_count;
} http2_head;

/* One request and its response. The owner may read the fields before "the session's own". */
typedef struct http2_stream {
    void *owner; /* the caller's */
    int32_t id;

    http2_head *heads;      /* owned; 1xx and the final head, oldest first: see http2_take_head */
    http2_head *trailers;   /* owned; NULL: none (yet) */
    buffer data;            /* body bytes that the owner has not taken: see http2_took */
    int64_t content_length; /* of the final head; -1: not given */
    bool ended;             /* the response is complete */
    failure_code failure;   /* FAILURE_NONE, or why nothing more comes; ->ended is false then */
    uint32_t error_code;    /* of RST_STREAM or GOAWAY (RFC 9113 7), when that is the failure */
    bool unprocessed;       /* it failed, and the server has certainly not acted on the request */
    bool upload_stopped;    /* the server takes no more of the request's body (RST_STREAM with
                               NO_ERROR, or a complete response) */
    bool wants_body;        /* all that was fed is framed: call http2_feed */
    uint64_t head_begins;   /* where its HEADERS begin, counted in all bytes that http2_output gave;
                               UINT64_MAX: not yet */
    uint64_t request_ends;  /* where its last byte ends; UINT64_MAX: not yet */

    /* the session's own */
    bool touched;
    bool closed;       /* nghttp2 has forgotten it */
    bool given_up;     /* its owner released it before it was closed */
    bool final_seen;   /* the final head has come */
    bool reset;        /* by the server */
    bool head_request; /* HEAD: Content-Length announces no body */
    bool connects;     /* an extended CONNECT: the request ends with its head */
    bool body_ended;   /* the last piece was fed */
    bool deferred;     /* nghttp2 waits for more of the body */
    uint32_t window;   /* bytes of the budget that it has reserved */
    uint32_t informational;
    const http1_limits *limits; /* borrowed */
    buffer upload;              /* fed, and not framed yet */
    uint64_t framed, received;  /* bytes of both bodies */
    list_node node;             /* among the session's streams, or the free ones */
    list_node touched_node;
} http2_stream;

/* Was this built with nghttp2? If not, http2_new returns NULL, and nothing else may be called. */
bool http2_available(void);

/* Returns a session, whose preface and SETTINGS http2_output gives; NULL without memory. */
http2 *http2_new(const http2_limits *limits);
void http2_free(http2 *h); /* frees its streams too; NULL is fine */

/* Takes bytes that were read. Returns FAILURE_NONE, or why the connection has failed: then every
 * stream that was not complete has failed too, and http2_output gives a GOAWAY. */
failure_code http2_input(http2 *h, const uint8_t *bytes, size_t length);

/* To be called when the connection has ended or broken: fails all incomplete streams with `code`;
 * those of which http2_output has given nothing are ->unprocessed. For FAILURE_CLOSED and
 * FAILURE_RESET the failure is HTTP2_GONE after a GOAWAY with an error, TRUNCATED after a stream's
 * final head, TRUNCATED_HEAD within it. */
void http2_end(http2 *h, failure_code code);

/* Why the connection has failed, which http2_output may find too; FAILURE_NONE: it has not. */
failure_code http2_failure(const http2 *h);

/* What the server did wrong, or what its GOAWAY said, for a person to read; "": nothing. Owned by
 * the session. */
const char *http2_detail(const http2 *h);

/* Appends frames to `out` until it holds about `enough` bytes. Returns false without memory. */
bool http2_output(http2 *h, buffer *out, size_t enough);
bool http2_wants_output(const http2 *h);

/* ---- streams ---- */

/* How many streams may be opened now (RFC 9113 5.1.2; 0 when the session is closing); how many are
 * open; how many may be at once, as the server and our limits allow. */
uint32_t http2_room(const http2 *h);
uint32_t http2_open_streams(const http2 *h);
uint32_t http2_most_streams(const http2 *h);

/* Is the session closing (GOAWAY, a failure, no stream numbers left)? No stream may be opened then;
 * those under way may still complete. */
bool http2_closing(const http2 *h);

/* Does the server take extended CONNECT (RFC 8441 3)? It says so in its SETTINGS. */
typedef enum { HTTP2_NOT_SAID, HTTP2_DECLINED, HTTP2_ACCEPTED } http2_said;
http2_said http2_extended_connect(const http2 *h);

/* Opens a stream and queues its HEADERS.
 *
 * head: a complete head of HTTP/1.1, as http1_request composes it. The request line, Host and
 * `scheme` become pseudo-headers; names become lower case; fields of the connection (Connection,
 * Transfer-Encoding, Keep-Alive, Upgrade, Proxy-Connection, TE but "trailers") are left out (RFC
 * 9113 8.2.2, 8.3). Credentials are never indexed by header compression. With "Upgrade: websocket"
 * it becomes an extended CONNECT (RFC 8441 4), which needs no Sec-WebSocket-Key, and what is fed
 * are the bytes that go to the server. Copied. body: http2_feed follows. head_request: the method
 * is HEAD. limits: borrowed; outlives the stream. owner: what http2_next_touched finds in ->owner;
 * borrowed. Returns NULL without memory, a free stream, or budget for its window (budget.h). */
http2_stream *http2_request(http2 *h, const char *scheme, const char *head, size_t head_length,
                            bool body, bool head_request, const http1_limits *limits, void *owner);

/* Adds a piece to the request's body, which is copied and may be empty; `last`: the body is
 * complete. To be called when ->wants_body, so that little is buffered. Returns false without
 * memory. */
bool http2_feed(http2 *h, http2_stream *s, const void *piece, size_t length, bool last);

/* How many of the fed bytes were given by http2_output. */
uint64_t http2_fed_and_framed(const http2_stream *s);

/* Returns the oldest head, for the caller to free by http2_head_free; NULL: none. */
http2_head *http2_take_head(http2_stream *s);
void http2_head_free(http2_head *head);

/* To be called when the owner took `count` bytes of ->data (by buffer_consume): opens the stream's
 * window for as many, and may widen it for a large response. */
void http2_took(http2 *h, http2_stream *s, size_t count);

/* Releases the stream, which the owner must not use any more. An incomplete one is reset with
 * CANCEL (an extended CONNECT that has sent its end: with NO_ERROR), and what still comes for it is
 * dropped. One whose header section is coming ends the session too: see http2_goodbye. */
void http2_release(http2 *h, http2_stream *s);

/* Returns the next stream that http2_input, http2_output or http2_end has changed since it was
 * returned last; NULL: none. */
http2_stream *http2_next_touched(http2 *h);

/* ---- the connection ---- */

/* Sends a PING; http2_pings_answered counts acknowledgements. Returns false without memory, or when
 * the connection has failed. */
bool http2_ping(http2 *h);
uint64_t http2_pings_answered(const http2 *h);

/* Resets the count of frames without content. To be called every few seconds: their number is
 * limited in a short time alone. */
void http2_calm(http2 *h);

/* Queues GOAWAY with NO_ERROR; no stream may be opened any more. */
void http2_goodbye(http2 *h);

#endif
