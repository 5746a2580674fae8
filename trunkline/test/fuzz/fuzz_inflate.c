#include "inflate_driver.h"

#include <stdio.h>

/*
 * A compressed body, fed whole and in pieces with output buffers of all sizes: both must accept it
 * with the same bytes, or both refuse it; the output must stay within the limits, and no call may
 * get stuck.
 *
 * The input: which codings, the size of the pieces, the size of the output, then the body.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const codings[] = {"gzip",          "deflate",  "br",      "zstd",
                                      "gzip, deflate", "br, gzip", "zstd, br"};

#define OUTPUT_MOST (256 * 1024)
/* Limits the time per input: the output of very small buffers, and the data that one coding passes
 * to the next. */
#define ROOMS_MOST 4096
#define RATIO_MOST 1000

static void demand(bool holds, const char *what) {
    if (holds) return;
    printf("%s\n", what);
    fflush(stdout);
    abort();
}

/* The ratio limit applies to the bytes consumed so far, which depends on the pieces. */
static void same(failure_code first, const buffer *whole, failure_code second,
                 const buffer *split) {
    if (first == FAILURE_CODING_RATIO || second == FAILURE_CODING_RATIO) return;
    demand((first == FAILURE_NONE) == (second == FAILURE_NONE), "only one way of feeding fails");
    if (first != FAILURE_NONE) return;
    size_t length = buffer_length(whole);
    demand(length == buffer_length(split), "another length came out");
    demand(length == 0 || memcmp(whole->bytes, split->bytes, length) == 0, "other bytes came out");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    const char *which = codings[data[0] % (sizeof(codings) / sizeof(codings[0]))];
    size_t piece = data[1] + 1u, room = data[2] * 16u + 1u;
    uint64_t most = room * ROOMS_MOST < OUTPUT_MOST ? room * ROOMS_MOST : OUTPUT_MOST;
    const inflater_limits limits = {most, RATIO_MOST}, strict = {most, 1};
    bool stuck = false;
    buffer whole = {0}, split = {0}, limited = {0};
    failure_code first =
        unpack(&whole, which, &limits, data + 3, size - 3, SIZE_MAX, 65536, &stuck);
    failure_code second = unpack(&split, which, &limits, data + 3, size - 3, piece, room, &stuck);
    unpack(&limited, which, &strict, data + 3, size - 3, piece, room, &stuck);
    demand(!stuck, "it got stuck");
    same(first, &whole, second, &split);
    demand(first != FAILURE_NONE || buffer_length(&whole) <= most, "more than the limit came out");
    buffer_free(&whole);
    buffer_free(&split);
    buffer_free(&limited);
    return 0;
}
