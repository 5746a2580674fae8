#include "inflate.h"
#include "inflate_coding.h"

#ifdef HAVE_ZSTD
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC_LENGTH 4
#define HEADER_MOST 18 /* RFC 8878 3.1.1.1, with the magic number */

typedef struct {
    ZSTD_DCtx *context;
    uint8_t header[HEADER_MOST]; /* how this frame began */
    size_t header_length;
    uint64_t frame_output; /* bytes that came out of it */
    bool any_frame;        /* one has ended: what follows is another, or does not belong here */
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

/* May a frame, or one to be skipped, begin so (RFC 8878 3.1)? The library looks at these bytes
 * sooner or later according to how they come, and knows older formats that are not HTTP's. */
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

/* Checks the frame's declared size, which the library does not always do. */
static failure_code end_frame(zstd_state *state) {
    unsigned long long declared = ZSTD_getFrameContentSize(state->header, state->header_length);
    bool right = declared == ZSTD_CONTENTSIZE_UNKNOWN || declared == state->frame_output;
    state->header_length = 0;
    state->frame_output = 0;
    state->any_frame = true;
    return right ? FAILURE_NONE : FAILURE_CODING_DATA;
}

/* How much the library is shown: a frame's beginning byte by byte. Were it to see a frame that lies
 * there whole, it would go by looser rules (any window, blocks larger than it), and how the pieces
 * came would decide what is right. */
static size_t offered(const zstd_state *state, const coding_span *span) {
    bool beginning = state->header_length < HEADER_MOST && span->input_length > 0;
    return beginning ? 1 : span->input_length;
}

/* Frame by frame (RFC 8878 3); the library checks each one's check sum. */
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
