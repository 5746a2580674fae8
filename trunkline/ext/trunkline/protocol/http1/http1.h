#ifndef TRUNKLINE_PROTOCOL_HTTP1_HTTP1_H
#define TRUNKLINE_PROTOCOL_HTTP1_HTTP1_H

#include "protocol/buffer.h"
#include "protocol/failure_codes.h"

/*
 * HTTP/1.1 (RFC 9112): composes requests and parses responses, strictly. It does no I/O; the caller
 * owns the connection and the buffers. With http1_limits.lenient it accepts what Net::HTTP accepts,
 * and interprets it as Net::HTTP does; the connection is not reused after such a response.
 *
 * The order of calls for one response: http1_begin, http1_head until HTTP1_DONE (again after
 * http1_next_head for each 1xx), http1_body until HTTP1_DONE, http1_free.
 */

/* A field of a head or of trailers, as offsets into their bytes. Values exclude the blanks around
 * them. */
typedef struct {
    uint32_t name;
    uint32_t name_length;
    uint32_t value;
    uint32_t value_length;
} http1_field;

typedef struct {
    size_t head_bytes;        /* the whole head, status line included: 64 KiB */
    uint32_t fields;          /* in a head, and in the trailers: 200 */
    uint32_t extension_line;  /* bytes of chunk extensions on one line: 256 */
    uint32_t extension_total; /* bytes of chunk extensions in one body: 16 KiB */
    uint32_t trailer_bytes;   /* 8 KiB */
    uint32_t informational;   /* 1xx responses before the final one: 16 */
    bool lenient;             /* accept what Net::HTTP accepts */
} http1_limits;

extern const http1_limits http1_default_limits;

/*
 * Chunk framing may have HTTP1_OVERHEAD_RATIO times the bytes of the data, plus
 * HTTP1_OVERHEAD_SLACK bytes. Chunks of one byte with sizes of eight digits (12 to 1) are allowed;
 * longer sizes or extensions around single bytes are an attack (compare CVE-2023-39326).
 */
#define HTTP1_OVERHEAD_RATIO 16
#define HTTP1_OVERHEAD_SLACK (16 * 1024)

typedef enum {
    HTTP1_FRAMING_NONE,    /* HEAD, 204, 304, 1xx: no body follows */
    HTTP1_FRAMING_LENGTH,  /* Content-Length */
    HTTP1_FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
    HTTP1_FRAMING_CLOSE    /* until the connection is closed */
} http1_framing;

typedef enum {
    HTTP1_MORE,  /* more input is needed; http1_head needs it after the same bytes */
    HTTP1_DATA,  /* http1_body has stored a piece: call it again with the rest of the input */
    HTTP1_DONE,  /* the head, or the body, is complete */
    HTTP1_FAILED /* see ->failure; the connection cannot be used any more */
} http1_result;

typedef struct {
    /* the head; offsets are relative to its first byte */
    int status;
    int minor_version; /* HTTP/1.x */
    uint32_t reason, reason_length;
    http1_field *fields; /* owned */
    uint32_t field_count;
    uint32_t head_length; /* including the empty line */
    http1_framing framing;
    int64_t content_length; /* -1: not given; set for HEAD and 304 too */
    int keep_alive_timeout; /* seconds, from Keep-Alive: timeout=N; -1: not given */
    bool persistent;        /* the connection may be reused once the body is complete */
    bool tolerated;         /* a deviation from the grammar was accepted: not persistent */
    bool may_switch; /* set by the caller: the request asked to switch protocols, 101 is final */
    /* trailers, whose offsets are relative to trailer_bytes */
    buffer trailer_bytes;  /* owned */
    http1_field *trailers; /* owned */
    uint32_t trailer_count;

    failure_code failure;
    uint32_t informational_count;

    /* private to the parser */
    const http1_limits *limits; /* borrowed, outlives this */
    bool head_request;
    int state, position;
    uint32_t scan; /* offset up to which the head, or the trailers, are parsed */
    bool folded;   /* a field of the section has line folds */
    uint32_t field_capacity, trailer_capacity;
    uint64_t remaining;     /* of the body, or of the chunk */
    uint64_t body_bytes;    /* data seen so far */
    uint64_t framing_bytes; /* bytes of chunk lines, and of line ends after chunks, so far */
    uint32_t line_extension, total_extension;
    uint32_t digits; /* of the chunk size being read */
} http1_response;

/* One piece of a body: `data` points into the input. */
typedef struct {
    size_t consumed;
    const uint8_t *data;
    size_t length;
} http1_piece;

/* Returns whether a response has no body, whatever its fields are (RFC 9110 6.4.1; RFC 9112 6.3),
 * for HTTP/1.1 and HTTP/2. head_request: it is the response to a HEAD. */
bool http1_bodiless(int status, bool head_request);

/* Prepares `r` for a new response; keeps the memory of an earlier one. `r` must be zeroed before
 * its first use. `limits` is borrowed. */
void http1_begin(http1_response *r, const http1_limits *limits, bool head_request);

/* Prepares `r` for the next head after a 1xx. (http1_head fails for a 101, unless ->may_switch or
 * lenient.) */
void http1_next_head(http1_response *r);

/* Parses the head in bytes[0..length). After HTTP1_MORE, call it again with the same bytes, which
 * may have moved, followed by more; it continues where it stopped. HTTP1_DONE: the head is the
 * first ->head_length bytes, and each of its line folds has become a space (RFC 9112 5.2). Limits
 * apply to incomplete lines too. */
http1_result http1_head(http1_response *r, uint8_t *bytes, size_t length);

/* Parses the body. Consumes piece->consumed bytes of the input; with HTTP1_DATA, *piece is data
 * within the input. For a response without a body, returns HTTP1_DONE and consumes nothing. */
http1_result http1_body(http1_response *r, const uint8_t *bytes, size_t length, http1_piece *piece);

/* Returns how many bytes of body data come next without framing. The caller may read up to that
 * many into its own memory, and must then pass their number to http1_consumed. 0: the input must be
 * passed to http1_body. UINT64_MAX: until the connection is closed. */
uint64_t http1_unframed_bytes(const http1_response *r);
void http1_consumed(http1_response *r, uint64_t count);

/* To be called when the connection has ended. `clean` is false when TLS ended without close_notify;
 * `received` is the number of bytes received of this head. Returns HTTP1_DONE if the body is
 * complete, else HTTP1_FAILED with TRUNCATED or TRUNCATED_TLS; within a head with TRUNCATED_HEAD or
 * TRUNCATED_HEAD_TLS, or CLOSED before its first byte. */
http1_result http1_end(http1_response *r, bool clean, size_t received);

/* For a connection that has ended within a head: returns the bytes to pass to http1_head after the
 * head so that it is accepted as complete, as Net::HTTP does; NULL: the end is an error. The text
 * is static. */
const char *http1_missing_end(const http1_response *r);

/* Writes at most the first HTTP1_QUOTED_BYTES of a malformed head to `out` for an error message: in
 * quotes, with bytes that are not printable as \xNN. Keeps no pointer to either memory. */
enum { HTTP1_QUOTED_BYTES = 24, HTTP1_QUOTED_ROOM = 4 * HTTP1_QUOTED_BYTES + 3 };
void http1_quote(const uint8_t *bytes, size_t length, char out[HTTP1_QUOTED_ROOM]);

/* Frees the fields and trailers; `r` itself belongs to the caller. */
void http1_free(http1_response *r);

/* Returns the first field of this name, compared without case; NULL: none. */
const http1_field *http1_find(const http1_field *fields, uint32_t count, const uint8_t *bytes,
                              const char *name, size_t name_length);

/* Returns whether a name (or method), value or request target may be sent (RFC 9110 5.1, 5.5, 9.1;
 * RFC 9112 3.2). A value may be empty, and may begin or end with blanks, which the server ignores.
 * A target consists of the bytes 0x21 to 0x7E without "#"; others must be percent-encoded first. */
bool http1_name_valid(const char *bytes, size_t length);
bool http1_value_valid(const char *bytes, size_t length);
bool http1_target_valid(const char *bytes, size_t length);

typedef struct {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
} http1_header;

/* Returns whether the header is a Connection field with `close` (RFC 9112 9.6). */
bool http1_says_close(const http1_header *header);

/* Appends a whole request head (request line, fields in the order given, empty line) to `out`.
 * Returns false when a part is invalid or memory ran out; `out` is unchanged then. */
bool http1_request(buffer *out, const char *method, size_t method_length, const char *target,
                   size_t target_length, const http1_header *headers, size_t count);

/* Writes the line that opens a chunk of `size` bytes (size > 0) and returns its length. The caller
 * must write CRLF after the data, and HTTP1_LAST_CHUNK at the end of the body. */
#define HTTP1_CHUNK_LINE 18
#define HTTP1_LAST_CHUNK "0\r\n\r\n"
size_t http1_chunk_line(char out[HTTP1_CHUNK_LINE], uint64_t size);

#endif
