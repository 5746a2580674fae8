#ifndef TRUNKLINE_TEST_HTTP2_DRIVER_H
#define TRUNKLINE_TEST_HTTP2_DRIVER_H

#include "frames.h"
#include "http1_driver.h" /* say, failure_name */
#include "protocol/http2/http2.h"

/*
 * Acts as the owner of a session: opens streams, passes the server's bytes to the session in
 * pieces, and records the results, so that two ways of feeding the same bytes can be compared as
 * text:
 *
 *     1: 103
 *     1: 200 length=5
 *     1: a: b
 *     1: hello
 *     1: + trailer: x
 *     1: ended
 *     sent RST_STREAM 3 8
 *     HTTP2_PROTOCOL: words
 *
 * Of an error, the code of RFC 9113 7 is recorded without nghttp2's message, which differs between
 * versions. Sent frames are recorded from the first frame after the preface, SETTINGS and the
 * connection's WINDOW_UPDATE, without the streams' WINDOW_UPDATEs, whose time depends on the
 * pieces.
 */

#define MOST_STREAMS 8

typedef struct {
    http2 *session;
    http2_stream *streams[MOST_STREAMS]; /* NULL: released */
    uint32_t count;
    buffer data[MOST_STREAMS]; /* taken out of the streams */
    buffer sent;               /* all output of http2_output */
    failure_code failure;
} http2_play;

typedef struct {
    uint32_t streams; /* 0 is the same as 1 */
    bool head_request;
    bool body; /* the requests have a body, which is never fed */
    size_t piece;
    const http1_limits *limits;
    const http2_limits *session_limits;
} http2_plan;

#define PLAY_HEAD "GET / HTTP/1.1\r\nHost: example.test\r\n\r\n"
#define PLAY_HEAD_REQUEST "HEAD / HTTP/1.1\r\nHost: example.test\r\n\r\n"

static inline void play_output(http2_play *p) {
    bool done = http2_output(p->session, &p->sent, SIZE_MAX);
    p->failure = done ? http2_failure(p->session) : FAILURE_OUT_OF_MEMORY;
}

/* Returns false when memory is exhausted. */
static inline bool play_begin(http2_play *p, const http2_plan *plan) {
    const char *head = plan->head_request ? PLAY_HEAD_REQUEST : PLAY_HEAD;
    const http1_limits *limits = plan->limits ? plan->limits : &http1_default_limits;
    memset(p, 0, sizeof(*p));
    p->session = http2_new(plan->session_limits ? plan->session_limits : &http2_default_limits);
    if (p->session == NULL) return false;
    for (; p->count < (plan->streams ? plan->streams : 1); p->count++) {
        http2_stream *s = http2_request(p->session, "https", head, strlen(head), plan->body,
                                        plan->head_request, limits, p);
        if (s == NULL) return false;
        p->streams[p->count] = s;
    }
    play_output(p);
    return p->failure == FAILURE_NONE;
}

static inline void play_take(http2_play *p) {
    for (http2_stream *s; (s = http2_next_changed(p->session)) != NULL;) {
        size_t length = buffer_length(&s->data);
        say(&p->data[(s->id - 1) / 2], buffer_head(&s->data), length);
        buffer_consume(&s->data, length);
        http2_consumed(p->session, s, length);
    }
}

static inline void play_input(http2_play *p, const uint8_t *bytes, size_t length, size_t piece) {
    for (size_t at = 0; at < length; at += piece) {
        if (piece > length - at) piece = length - at;
        uint8_t *copy = moved(bytes + at, piece);
        failure_code failure = http2_input(p->session, copy, piece);
        free(copy);
        if (p->failure == FAILURE_NONE) p->failure = failure;
        play_take(p);
    }
    play_output(p);
}

static inline void play_script(http2_play *p, const char *script, size_t piece) {
    buffer bytes = {0};
    frames(&bytes, script);
    play_input(p, bytes.bytes, buffer_length(&bytes), piece);
    buffer_free(&bytes);
}

static inline void play_end(http2_play *p) {
    http2_free(p->session);
    for (int i = 0; i < MOST_STREAMS; i++) buffer_free(&p->data[i]);
    buffer_free(&p->sent);
}

/* ---- recording ---- */

#define SAY(out, ...)                                \
    do {                                             \
        char line_[512];                             \
        snprintf(line_, sizeof(line_), __VA_ARGS__); \
        say_text(out, line_);                        \
    } while (0)

static inline void say_http2_fields(buffer *out, uint32_t id, const char *mark, http2_head *head) {
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "%u: %s", id, mark);
    say_fields(out, prefix, head->fields, head->field_count, head->bytes);
}

static inline void say_stream(buffer *out, http2_play *p, uint32_t i) {
    http2_stream *s = p->streams[i];
    uint32_t id = 2 * i + 1;
    if (s == NULL) return;
    for (http2_head *head; (head = http2_take_head(s)) != NULL; http2_head_free(head)) {
        SAY(out, "%u: %d", id, head->status);
        if (head->status >= 200 && s->content_length >= 0)
            SAY(out, " length=%lld", (long long)s->content_length);
        say_text(out, "\n");
        say_http2_fields(out, id, "", head);
    }
    /* The data of a malformed response is not recorded: how much of it is delivered before the
     * error is found depends on the pieces. */
    size_t length = s->failure == FAILURE_HTTP2_MALFORMED ? 0 : buffer_length(&p->data[i]);
    if (length > 40)
        SAY(out, "%u: %zu bytes\n", id, length);
    else if (length > 0)
        SAY(out, "%u: %.*s\n", id, (int)length, (const char *)p->data[i].bytes);
    if (s->trailers != NULL) say_http2_fields(out, id, "+ ", s->trailers);
    if (s->ended) SAY(out, "%u: ended\n", id);
    if (s->upload_stopped) SAY(out, "%u: upload stopped\n", id);
    if (s->failure != FAILURE_NONE) {
        SAY(out, "%u: %s", id, failure_name(s->failure));
        if (s->error_code != 0) SAY(out, " %u", s->error_code);
        SAY(out, "%s\n", s->unprocessed ? " unprocessed" : "");
    }
}

static inline uint32_t frame_read(const uint8_t *bytes, int octets) {
    uint32_t value = 0;
    while (octets-- > 0) value = value << 8 | *bytes++;
    return value;
}

#define PREFACE_LENGTH 24

/* Records the sent frames of these types, from the one with the number `from` on. */
static inline void say_sent(buffer *out, const buffer *sent, uint32_t from, const char *types) {
    static const char *const names[] = {"DATA",          "HEADERS",      "PRIORITY", "RST_STREAM",
                                        "SETTINGS",      "PUSH_PROMISE", "PING",     "GOAWAY",
                                        "WINDOW_UPDATE", "CONTINUATION"};
    uint32_t number = 0;
    for (size_t at = PREFACE_LENGTH; at + 9 <= sent->end; number++) {
        const uint8_t *head = sent->bytes + at, *payload = head + 9;
        uint32_t length = frame_read(head, 3), type = head[3];
        at += 9 + length;
        if (number < from || strchr(types, (int)('0' + type)) == NULL) continue;
        SAY(out, "sent %s %u", names[type], frame_read(head + 5, 4));
        if (type == 3) SAY(out, " %u", frame_read(payload, 4));
        if (type == 7) SAY(out, " %u", frame_read(payload + 4, 4));
        if (type == 0) SAY(out, " %.*s", length > 40 ? 40 : (int)length, (const char *)payload);
        if (head[4] & 1) say_text(out, type == 4 || type == 6 ? " ack" : " end");
        say_text(out, "\n");
    }
}

static inline void say_play(buffer *out, http2_play *p) {
    for (uint32_t i = 0; i < p->count; i++) say_stream(out, p, i);
    say_sent(out, &p->sent, 2, "03467");
    if (p->failure != FAILURE_NONE) {
        const char *detail = http2_detail(p->session), *code = strrchr(detail, '(');
        SAY(out, "%s: %s\n", failure_name(p->failure), code ? code : detail);
    } else if (http2_closing(p->session)) {
        SAY(out, "closing: %s\n", http2_detail(p->session));
    }
}

#endif
