#include "inflate_coding_internal.h"

#ifdef HAVE_BROTLI
#include <brotli/decode.h>
#include <stdlib.h>

static void *brotli_malloc(void *opaque, size_t size) {
    (void)opaque;
    return malloc(size);
}

static void brotli_free(void *opaque, void *memory) {
    (void)opaque;
    free(memory);
}

/* By default the decoder refuses windows of more than 16 MiB, the most that RFC 7932 allows. */
static void *open_brotli(void) {
    return BrotliDecoderCreateInstance(brotli_malloc, brotli_free, NULL);
}

static failure_code step_brotli(void *state, coding_span *span, bool *at_end) {
    if (BrotliDecoderIsFinished(state)) return FAILURE_CODING_TRAILING;
    BrotliDecoderResult result = BrotliDecoderDecompressStream(
        state, &span->input_length, &span->input, &span->output_length, &span->output, NULL);
    *at_end = result == BROTLI_DECODER_RESULT_SUCCESS;
    if (result != BROTLI_DECODER_RESULT_ERROR) return FAILURE_NONE;
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);
    bool memory = code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
                  code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
    return memory ? FAILURE_OUT_OF_MEMORY : FAILURE_CODING_DATA;
}

static void close_brotli(void *state) {
    BrotliDecoderDestroyInstance(state);
}

const content_coding coding_brotli = {"br", open_brotli, step_brotli, close_brotli};
#endif
