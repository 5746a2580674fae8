#ifndef TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H
#define TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H

#include "protocol/failure_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Content codings (RFC 9110 8.4), undone while the bytes stream by: gzip with all of its members,
 * deflate (zlib, and the raw form that some servers send), br and zstd when they were compiled in.
 * A stream that does not reach its own end, or whose check sum is wrong, is an error; so is one
 * that unpacks to more than the limits allow, and one that is followed by anything but another gzip
 * member or zstd frame, be it zeros.
 */
typedef struct inflater inflater;

typedef struct {
    uint64_t output_bytes; /* most bytes that may come out; 0: no limit */
    /* most bytes out of any of the codings for each byte in, looked at once INFLATER_RATIO_FROM
     * came out of it; 0: no limit */
    uint32_t ratio;
} inflater_limits;

#define INFLATER_CHAIN 5 /* codings stacked on each other at most */
/* The most that a sender may use for HTTP (RFC 9659): 8 MiB; it is also what zstd would allocate.
 */
#define INFLATER_ZSTD_WINDOW_LOG 23
#define INFLATER_RATIO_FROM (16 * 1024 * 1024) /* what unpacks to less does no harm */

typedef enum {
    INFLATER_MORE,  /* the input is used up: come back with more, or with inflater_finish */
    INFLATER_FULL,  /* the output is full: come back with the rest of the input (perhaps none) */
    INFLATER_FAILED /* see inflater_failure */
} inflater_result;

/* The codings that this build can undo, as an Accept-Encoding value ("gzip, deflate, br, zstd"). */
const char *inflater_accepts(void);

/* Makes an inflater for a Content-Encoding value ("gzip", "br, gzip": applied in this order).
 * *out = NULL and FAILURE_NONE: there is nothing to undo (identity), or a coding is unknown: the
 * body is handed over as it is (*known says which). CODING_CHAIN, OUT_OF_MEMORY: failures. */
failure_code inflater_new(inflater **out, bool *known, const char *codings, size_t length,
                          const inflater_limits *limits);

/* Takes from the input, writes to the output, and says how much of each. Progress is always made
 * when there is input or pending output, and room. */
inflater_result inflater_feed(inflater *i, const uint8_t *input, size_t input_length,
                              size_t *consumed, uint8_t *output, size_t output_length,
                              size_t *produced);

/* The body has ended: was every coding at its own end? FAILURE_NONE or CODING_TRUNCATED. An
 * entirely empty body (no byte fed) is accepted. */
failure_code inflater_finish(inflater *i);

failure_code inflater_failure(const inflater *i);

void inflater_free(inflater *i); /* NULL is fine */

#endif
