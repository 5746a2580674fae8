#ifndef TRUNKLINE_PROTOCOL_CODINGS_INFLATE_CODING_H
#define TRUNKLINE_PROTOCOL_CODINGS_INFLATE_CODING_H

#include "protocol/failure_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a step reads from and writes to; both are moved on by what was used. */
typedef struct {
    const uint8_t *input;
    size_t input_length;
    uint8_t *output;
    size_t output_length;
} coding_span;

/*
 * One content coding. Its state is its own; memory comes from malloc.
 *
 * `step` takes and gives what it can: it stops when the input is used up or the output is full, and
 * says in *at_end whether the compressed data may end behind what it has taken so far. It is not
 * called at such an end unless there is more input. What follows an end and cannot belong to the
 * coding is CODING_TRAILING, padding with zeros too: a body is either the compressed data or it is
 * damaged.
 */
typedef struct {
    const char *name;
    void *(*open)(void); /* NULL: out of memory */
    failure_code (*step)(void *state, coding_span *span, bool *at_end);
    void (*close)(void *state);
} content_coding;

extern const content_coding coding_gzip, coding_deflate;
/* gzip or zlib, whichever the data is; what follows its end is passed over. */
extern const content_coding coding_zlib;
#ifdef HAVE_BROTLI
extern const content_coding coding_brotli;
#endif
#ifdef HAVE_ZSTD
extern const content_coding coding_zstd;
#endif

static inline void coding_used(coding_span *span, size_t taken, size_t given) {
    span->input += taken;
    span->input_length -= taken;
    span->output += given;
    span->output_length -= given;
}

#endif
