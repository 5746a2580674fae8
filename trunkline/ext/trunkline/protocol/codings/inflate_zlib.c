#include "inflate_coding_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16)
#define ZLIB_WINDOW 15
#define RAW_WINDOW (-15)
#define EITHER_WINDOW (15 + 32) /* zlib detects gzip or zlib by the header */
#define GZIP_MAGIC 0x1F
#define ZLIB_HEADER 2

typedef struct {
    z_stream zlib;
    bool complete;               /* at the end of a gzip member, or of the deflate data */
    uint8_t header[ZLIB_HEADER]; /* deflate: kept until the format is known, then passed to zlib */
    unsigned header_kept, header_given;
} zlib_state;

/* zlib's default allocator may not be the malloc that this library is linked with. */
static void *zlib_malloc(void *opaque, unsigned items, unsigned size) {
    (void)opaque;
    return size > 0 && items > SIZE_MAX / size ? NULL : malloc((size_t)items * size);
}

static void zlib_free(void *opaque, void *memory) {
    (void)opaque;
    free(memory);
}

static void *open_zlib(int window) {
    zlib_state *state = calloc(1, sizeof(*state));
    if (state == NULL) return NULL;
    state->zlib.zalloc = zlib_malloc;
    state->zlib.zfree = zlib_free;
    if (inflateInit2(&state->zlib, window) != Z_OK) {
        free(state);
        return NULL;
    }
    return state;
}

static void close_zlib(void *state) {
    inflateEnd(&((zlib_state *)state)->zlib);
    free(state);
}

/* Calls zlib once, with at most UINT_MAX bytes of input and output, as it counts in unsigned int.
 */
static failure_code run_zlib(zlib_state *state, coding_span *span) {
    z_stream *zlib = &state->zlib;
    uInt input = span->input_length < UINT_MAX ? (uInt)span->input_length : UINT_MAX;
    uInt output = span->output_length < UINT_MAX ? (uInt)span->output_length : UINT_MAX;
    zlib->next_in = (Bytef *)span->input;
    zlib->avail_in = input;
    zlib->next_out = span->output;
    zlib->avail_out = output;
    int result = inflate(zlib, Z_NO_FLUSH);
    coding_used(span, input - zlib->avail_in, output - zlib->avail_out);
    state->complete = result == Z_STREAM_END;
    switch (result) {
    case Z_OK:
    case Z_STREAM_END:
    case Z_BUF_ERROR: return FAILURE_NONE; /* no room, or no input: not an error */
    case Z_MEM_ERROR: return FAILURE_OUT_OF_MEMORY;
    default: return FAILURE_CODING_DATA;
    }
}

static void *open_gzip(void) {
    return open_zlib(GZIP_WINDOW);
}

/* gzip data is a list of members (RFC 1952 2.2); zlib checks the CRC and length of each. */
static failure_code step_gzip(void *opaque, coding_span *span, bool *at_end) {
    zlib_state *state = opaque;
    if (state->complete) {
        if (span->input[0] != GZIP_MAGIC) return FAILURE_CODING_TRAILING;
        inflateReset(&state->zlib);
    }
    failure_code failure = run_zlib(state, span);
    *at_end = state->complete;
    return failure;
}

static void *open_deflate(void) {
    return open_zlib(ZLIB_WINDOW);
}

/* RFC 9110 8.4.1.2 requires the zlib format, but some servers send raw deflate data. No encoder
 * begins raw data with the bytes of a zlib header (RFC 1950 2.2): they would be a stored block with
 * non-zero padding bits. */
static bool zlib_header(const uint8_t *bytes) {
    bool method = (bytes[0] & 0x0F) == Z_DEFLATED && bytes[0] >> 4 <= 7;
    return method && (bytes[0] << 8 | bytes[1]) % 31 == 0;
}

/* Passes the two header bytes to zlib. Returns false if they have not all arrived or zlib has not
 * consumed them, and on failure. */
static bool pass_header(zlib_state *state, coding_span *span, failure_code *failure) {
    while (state->header_kept < ZLIB_HEADER) {
        if (span->input_length == 0) return false;
        state->header[state->header_kept++] = *span->input;
        coding_used(span, 1, 0);
        if (state->header_kept < ZLIB_HEADER) continue;
        inflateReset2(&state->zlib, zlib_header(state->header) ? ZLIB_WINDOW : RAW_WINDOW);
    }
    if (state->header_given == ZLIB_HEADER) return true;
    coding_span header = {state->header + state->header_given, ZLIB_HEADER - state->header_given,
                          span->output, span->output_length};
    *failure = run_zlib(state, &header);
    state->header_given = ZLIB_HEADER - (unsigned)header.input_length;
    coding_used(span, 0, (size_t)(header.output - span->output));
    return state->header_given == ZLIB_HEADER && *failure == FAILURE_NONE;
}

static failure_code step_deflate(void *opaque, coding_span *span, bool *at_end) {
    zlib_state *state = opaque;
    failure_code failure = FAILURE_NONE;
    if (state->complete) return FAILURE_CODING_TRAILING;
    if (pass_header(state, span, &failure) && !state->complete) failure = run_zlib(state, span);
    *at_end = state->complete;
    return failure;
}

static void *open_either(void) {
    return open_zlib(EITHER_WINDOW);
}

static failure_code step_either(void *opaque, coding_span *span, bool *at_end) {
    zlib_state *state = opaque;
    failure_code failure = FAILURE_NONE;
    if (state->complete)
        coding_used(span, span->input_length, 0);
    else
        failure = run_zlib(state, span);
    *at_end = state->complete;
    return failure;
}

const content_coding coding_zlib = {"gzip or zlib", open_either, step_either, close_zlib};
const content_coding coding_gzip = {"gzip", open_gzip, step_gzip, close_zlib};
const content_coding coding_deflate = {"deflate", open_deflate, step_deflate, close_zlib};
