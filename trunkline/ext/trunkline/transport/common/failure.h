#ifndef TRUNKLINE_TRANSPORT_COMMON_FAILURE_H
#define TRUNKLINE_TRANSPORT_COMMON_FAILURE_H

#include "protocol/failure_codes.h"

#include <stdbool.h>

/* The phases of a call, in order; each can have a timeout of its own. */
#define PHASES(X)               \
    X(QUEUE, "queue")           \
    X(RESOLVE, "resolve")       \
    X(CONNECT, "connect")       \
    X(TLS, "tls")               \
    X(WRITE, "write")           \
    X(FIRST_BYTE, "first_byte") \
    X(READ, "read")

typedef enum {
#define X(name, word) PHASE_##name,
    PHASES(X)
#undef X
        PHASE_COUNT
} call_phase;

/* Why a call failed. */
typedef struct {
    failure_code code;
    call_phase phase;
    int system_error; /* errno, or 0 */
    char detail[320]; /* details for the error message; "": none */
} failure;

/* Fills in *f; `format` may be NULL. Returns false, for `return failure_set(...)`. */
bool failure_set(failure *f, failure_code code, call_phase phase, int system_error,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

const char *failure_words(failure_code code); /* "the name could not be resolved" */
const char *failure_class(failure_code code); /* "ResolveError" */
const char *phase_word(call_phase phase);     /* "resolve" */

#endif
