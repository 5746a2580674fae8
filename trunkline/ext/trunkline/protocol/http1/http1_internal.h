#ifndef TRUNKLINE_PROTOCOL_HTTP1_HTTP1_INTERNAL_H
#define TRUNKLINE_PROTOCOL_HTTP1_HTTP1_INTERNAL_H

#include "http1.h"
#include "http1_table.h"

/* The part of the response that is parsed next (http1_response.state). */
enum {
    STATE_STATUS_LINE,
    STATE_REASON,
    STATE_REASON_LF,
    STATE_FIELDS,
    STATE_BODY, /* the head is complete; stays so for all framings but chunked */
    STATE_CHUNK_SIZE,
    STATE_CHUNK_EXTENSION,
    STATE_CHUNK_LF,
    STATE_CHUNK_DATA,
    STATE_CHUNK_END_CR,
    STATE_CHUNK_END_LF,
    STATE_TRAILERS,
    STATE_COMPLETE,
    STATE_FAILED
};

/* The position in a section of fields, of the head or the trailers (http1_response.position). */
enum { AT_FIELD, AT_NAME, AT_BLANK, AT_VALUE, AT_VALUE_LF, AT_LAST_LF };

/* A section of fields, and the list that its fields are stored in. */
typedef struct {
    uint8_t *bytes; /* from the first byte of the head or the trailers on */
    size_t length;  /* of the received bytes, or of those within the limits */
    http1_field **list;
    uint32_t *count;
    uint32_t *capacity;
} http1_section;

/* Parses the bytes from r->scan on, beginning in r->position. HTTP1_DONE: r->scan is just after the
 * empty line, and all line folds have been replaced. */
http1_result http1_parse_fields(http1_response *r, http1_section *section);

/* Returns where the LF of the line end that begins at `at`, with CR or LF, must be. A bare LF is
 * tolerated (RFC 9112 2.2). */
static inline const uint8_t *http1_line_feed(http1_response *r, const uint8_t *at) {
    if (*at == '\r') return at + 1;
    r->tolerated = true;
    return at;
}

/* Ends parsing with this failure. Returns HTTP1_FAILED. */
static inline http1_result http1_refuse(http1_response *r, failure_code code) {
    r->failure = code;
    r->state = STATE_FAILED;
    return HTTP1_FAILED;
}

#endif
