#ifndef TRUNKLINE_TEST_INFLATE_DRIVER_H
#define TRUNKLINE_TEST_INFLATE_DRIVER_H

#include "protocol/buffer.h"
#include "protocol/codings/inflate.h"

/* Decodes `bytes`, fed in pieces, with an output buffer of `room` bytes at a time, as the code that
 * reads a body does. Appends the output to `out` and returns how decoding ended. Input and output
 * are in memory of exactly their size, so that the sanitizers find accesses beyond it. Sets *stuck
 * when a call made no progress although it could have. */
static inline failure_code unpack(buffer *out, const char *codings, const inflater_limits *limits,
                                  const uint8_t *bytes, size_t length, size_t piece, size_t room,
                                  bool *stuck) {
    inflater *i;
    bool known;
    failure_code failure = inflater_new(&i, &known, codings, strlen(codings), limits);
    if (failure != FAILURE_NONE || i == NULL) return failure;
    uint8_t *output = malloc(room);
    if (output == NULL) abort();
    inflater_result result = INFLATER_MORE;
    for (size_t at = 0; at < length && result != INFLATER_FAILED;) {
        size_t given = piece < length - at ? piece : length - at, had = 0;
        uint8_t *input = malloc(given);
        if (input == NULL) abort();
        memcpy(input, bytes + at, given);
        do {
            size_t consumed, produced;
            result = inflater_feed(i, input + had, given - had, &consumed, output, room, &produced);
            had += consumed;
            if (!buffer_append(out, output, produced)) abort();
            if (result == INFLATER_FULL && produced < room) *stuck = true;
            if (result == INFLATER_MORE && had < given) *stuck = true;
        } while (result == INFLATER_FULL);
        free(input);
        at += given;
    }
    failure = result == INFLATER_FAILED ? inflater_failure(i) : inflater_finish(i);
    if (result == INFLATER_FAILED && inflater_finish(i) != failure) *stuck = true;
    free(output);
    inflater_free(i);
    return failure;
}

#endif
