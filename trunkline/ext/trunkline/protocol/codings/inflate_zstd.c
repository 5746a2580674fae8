#include "inflate.h"
#include "inflate_coding_internal.h"

#ifdef HAVE_ZSTD
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC_LENGTH 4
#define HEADER_MOST 18 /* RFC 8878 3.1.1.1, with the magic number */

typedef struct {
    ZSTD_DCtx *context;
    uint8_t header[HEADER_MOST]; /* the first bytes of the current frame */
    size_t header_length;
    uint64_t frame_output; /* bytes decoded from the current frame */
    bool any_frame;        /* a frame has ended: bytes that begin no other frame are trailing */
} zstd_state;

static void *open_zstd(void) {
    zstd_state *state = calloc(1, sizeof(*state));
    if (state == NULL) return NULL;
    state->context = ZSTD_createDCtx();
    if (state->context == NULL) {
        free(state);
        return NULL;
    }
    ZSTD_DCtx_setParameter(state->context, ZSTD_d_windowLogMax, INFLATER_ZSTD_WINDOW_LOG);
    return state;
}

/* Returns whether the bytes can begin a frame or a skippable frame (RFC 8878 3.1). libzstd checks
 * them earlier or later depending on how the input is split, and also accepts legacy formats, which
 * HTTP does not allow. */
static bool magic_right(const zstd_state *state, const coding_span *span) {
    static const uint8_t frame[] = {0x28, 0xB5, 0x2F, 0xFD}, skipped[] = {0x50, 0x2A, 0x4D, 0x18};
    for (size_t at = state->header_length; at < MAGIC_LENGTH; at++) {
        size_t n = at - state->header_length;
        if (n == span->input_length) break;
        uint8_t first = state->header_length > 0 ? state->header[0] : span->input[0];
        if (first != frame[0] && first >> 4 != skipped[0] >> 4) return false;
        if (at > 0 && span->input[n] != (first == frame[0] ? frame : skipped)[at]) return false;
    }
    return true;
}

static void keep_header(zstd_state *state, const uint8_t *bytes, size_t length) {
    size_t room = HEADER_MOST - state->header_length, kept = length < room ? length : room;
    memcpy(state->header + state->header_length, bytes, kept);
    state->header_length += kept;
}

/* Checks the frame's declared size, which libzstd does not always do. */
static failure_code end_frame(zstd_state *state) {
    unsigned long long declared = ZSTD_getFrameContentSize(state->header, state->header_length);
    bool right = declared == ZSTD_CONTENTSIZE_UNKNOWN || declared == state->frame_output;
    state->header_length = 0;
    state->frame_output = 0;
    state->any_frame = true;
    return right ? FAILURE_NONE : FAILURE_CODING_DATA;
}

/* Returns how many bytes to pass to libzstd: one at a time for the first HEADER_MOST bytes of a
 * frame. To a frame that is complete in one input, libzstd applies looser rules (any window, blocks
 * larger than the window); then the result would depend on how the input is split. */
static size_t offered(const zstd_state *state, const coding_span *span) {
    bool beginning = state->header_length < HEADER_MOST && span->input_length > 0;
    return beginning ? 1 : span->input_length;
}

/* Decodes frame by frame (RFC 8878 3); libzstd checks the checksum of each frame. */
static failure_code step_zstd(void *opaque, coding_span *span, bool *at_end) {
    zstd_state *state = opaque;
    if (!magic_right(state, span))
        return state->any_frame ? FAILURE_CODING_TRAILING : FAILURE_CODING_DATA;
    ZSTD_inBuffer input = {span->input, offered(state, span), 0};
    ZSTD_outBuffer output = {span->output, span->output_length, 0};
    size_t result = ZSTD_decompressStream(state->context, &output, &input);
    if (input.pos > 0) keep_header(state, span->input, input.pos);
    state->frame_output += output.pos;
    coding_used(span, input.pos, output.pos);
    if (ZSTD_isError(result)) {
        bool memory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
        return memory ? FAILURE_OUT_OF_MEMORY : FAILURE_CODING_DATA;
    }
    *at_end = result == 0;
    return *at_end ? end_frame(state) : FAILURE_NONE;
}

static void close_zstd(void *opaque) {
    zstd_state *state = opaque;
    ZSTD_freeDCtx(state->context);
    free(state);
}

const content_coding coding_zstd = {"zstd", open_zstd, step_zstd, close_zstd};
#endif
