#ifndef TRUNKLINE_PROTOCOL_CODINGS_INFLATE_CODING_INTERNAL_H
#define TRUNKLINE_PROTOCOL_CODINGS_INFLATE_CODING_INTERNAL_H

#include "protocol/failure_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input and output of a step, which moves both on by the bytes that it used. */
typedef struct {
    const uint8_t *input;
    size_t input_length;
    uint8_t *output;
    size_t output_length;
} coding_span;

/*
 * One content coding. The type of its state is private to it; memory comes from malloc.
 *
 * `step` decodes until the input is used up or the output is full, and stores in *at_end whether
 * the compressed data may end after the input consumed so far. At such an end it is called only if
 * there is more input. Bytes that follow an end and do not belong to the coding are
 * FAILURE_CODING_TRAILING, even padding with zeros, because the body is damaged then.
 */
typedef struct {
    const char *name;
    void *(*open)(void); /* NULL: out of memory */
    failure_code (*step)(void *state, coding_span *span, bool *at_end);
    void (*close)(void *state);
} content_coding;

extern const content_coding coding_gzip, coding_deflate;
/* Decodes the gzip or the zlib format, detected by the header; ignores bytes after the end. */
extern const content_coding coding_zlib;
#ifdef HAVE_BROTLI
extern const content_coding coding_brotli;
#endif
#ifdef HAVE_ZSTD
extern const content_coding coding_zstd;
#endif

/* Moves the input on by `taken` bytes and the output by `given`. */
static inline void coding_used(coding_span *span, size_t taken, size_t given) {
    span->input += taken;
    span->input_length -= taken;
    span->output += given;
    span->output_length -= given;
}

#endif
