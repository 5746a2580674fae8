#ifndef TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H
#define TRUNKLINE_PROTOCOL_CODINGS_INFLATE_H

#include "protocol/failure_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes content codings (RFC 9110 8.4) as a stream: gzip with all of its members, deflate (zlib,
 * and the raw form that some servers send), br and zstd when they were compiled in. Errors are: an
 * incomplete stream, a wrong checksum, output beyond the limits, and bytes after the end that are
 * not another gzip member or zstd frame.
 */
typedef struct inflater inflater;

typedef struct {
    uint64_t output_bytes; /* most bytes of decoded output; 0: no limit */
    /* most output bytes of each coding per compressed byte received, checked when a coding's output
     * exceeds INFLATER_RATIO_FROM; 0: no limit */
    uint32_t ratio;
} inflater_limits;

#define INFLATER_CHAIN 5 /* most codings applied to one body */
/* log2 of the largest window that RFC 9659 allows for HTTP: 8 MiB, which zstd then allocates. */
#define INFLATER_ZSTD_WINDOW_LOG 23
#define INFLATER_RATIO_FROM (16 * 1024 * 1024) /* bytes; less output is harmless at any ratio */

typedef enum {
    INFLATER_MORE,  /* the input is consumed: call again with more, or call inflater_finish */
    INFLATER_FULL,  /* the output is full: call again with the rest of the input, perhaps none */
    INFLATER_FAILED /* see inflater_failure */
} inflater_result;

/* Returns the codings that this build decodes, as an Accept-Encoding value ("gzip, deflate, br,
 * zstd"). */
const char *inflater_accepts(void);

/* Makes an inflater for a Content-Encoding value ("gzip", or "br, gzip": the codings in the order
 * in which they were applied).
 *
 * Returns FAILURE_NONE with *out for the caller to free, or with *out NULL when nothing is to be
 * decoded: all codings are identity (*known is true), or one is unknown (*known is false).
 * Otherwise returns FAILURE_CODING_CHAIN or FAILURE_OUT_OF_MEMORY. */
failure_code inflater_new(inflater **out, bool *known, const char *codings, size_t length,
                          const inflater_limits *limits);

/* Makes an inflater that decodes as Net::HTTP does: a single coding gzip, x-gzip or deflate, with
 * data in the gzip or the zlib format, whichever the coding is; bytes after its end are ignored.
 * *out is NULL for every other value. */
failure_code inflater_new_zlib(inflater **out, const char *coding, size_t length,
                               const inflater_limits *limits);

/* Decodes input to output. Stores the number of bytes read in *consumed and written in *produced.
 */
inflater_result inflater_feed(inflater *i, const uint8_t *input, size_t input_length,
                              size_t *consumed, uint8_t *output, size_t output_length,
                              size_t *produced);

/* To be called at the end of the body. Returns FAILURE_CODING_TRUNCATED when a coding is incomplete
 * (an empty body is complete), the failure if decoding failed before, or FAILURE_NONE. */
failure_code inflater_finish(inflater *i);

/* Returns why decoding failed, or FAILURE_NONE. */
failure_code inflater_failure(const inflater *i);

void inflater_free(inflater *i); /* NULL is fine */

#endif
