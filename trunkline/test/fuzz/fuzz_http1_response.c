#include "http1_driver.h"

/*
 * A response, fed whole, byte by byte, and in pieces whose sizes the input contains: the results
 * must be the same, and the number of bytes consumed.
 *
 * The input: flags, the size of the first piece, the size of the later ones, then the server's
 * bytes.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limits that short inputs can exceed. */
static const http1_limits small = {512, 6, 16, 40, 64, 2, false};
static const http1_limits lenient = {512, 6, 16, 40, 64, 2, true};

static void same(const buffer *a, size_t a_taken, const buffer *b, size_t b_taken) {
    size_t length = buffer_length(a);
    if (length == buffer_length(b) && memcmp(a->bytes, b->bytes, length) == 0) {
        if (a_taken == b_taken || !(length >= 4 && memcmp(a->bytes + length - 4, "done", 4) == 0))
            return;
    }
    printf("%zu bytes taken:\n%.*s\n", a_taken, (int)length, a->bytes);
    printf("%zu bytes taken:\n%.*s\n", b_taken, (int)buffer_length(b), b->bytes);
    fflush(stdout);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    drive_plan plan = {
        .limits = data[0] & 32  ? &lenient
                  : data[0] & 1 ? &small
                                : &http1_default_limits,
        .head_request = data[0] & 2,
        .ending = (data[0] >> 2) % 3,
        .first = SIZE_MAX,
        .then = 1,
    };
    const size_t first = data[1] + 1u, then = data[2] % 64 + 1u;
    const size_t firsts[] = {1, first, first}, thens[] = {1, then, SIZE_MAX};
    http1_response r = {0};
    buffer whole = {0};
    size_t taken = drive(&whole, &r, data + 3, size - 3, &plan);
    for (int i = 0; i < 3; i++) {
        buffer split = {0};
        plan.first = firsts[i];
        plan.then = thens[i];
        plan.direct = data[0] & 16;
        size_t split_taken = drive(&split, &r, data + 3, size - 3, &plan);
        same(&whole, taken, &split, split_taken);
        buffer_free(&split);
    }
    buffer_free(&whole);
    http1_free(&r);
    return 0;
}
