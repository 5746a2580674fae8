#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_H

#include "protocol/buffer.h"
#include "protocol/failure_codes.h"
#include "protocol/list.h"
#include "protocol/http1/http1.h"

/*
 * A client's HTTP/2 session (RFC 9113) over nghttp2. It does no I/O: http2_input takes the bytes
 * that were read from the connection, http2_output returns the bytes to write, and data received
 * for a stream is kept in it until its owner takes it. Only one thread at a time may use a session;
 * callers that share a session must lock it.
 */
typedef struct http2 http2;

typedef struct {
    uint32_t stream_window;     /* bytes that a stream may buffer: 1 MiB */
    uint32_t narrow_window;     /* the same when half of the budget is used: 64 KiB; see budget.h */
    uint32_t connection_window; /* bytes in flight on the connection: 16 MiB */
    uint32_t header_list;       /* bytes of a header section, announced in SETTINGS: 64 KiB */
    uint32_t streams;           /* most open at once, even if the server allows more: 1000 */
    uint32_t idle_frames;       /* consecutive frames without content: 10,000 */
} http2_limits;

extern const http2_limits http2_default_limits;

#define HTTP2_CONTINUATIONS 64 /* most CONTINUATION frames in one header section */

/* A received header section: a 1xx, the final head, or trailers. */
typedef struct http2_head {
    struct http2_head *next;
    int status;     /* 0: trailers */
    uint8_t *bytes; /* owned; names and values; the offsets in `fields` are relative to it */
    uint32_t length;
    http1_field *fields; /* owned; without pseudo-headers */
    uint32_t field_count;
} http2_head;

/* One request and its response. The owner may read the fields above "private to the session". */
typedef struct http2_stream {
    void *owner; /* borrowed; argument of http2_request */
    int32_t id;

    http2_head *heads;      /* owned; 1xx and the final head, oldest first: see http2_take_head */
    http2_head *trailers;   /* owned; NULL: none (yet) */
    buffer data;            /* body bytes that the owner has not taken: see http2_consumed */
    int64_t content_length; /* of the final head; -1: not given */
    bool ended;             /* the response is complete */
    failure_code failure;   /* why the stream failed; FAILURE_NONE if ->ended or still open */
    uint32_t error_code;    /* of the RST_STREAM or GOAWAY that caused the failure (RFC 9113 7) */
    bool unprocessed;       /* it failed, and the server has certainly not processed the request */
    bool upload_stopped;    /* the server takes no more of the request's body (RST_STREAM with
                               NO_ERROR, or a complete response) */
    bool wants_body;        /* all bytes fed have been framed: call http2_feed */
    uint64_t head_begins;   /* position of its HEADERS in all bytes that http2_output has returned;
                               UINT64_MAX: not sent yet */
    uint64_t request_ends;  /* position of the request's end; UINT64_MAX: not sent yet */

    /* private to the session */
    bool changed;
    bool closed;       /* nghttp2 has closed the stream */
    bool released;     /* the owner released the stream before it was closed */
    bool final_seen;   /* the final head was received */
    bool reset;        /* by the server */
    bool head_request; /* HEAD: Content-Length announces no body */
    bool connects;     /* an extended CONNECT: the request ends with its head */
    bool body_ended;   /* the last piece was fed */
    bool deferred;     /* nghttp2 waits for more of the body */
    uint32_t window;   /* bytes of the budget that the stream has reserved */
    uint32_t informational;
    const http1_limits *limits; /* borrowed */
    buffer upload;              /* bytes fed and not framed yet */
    uint64_t framed, received;  /* bytes of the request's body, and of the response's */
    list_node node;             /* in the session's `streams` or `free_streams` */
    list_node changed_node;
} http2_stream;

/* Returns whether the engine was built with nghttp2. If not, http2_new returns NULL, and no other
 * function may be called. */
bool http2_available(void);

/* Returns a session; http2_output returns its preface and SETTINGS first. NULL without memory. */
http2 *http2_new(const http2_limits *limits);
void http2_free(http2 *h); /* frees its streams too; NULL is fine */

/* Parses bytes that were read. Returns FAILURE_NONE, or why the connection has failed: then all
 * incomplete streams have failed too, and http2_output returns a GOAWAY. */
failure_code http2_input(http2 *h, const uint8_t *bytes, size_t length);

/* To be called when the connection has ended or broken: fails all incomplete streams with `code`.
 * Streams of which http2_output has returned nothing get ->unprocessed. For FAILURE_CLOSED and
 * FAILURE_RESET the failure is HTTP2_GONE after a GOAWAY with an error, TRUNCATED after a stream's
 * final head, TRUNCATED_HEAD within it. */
void http2_end(http2 *h, failure_code code);

/* Returns why the connection has failed, or FAILURE_NONE. http2_output may set it too. */
failure_code http2_failure(const http2 *h);

/* Returns a description of the server's error, or the text of its GOAWAY, for an error message; "":
 * none. Owned by the session. */
const char *http2_detail(const http2 *h);

/* Appends frames to `out` until it holds about `enough` bytes. Returns false without memory. */
bool http2_output(http2 *h, buffer *out, size_t enough);

/* Returns whether http2_output has frames to return. */
bool http2_wants_output(const http2 *h);

/* ---- streams ---- */

/* http2_room: how many streams may be opened now (RFC 9113 5.1.2); 0 when the session is closing.
 * http2_open_streams: how many are open. http2_max_streams: how many may be open at once, by the
 * server's SETTINGS and http2_limits. */
uint32_t http2_room(const http2 *h);
uint32_t http2_open_streams(const http2 *h);
uint32_t http2_max_streams(const http2 *h);

/* Returns whether the session is closing (GOAWAY, a failure, no stream numbers left). No stream may
 * be opened then; open streams may still complete. */
bool http2_closing(const http2 *h);

/* Returns whether the server accepts extended CONNECT (RFC 8441 3), which its SETTINGS announce. */
typedef enum {
    HTTP2_CONNECT_UNKNOWN,
    HTTP2_CONNECT_UNSUPPORTED,
    HTTP2_CONNECT_SUPPORTED
} http2_connect_support;
http2_connect_support http2_extended_connect(const http2 *h);

/* Opens a stream and queues its HEADERS.
 *
 * head: a complete HTTP/1.1 request head, as http1_request composes it; copied. The request line,
 * Host and `scheme` become pseudo-headers; names become lower case; connection-specific fields
 * (Connection, Transfer-Encoding, Keep-Alive, Upgrade, Proxy-Connection, TE except "trailers") are
 * left out (RFC 9113 8.2.2, 8.3). Header compression never indexes credentials. A request with
 * "Upgrade: websocket" becomes an extended CONNECT (RFC 8441 4) without Sec-WebSocket-Key, and the
 * bytes fed are the data for the server. body: http2_feed will be called. head_request: the method
 * is HEAD. limits: borrowed; must outlive the stream. owner: stored in ->owner; borrowed. Returns
 * NULL without memory, a free stream, or budget for the stream's window (budget.h). */
http2_stream *http2_request(http2 *h, const char *scheme, const char *head, size_t head_length,
                            bool body, bool head_request, const http1_limits *limits, void *owner);

/* Appends a copy of `piece`, which may be empty, to the request's body; `last`: the body is
 * complete. To be called when ->wants_body is set, so that little is buffered. Returns false
 * without memory. */
bool http2_feed(http2 *h, http2_stream *s, const void *piece, size_t length, bool last);

/* Returns how many of the fed bytes http2_output has returned. */
uint64_t http2_fed_and_framed(const http2_stream *s);

/* Returns the oldest head, for the caller to free by http2_head_free; NULL: none. */
http2_head *http2_take_head(http2_stream *s);

/* Frees a head that http2_take_head returned. */
void http2_head_free(http2_head *head);

/* To be called after the owner has consumed `count` bytes of ->data (by buffer_consume): opens the
 * stream's window by `count`, and may widen it for a large response. */
void http2_consumed(http2 *h, http2_stream *s, size_t count);

/* Releases the stream, which the owner must not use any more. An incomplete stream is reset with
 * CANCEL (an extended CONNECT that has sent its end: with NO_ERROR), and data received for it later
 * is dropped. If a header section of the stream is incomplete, it also calls
 * http2_submit_goaway. */
void http2_release(http2 *h, http2_stream *s);

/* Returns the next stream that http2_input, http2_output or http2_end has changed since this
 * function last returned it; NULL: none. */
http2_stream *http2_next_changed(http2 *h);

/* ---- the connection ---- */

/* Sends a PING; http2_pings_acked counts acknowledgements. Returns false without memory, or when
 * the connection has failed. */
bool http2_ping(http2 *h);

/* Returns how many PINGs the server has acknowledged. */
uint64_t http2_pings_acked(const http2 *h);

/* Resets the count of frames without content. To be called every few seconds, so that the limit
 * applies to short periods only. */
void http2_reset_idle_frames(http2 *h);

/* Queues GOAWAY with NO_ERROR; no stream may be opened after that. */
void http2_submit_goaway(http2 *h);

#endif
