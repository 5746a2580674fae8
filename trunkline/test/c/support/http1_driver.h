#ifndef TRUNKLINE_TEST_HTTP1_DRIVER_H
#define TRUNKLINE_TEST_HTTP1_DRIVER_H

#include "protocol/http1/http1.h"

#include <stdio.h>

/*
 * Acts as the owner of a connection: passes the bytes of responses to the parser in pieces, and
 * records the parser's results, so that two ways of feeding the same bytes can be compared as text.
 *
 *     1.1 200 OK length=5 persistent
 *     Content-Length: 5
 *
 *     hello
 *     done
 *
 * 1xx responses come before it in the same form. Trailers follow the body as "+ name: value". The
 * last line is "done", "more" (the bytes ended too early), or the name of the failure.
 */

enum { DRIVE_OPEN, DRIVE_CLOSED, DRIVE_CUT }; /* after the bytes: nothing, FIN, no close_notify */

typedef struct {
    const http1_limits *limits;
    bool head_request;
    int ending;
    size_t first, then; /* sizes of the first piece and of all later ones; at least 1 */
    bool direct;        /* take body data by http1_unframed_bytes and http1_consumed */
} drive_plan;

static inline const char *failure_name(failure_code code) {
    static const char *const names[] = {
#define X(name, class_name, words) #name,
        FAILURE_CODES(X)
#undef X
    };
    return names[code];
}

static inline void say(buffer *out, const void *bytes, size_t length) {
    if (!buffer_append(out, bytes, length)) abort();
}

static inline void say_text(buffer *out, const char *text) {
    say(out, text, strlen(text));
}

static inline void say_fields(buffer *out, const char *mark, const http1_field *fields,
                              uint32_t count, const uint8_t *bytes) {
    for (uint32_t i = 0; i < count; i++) {
        say_text(out, mark);
        say(out, bytes + fields[i].name, fields[i].name_length);
        say_text(out, ": ");
        say(out, bytes + fields[i].value, fields[i].value_length);
        say_text(out, "\n");
    }
}

static inline void say_head(buffer *out, const http1_response *r, const uint8_t *bytes) {
    static const char *const framings[] = {"none", "length", "chunked", "close"};
    char line[128];
    snprintf(line, sizeof(line), "1.%d %d ", r->minor_version, r->status);
    say_text(out, line);
    say(out, bytes + r->reason, r->reason_length);
    snprintf(line, sizeof(line), " %s", framings[r->framing]);
    say_text(out, line);
    if (r->content_length >= 0) {
        snprintf(line, sizeof(line), "=%lld", (long long)r->content_length);
        say_text(out, line);
    }
    if (r->persistent) say_text(out, " persistent");
    if (r->keep_alive_timeout >= 0) {
        snprintf(line, sizeof(line), " timeout=%d", r->keep_alive_timeout);
        say_text(out, line);
    }
    say_text(out, "\n");
    say_fields(out, "", r->fields, r->field_count, bytes);
}

/* Copies a small input to new memory of exactly its size for each call, so that the sanitizers find
 * reads beyond its end, or through pointers to an earlier copy. */
static inline uint8_t *moved(const uint8_t *bytes, size_t length) {
    uint8_t *copy = malloc(length ? length : 1);
    if (copy == NULL) abort();
    if (length > 0) memcpy(copy, bytes, length);
    return copy;
}

#define MOVED_AT_MOST 512

static inline http1_result drive_head_once(buffer *out, http1_response *r, uint8_t *bytes,
                                           size_t length) {
    uint8_t *copy = length <= MOVED_AT_MOST ? moved(bytes, length) : NULL;
    uint8_t *given = copy ? copy : bytes;
    http1_result result = http1_head(r, given, length);
    if (result == HTTP1_DONE) say_head(out, r, given);
    free(copy);
    return result;
}

static inline http1_result drive_body_once(buffer *out, http1_response *r, const uint8_t *bytes,
                                           size_t length, const drive_plan *plan,
                                           size_t *consumed) {
    uint64_t expected = plan->direct ? http1_unframed_bytes(r) : 0;
    if (expected > 0 && length > 0) {
        *consumed = length < expected ? length : (size_t)expected;
        say(out, bytes, *consumed);
        http1_consumed(r, *consumed);
        return HTTP1_DATA;
    }
    uint8_t *copy = length <= MOVED_AT_MOST ? moved(bytes, length) : NULL;
    http1_piece piece;
    http1_result result = http1_body(r, copy ? copy : bytes, length, &piece);
    if (result == HTTP1_DATA) {
        if (piece.length == 0) say_text(out, "BUG: an empty piece\n");
        say(out, piece.data, piece.length);
    }
    if (result == HTTP1_MORE && piece.consumed != length) say_text(out, "BUG: left something\n");
    free(copy);
    *consumed = piece.consumed;
    return result;
}

/* Feeds one response from the start of the bytes; returns the number of bytes that belong to it. */
static inline size_t drive(buffer *out, http1_response *r, const uint8_t *given, size_t length,
                           const drive_plan *plan) {
    uint8_t *bytes = moved(given, length); /* the parser may write to it */
    size_t at = 0, come = plan->first < length ? plan->first : length;
    bool in_head = true;
    http1_result result;
    http1_begin(r, plan->limits, plan->head_request);
    for (;;) {
        size_t consumed = 0;
        result = in_head ? drive_head_once(out, r, bytes + at, come - at)
                         : drive_body_once(out, r, bytes + at, come - at, plan, &consumed);
        at += consumed;
        if (result == HTTP1_FAILED || (result == HTTP1_DONE && !in_head)) break;
        if (result == HTTP1_DONE) {
            at += r->head_length;
            in_head = r->status < 200;
            if (in_head) http1_next_head(r);
            say_text(out, "\n");
        } else if (result == HTTP1_MORE) {
            if (come == length) break;
            come = plan->then < length - come ? come + plan->then : length;
        }
    }
    if (result == HTTP1_MORE && plan->ending != DRIVE_OPEN)
        result = http1_end(r, plan->ending == DRIVE_CLOSED, in_head ? come - at : 0);
    if (!in_head) say_text(out, "\n");
    if (result == HTTP1_DONE)
        say_fields(out, "+ ", r->trailers, r->trailer_count, r->trailer_bytes.bytes);
    say_text(out, result == HTTP1_DONE     ? "done"
                  : result == HTTP1_FAILED ? failure_name(r->failure)
                                           : "more");
    free(bytes);
    return at;
}

#endif
