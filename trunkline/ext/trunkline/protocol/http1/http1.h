#ifndef TRUNKLINE_PROTOCOL_HTTP1_HTTP1_H
#define TRUNKLINE_PROTOCOL_HTTP1_HTTP1_H

#include "protocol/buffer.h"
#include "protocol/failure_codes.h"

/*
 * HTTP/1.1 (RFC 9112): composes requests and parses responses, strictly. It knows bytes only; the
 * caller owns the connection and the buffers. With http1_limits.lenient it takes what Net::HTTP
 * takes, and reads it as Net::HTTP does; the connection is not used again then.
 *
 * The order of calls for one response: http1_begin, http1_head until HTTP1_DONE (again after
 * http1_again for each 1xx), http1_body until HTTP1_DONE, http1_free.
 */

/* A field of a head or of trailers, as offsets into their bytes. Values are without blanks around
 * them. */
typedef struct {
    uint32_t name;
    uint32_t name_length;
    uint32_t value;
    uint32_t value_length;
} http1_field;

typedef struct {
    size_t head_bytes;        /* the whole head, status line included: 64 KiB */
    uint32_t fields;          /* of a head, and of the trailers: 200 */
    uint32_t extension_line;  /* chunk extensions on one line: 256 */
    uint32_t extension_total; /* in one body: 16 KiB */
    uint32_t trailer_bytes;   /* 8 KiB */
    uint32_t informational;   /* 1xx before the answer: 16 */
    bool lenient;             /* take what Net::HTTP takes */
} http1_limits;

extern const http1_limits http1_default_limits;

/*
 * Chunk framing may take this many times the bytes of its data, plus this many bytes. Single bytes
 * with sizes of eight digits (12 to 1) are allowed; longer sizes or extensions around single bytes
 * are an attack (compare CVE-2023-39326).
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
    HTTP1_MORE,  /* more input is needed; http1_head needs it behind the same bytes */
    HTTP1_DATA,  /* http1_body returns a piece: call again with the rest of the input */
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
    uint32_t head_length; /* with its empty line */
    http1_framing framing;
    int64_t content_length; /* -1: not given; set for HEAD and 304 too */
    int keep_alive_timeout; /* seconds, from Keep-Alive: timeout=N; -1: not given */
    bool persistent;        /* the connection may be used again once the body is complete */
    bool tolerated;         /* a deviation from the grammar was accepted: not persistent */
    bool may_switch; /* the caller's: the request asked to switch protocols, 101 is an answer */
    /* trailers, whose offsets are relative to trailer_bytes */
    buffer trailer_bytes;  /* owned */
    http1_field *trailers; /* owned */
    uint32_t trailer_count;

    failure_code failure;
    uint32_t informational_count;

    /* the parser's own */
    const http1_limits *limits; /* borrowed, outlives this */
    bool head_request;
    int state, position;
    uint32_t scan; /* the head, or the trailers, are parsed up to here */
    bool folded;   /* a field of the section has line folds */
    uint32_t field_capacity, trailer_capacity;
    uint64_t remaining;     /* of the body, or of the chunk */
    uint64_t body_bytes;    /* data seen so far */
    uint64_t framing_bytes; /* chunk lines, and line ends behind chunks, seen so far */
    uint32_t line_extension, total_extension;
    uint32_t digits; /* of the chunk size being read */
} http1_response;

/* One piece of a body: `data` points into the input. */
typedef struct {
    size_t consumed;
    const uint8_t *data;
    size_t length;
} http1_piece;

/* Has a response no body, whatever its fields say (RFC 9110 6.4.1; RFC 9112 6.3)? For HTTP/1.1 and
 * HTTP/2 alike. head_request: it answers a HEAD. */
bool http1_bodiless(int status, bool head_request);

/* Readies `r` for a new response; it keeps the memory of an earlier one. `r` must be zeroed before
 * its first use. `limits` is borrowed. */
void http1_begin(http1_response *r, const http1_limits *limits, bool head_request);

/* Readies `r` for the next head after a 1xx (status < 200; 101 is a failure, unless lenient). */
void http1_again(http1_response *r);

/* Parses the head in bytes[0..length). After HTTP1_MORE it is called again with the same bytes,
 * which may have moved, and more behind them; it goes on where it stopped. HTTP1_DONE: the head is
 * the first ->head_length bytes, and each of its line folds has become a space (RFC 9112 5.2).
 * Limits hold for incomplete lines too. */
http1_result http1_head(http1_response *r, uint8_t *bytes, size_t length);

/* Parses the body. Consumes piece->consumed bytes of the input; with HTTP1_DATA *piece is data
 * within the input. Without a body it returns HTTP1_DONE and consumes nothing. */
http1_result http1_body(http1_response *r, const uint8_t *bytes, size_t length, http1_piece *piece);

/* How many bytes of body data come next without framing: the caller may read them, or fewer, to
 * where it wants them, and then counts them by http1_took. 0: only http1_body can tell. UINT64_MAX:
 * until the connection is closed. */
uint64_t http1_expect(const http1_response *r);
void http1_took(http1_response *r, uint64_t count);

/* To be called when the connection has ended. `clean` is false when TLS ended without close_notify;
 * `received` is how many bytes of this head had come. Returns HTTP1_DONE if that completes the
 * body, else HTTP1_FAILED: TRUNCATED, TRUNCATED_TLS; in a head TRUNCATED_HEAD, TRUNCATED_HEAD_TLS,
 * or CLOSED without a byte of it. */
http1_result http1_end(http1_response *r, bool clean, size_t received);

/* When the connection has ended in a head: what http1_head must be given behind it to take it as it
 * is, as Net::HTTP does; NULL: it is an error. The text is static. */
const char *http1_missing_end(const http1_response *r);

/* Writes the first HTTP1_QUOTED_BYTES of a malformed head, or fewer, for a message: in quotes, and
 * those that are not printable as \xNN. Neither memory is kept. */
enum { HTTP1_QUOTED_BYTES = 24, HTTP1_QUOTED_ROOM = 4 * HTTP1_QUOTED_BYTES + 3 };
void http1_quote(const uint8_t *bytes, size_t length, char out[HTTP1_QUOTED_ROOM]);

void http1_free(http1_response *r);

/* Returns the first field of this name, compared without case; NULL: none. */
const http1_field *http1_find(const http1_field *fields, uint32_t count, const uint8_t *bytes,
                              const char *name, size_t name_length);

/* Is name (or method), value or request target fit to be sent (RFC 9110 5.1, 5.5, 9.1; RFC
 * 9112 3.2)? A value may be empty, and may begin or end with blanks, which the server will not see.
 * A target is 0x21 to 0x7E without "#": what needs more is to be percent-encoded first. */
bool http1_name_valid(const char *bytes, size_t length);
bool http1_value_valid(const char *bytes, size_t length);
bool http1_target_valid(const char *bytes, size_t length);

typedef struct {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
} http1_header;

/* Is it a Connection field with `close` (RFC 9112 9.6)? */
bool http1_says_close(const http1_header *header);

/* Appends a whole request head (request line, fields in the order given, empty line) to `out`.
 * False when something in it is not valid or memory ran out; `out` is as before then. */
bool http1_request(buffer *out, const char *method, size_t method_length, const char *target,
                   size_t target_length, const http1_header *headers, size_t count);

/* Writes the line that opens a chunk of `size` bytes (size > 0) and returns its length. After the
 * data comes CRLF; the body ends with HTTP1_LAST_CHUNK. */
#define HTTP1_CHUNK_LINE 18
#define HTTP1_LAST_CHUNK "0\r\n\r\n"
size_t http1_chunk_line(char out[HTTP1_CHUNK_LINE], uint64_t size);

#endif
