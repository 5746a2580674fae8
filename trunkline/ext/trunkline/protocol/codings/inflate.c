#include "inflate.h"
#include "inflate_coding_internal.h"
#include "protocol/comma_list.h"
#include "protocol/guard.h"

#include <stdlib.h>
#include <string.h>

#define BETWEEN 16384 /* bytes of the buffer between two codings */

/* One coding of the chain. Stages are in decoding order: the coding applied last comes first. */
typedef struct {
    const content_coding *coding;
    void *state;     /* owned by the coding */
    bool at_end;     /* the compressed data may end here */
    uint64_t output; /* bytes decoded so far */
    /* output that the next stage has not read yet; NULL in the last stage, which writes to the
     * caller's memory */
    uint8_t *pending; /* owned */
    size_t start, end;
} stage;

struct inflater {
    stage stages[INFLATER_CHAIN];
    int count;
    inflater_limits limits;
    uint64_t input; /* compressed bytes consumed so far */
    failure_code failure;
};

static const struct {
    const char *name;
    const content_coding *coding;
} codings_known[] = {
    {"gzip", &coding_gzip}, {"x-gzip", &coding_gzip}, {"deflate", &coding_deflate},
#ifdef HAVE_BROTLI
    {"br", &coding_brotli},
#endif
#ifdef HAVE_ZSTD
    {"zstd", &coding_zstd},
#endif
    {"identity", NULL},
};

const char *inflater_accepts(void) {
    return "gzip, deflate"
#ifdef HAVE_BROTLI
           ", br"
#endif
#ifdef HAVE_ZSTD
           ", zstd"
#endif
        ;
}

static bool same_name(const char *bytes, size_t length, const char *name) {
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++) {
        char byte = bytes[i] >= 'A' && bytes[i] <= 'Z' ? (char)(bytes[i] | 0x20) : bytes[i];
        if (byte != name[i]) return false;
    }
    return true;
}

/* Returns false when the coding is unknown. *coding is NULL for identity. */
static bool look_up(const char *bytes, size_t length, const content_coding **coding) {
    for (size_t i = 0; i < sizeof(codings_known) / sizeof(codings_known[0]); i++) {
        if (!same_name(bytes, length, codings_known[i].name)) continue;
        *coding = codings_known[i].coding;
        return true;
    }
    return false;
}

/* Stores the codings in the order in which they were applied, without empty elements (RFC 9110
 * 5.6.1) and identity, and returns their number. Those beyond INFLATER_CHAIN are counted only. */
static int read_chain(const content_coding *chain[INFLATER_CHAIN], bool *known, const char *codings,
                      size_t length) {
    int count = 0;
    comma_list list = {.rest = codings, .end = codings + length};
    while (comma_list_next(&list)) {
        const content_coding *coding = NULL;
        if (list.length > 0 && !look_up(list.element, list.length, &coding)) *known = false;
        if (coding == NULL) continue;
        if (count < INFLATER_CHAIN) chain[count] = coding;
        count++;
    }
    return count;
}

static bool open_stage(inflater *i, const content_coding *coding, bool last) {
    stage *s = &i->stages[i->count++];
    s->coding = coding;
    s->state = coding->open();
    if (!last) s->pending = malloc(BETWEEN);
    return s->state != NULL && (last || s->pending != NULL);
}

static failure_code make(inflater **out, const content_coding *const *chain, int count,
                         const inflater_limits *limits) {
    inflater *made = calloc(1, sizeof(*made));
    if (made == NULL) return FAILURE_OUT_OF_MEMORY;
    made->limits = *limits;
    while (count-- > 0) {
        if (!open_stage(made, chain[count], count == 0)) {
            inflater_free(made);
            return FAILURE_OUT_OF_MEMORY;
        }
    }
    *out = made;
    return FAILURE_NONE;
}

failure_code inflater_new(inflater **out, bool *known, const char *codings, size_t length,
                          const inflater_limits *limits) {
    const content_coding *chain[INFLATER_CHAIN];
    *out = NULL;
    *known = true;
    int count = length > 0 ? read_chain(chain, known, codings, length) : 0;
    if (count == 0 || !*known) return FAILURE_NONE;
    if (count > INFLATER_CHAIN) return FAILURE_CODING_CHAIN;
    return make(out, chain, count, limits);
}

failure_code inflater_new_zlib(inflater **out, const char *coding, size_t length,
                               const inflater_limits *limits) {
    const content_coding *const zlib = &coding_zlib;
    *out = NULL;
    bool named = same_name(coding, length, "gzip") || same_name(coding, length, "x-gzip") ||
                 same_name(coding, length, "deflate");
    return named ? make(out, &zlib, 1, limits) : FAILURE_NONE;
}

void inflater_free(inflater *i) {
    if (i == NULL) return;
    for (stage *s = i->stages; s < i->stages + i->count; s++) {
        if (s->state != NULL) s->coding->close(s->state);
        free(s->pending);
    }
    free(i);
}

/* Compares each coding's output with the received bytes, so that nested codings are limited too. */
static failure_code check_limits(const inflater *i, const stage *s) {
    uint64_t most = i->limits.output_bytes, ratio = i->limits.ratio;
    bool last = s == &i->stages[i->count - 1];
    if (last && most > 0 && s->output > most) return FAILURE_BODY_TOO_LARGE;
    bool bomb = ratio > 0 && s->output > INFLATER_RATIO_FROM && s->output / ratio > i->input;
    if (GUARD(DECODE_RATIO) && bomb) return FAILURE_CODING_RATIO;
    return FAILURE_NONE;
}

/* Runs one coding. Returns whether it consumed or produced any bytes. */
static bool run_stage(inflater *i, stage *s, coding_span *span) {
    if (span->output_length == 0 || (s->at_end && span->input_length == 0)) return false;
    size_t input = span->input_length, output = span->output_length;
    i->failure = s->coding->step(s->state, span, &s->at_end);
    s->output += output - span->output_length;
    if (s == i->stages) i->input += input - span->input_length;
    if (i->failure == FAILURE_NONE) i->failure = check_limits(i, s);
    return input != span->input_length || output != span->output_length;
}

/* Runs each coding once, in decoding order. Returns whether any consumed or produced bytes. */
static bool run_chain(inflater *i, coding_span *outer) {
    bool progress = false;
    for (int n = 0; n < i->count && i->failure == FAILURE_NONE; n++) {
        stage *s = &i->stages[n], *before = n > 0 ? s - 1 : NULL;
        coding_span span = *outer;
        if (before != NULL) {
            span.input = before->pending + before->start;
            span.input_length = before->end - before->start;
        }
        if (s->pending != NULL) {
            if (s->start == s->end) s->start = s->end = 0;
            span.output = s->pending + s->end;
            span.output_length = BETWEEN - s->end;
        }
        if (run_stage(i, s, &span)) progress = true;
        if (before != NULL) {
            before->start = before->end - span.input_length;
        } else {
            outer->input = span.input;
            outer->input_length = span.input_length;
        }
        if (s->pending != NULL) {
            s->end = BETWEEN - span.output_length;
        } else {
            outer->output = span.output;
            outer->output_length = span.output_length;
        }
    }
    return progress;
}

/* Limits the output to one byte beyond output_bytes, which suffices to detect that it is exceeded.
 */
static size_t room(const inflater *i, size_t output_length) {
    uint64_t most = i->limits.output_bytes, so_far = i->stages[i->count - 1].output;
    if (most == 0 || most - so_far >= output_length) return output_length;
    return (size_t)(most - so_far + 1);
}

inflater_result inflater_feed(inflater *i, const uint8_t *input, size_t input_length,
                              size_t *consumed, uint8_t *output, size_t output_length,
                              size_t *produced) {
    size_t offered = i->failure == FAILURE_NONE ? room(i, output_length) : 0;
    coding_span span = {input, input_length, output, offered};
    while (i->failure == FAILURE_NONE && run_chain(i, &span)) continue;
    *consumed = input_length - span.input_length;
    *produced = offered - span.output_length;
    if (i->failure != FAILURE_NONE) return INFLATER_FAILED;
    return *produced == output_length ? INFLATER_FULL : INFLATER_MORE;
}

failure_code inflater_finish(inflater *i) {
    if (i->failure != FAILURE_NONE || i->input == 0 || !GUARD(WHOLE_CODING)) return i->failure;
    for (const stage *s = i->stages; s < i->stages + i->count; s++)
        if (!s->at_end || s->start != s->end) i->failure = FAILURE_CODING_TRUNCATED;
    return i->failure;
}

failure_code inflater_failure(const inflater *i) {
    return i->failure;
}
