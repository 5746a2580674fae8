#ifndef TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H
#define TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H

#include "protocol/failure_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes content codings (RFC 9110 8.4) as a stream: gzip with all of its members, deflate (zlib,
 * and the raw form that some servers send), br and zstd when they were compiled in. An incomplete
 * stream, a wrong check sum, output beyond the limits, and bytes after the end that are no further
 * gzip member or zstd frame are errors.
 */
typedef struct inflater inflater;

typedef struct {
    uint64_t output_bytes; /* most bytes that may come out; 0: no limit */
    /* most bytes out of any of the codings for each byte in, checked once INFLATER_RATIO_FROM
     * came out of it; 0: no limit */
    uint32_t ratio;
} inflater_limits;

#define INFLATER_CHAIN 5 /* codings stacked on each other at most */
/* The most that a sender may use for HTTP (RFC 9659): 8 MiB; it is also what zstd would allocate.
 */
#define INFLATER_ZSTD_WINDOW_LOG 23
#define INFLATER_RATIO_FROM (16 * 1024 * 1024) /* what unpacks to less does no harm */

typedef enum {
    INFLATER_MORE,  /* the input is consumed: call again with more, or call inflater_finish */
    INFLATER_FULL,  /* the output is full: call again with the rest of the input, perhaps none */
    INFLATER_FAILED /* see inflater_failure */
} inflater_result;

/* The codings that this build decodes, as an Accept-Encoding value ("gzip, deflate, br, zstd"). */
const char *inflater_accepts(void);

/* Makes an inflater for a Content-Encoding value ("gzip", "br, gzip": applied in this order).
 *
 * Returns FAILURE_NONE with *out for the caller to free, or with *out NULL when nothing is decoded:
 * there is no coding but identity (*known is true), or one is unknown (*known is false). Otherwise
 * FAILURE_CODING_CHAIN or FAILURE_OUT_OF_MEMORY. */
failure_code inflater_new(inflater **out, bool *known, const char *codings, size_t length,
                          const inflater_limits *limits);

/* The same as Net::HTTP has it: for the one coding gzip, x-gzip or deflate, whichever of gzip and
 * zlib the data is; bytes after its end are passed over. *out is NULL for all else. */
failure_code inflater_new_zlib(inflater **out, const char *coding, size_t length,
                               const inflater_limits *limits);

/* Decodes input to output, and says how many bytes of each in *consumed and *produced. */
inflater_result inflater_feed(inflater *i, const uint8_t *input, size_t input_length,
                              size_t *consumed, uint8_t *output, size_t output_length,
                              size_t *produced);

/* To be called at the body's end. Returns FAILURE_CODING_TRUNCATED when a coding is incomplete,
 * else FAILURE_NONE. An empty body is complete. */
failure_code inflater_finish(inflater *i);

failure_code inflater_failure(const inflater *i);

void inflater_free(inflater *i); /* NULL is fine */

#endif
