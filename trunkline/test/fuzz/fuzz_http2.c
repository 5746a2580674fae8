#include "http2_driver.h"

/*
 * The server's bytes on an HTTP/2 connection with three streams, fed whole, byte by byte, and in
 * pieces whose size the input contains: the results must be the same.
 *
 * The input: flags, the size of the pieces, then the server's bytes.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limits that short inputs can exceed. */
static const http1_limits small = {
    .head_bytes = 300, .fields = 6, .trailer_bytes = 64, .informational = 2};

/* With these limits floods are detected, too. The time of detection depends on when the responses
 * are read. */
static const http2_limits calm = {.stream_window = 65535,
                                  .connection_window = 1 << 20,
                                  .header_list = 300,
                                  .streams = 10,
                                  .idle_frames = 20};

/* When one frame breaks both a stream and the connection, the stream's reset may be recorded or
 * not. */
static void say_failed(buffer *out, const http2_play *p) {
    say_text(out, failure_name(p->failure));
    for (uint32_t i = 0; i < p->count; i++)
        if (p->streams[i] != NULL) say_text(out, p->streams[i]->ended ? " ended" : " failed");
}

static void play(buffer *out, const http2_plan *plan, bool release, const uint8_t *bytes,
                 size_t length, size_t piece) {
    http2_play p;
    if (!play_begin(&p, plan)) abort();
    if (release) {
        http2_release(p.session, p.streams[1]);
        p.streams[1] = NULL;
        play_output(&p);
    }
    play_input(&p, bytes, length, piece);
    if (p.failure == FAILURE_NONE)
        say_play(out, &p);
    else
        say_failed(out, &p);
    http2_end(p.session, FAILURE_CLOSED);
    for (uint32_t i = 0; i < p.count; i++) {
        http2_stream *s = p.streams[i];
        if (s != NULL && s->ended == (s->failure != FAILURE_NONE)) abort();
    }
    play_end(&p);
}

static void same(const buffer *a, const buffer *b) {
    size_t length = buffer_length(a);
    bool alike = length == buffer_length(b);
    if (alike && (length == 0 || memcmp(a->bytes, b->bytes, length) == 0)) return;
    printf("whole:\n%.*s\n", (int)length, a->bytes);
    printf("in pieces:\n%.*s\n", (int)buffer_length(b), b->bytes);
    fflush(stdout);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 8192 || !http2_available()) return 0;
    bool floods = data[0] & 8, release = data[0] & 16;
    const http2_plan plan = {.streams = 3,
                             .head_request = data[0] & 1,
                             .body = data[0] & 2,
                             .limits = data[0] & 4 ? &small : &http1_default_limits,
                             .session_limits = floods ? &calm : &http2_default_limits};
    const size_t pieces[] = {1, data[1] + 1u};
    buffer whole = {0};
    play(&whole, &plan, release, data + 2, size - 2, SIZE_MAX);
    for (int i = 0; i < 2; i++) {
        buffer split = {0};
        play(&split, &plan, release, data + 2, size - 2, pieces[i]);
        if (!floods) same(&whole, &split);
        buffer_free(&split);
    }
    buffer_free(&whole);
    return 0;
}
