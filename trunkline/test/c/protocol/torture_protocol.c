#include "check.h"
#include "failing_allocations.h"
#include "http2_driver.h"
#include "inflate_driver.h"
#include "packing.h"
#include "protocol/event_stream.h"
#include "protocol/json/json_scanner.h"

/*
 * Every allocation that protocol/ makes fails once: the n-th, for each n until a whole run makes
 * fewer. Each failure must be reported as such, without a leak (the address sanitizer checks that).
 */

/* A scenario returns FAILURE_NONE or the failure. */
typedef failure_code scenario(const buffer *bytes);

static failure_code read_answer(const buffer *bytes) {
    http1_response r = {0};
    http1_piece piece = {0};
    http1_begin(&r, &http1_default_limits, false);
    http1_result result = HTTP1_MORE;
    size_t at = 0;
    while (result == HTTP1_MORE && at < buffer_length(bytes))
        result = http1_head(&r, bytes->bytes, ++at);
    while (result != HTTP1_FAILED && at < buffer_length(bytes)) {
        size_t given = at + 100 < buffer_length(bytes) ? 100 : buffer_length(bytes) - at;
        result = http1_body(&r, bytes->bytes + at, given, &piece);
        at += piece.consumed;
    }
    failure_code failure = result == HTTP1_DONE ? FAILURE_NONE : r.failure;
    http1_free(&r);
    return failure;
}

static failure_code write_request(const buffer *bytes) {
    http1_header header = {"Long", 4, (const char *)bytes->bytes, buffer_length(bytes)};
    buffer out = {0};
    bool written = http1_request(&out, "GET", 3, "/", 1, &header, 1);
    bool refused = !written && buffer_length(&out) == 0;
    buffer_free(&out);
    return refused ? FAILURE_OUT_OF_MEMORY : FAILURE_NONE;
}

static failure_code unpack_chain(const buffer *bytes, const char *codings) {
    const inflater_limits limits = {0, 0};
    inflater *i;
    bool known;
    uint8_t output[4096];
    failure_code failure = inflater_new(&i, &known, codings, strlen(codings), &limits);
    if (failure != FAILURE_NONE) return failure;
    inflater_result result = INFLATER_FULL;
    for (size_t at = 0, consumed, produced; result == INFLATER_FULL; at += consumed) {
        result = inflater_feed(i, bytes->bytes + at, buffer_length(bytes) - at, &consumed, output,
                               sizeof(output), &produced);
    }
    failure = inflater_finish(i);
    inflater_free(i);
    return failure;
}

static failure_code unpack_gzip(const buffer *bytes) {
    return unpack_chain(bytes, "gzip, gzip");
}
static failure_code unpack_deflate(const buffer *bytes) {
    return unpack_chain(bytes, "deflate");
}
#ifdef HAVE_BROTLI
static failure_code unpack_brotli(const buffer *bytes) {
    return unpack_chain(bytes, "br");
}
#endif
#ifdef HAVE_ZSTD
static failure_code unpack_zstd(const buffer *bytes) {
    return unpack_chain(bytes, "zstd");
}
#endif

static failure_code read_event_stream(const buffer *bytes) {
    event_stream s;
    server_event event;
    event_stream_begin(&s, SIZE_MAX);
    event_stream_result result =
        event_stream_set_id(&s, "0", 1) ? EVENT_STREAM_MORE : EVENT_STREAM_NO_MEMORY;
    for (size_t at = 0; at < buffer_length(bytes) && result == EVENT_STREAM_MORE; at += 7) {
        size_t rest = buffer_length(bytes) - at;
        event_stream_feed(&s, bytes->bytes + at, rest < 7 ? rest : 7);
        while ((result = event_stream_next(&s, &event)) == EVENT_STREAM_EVENT) {
        }
    }
    event_stream_free(&s);
    return result == EVENT_STREAM_MORE ? FAILURE_NONE : FAILURE_OUT_OF_MEMORY;
}

static failure_code read_json(const buffer *bytes) {
    json_scanner s;
    json_value value;
    json_location location;
    json_options options = {.form = JSON_DOCUMENT, .value_bytes = SIZE_MAX};
    bool enough = json_path_add(&options.path, "items", 5) && json_path_add_any(&options.path);
    enough = json_scanner_init(&s, &options) && enough;
    json_result result = JSON_MORE;
    for (size_t at = 0; enough && at < buffer_length(bytes) && result != JSON_FAILED; at += 100) {
        size_t count = at + 100 < buffer_length(bytes) ? 100 : buffer_length(bytes) - at;
        enough = json_scanner_feed(&s, bytes->bytes + at, count);
        do result = enough ? json_scanner_next(&s, &value) : JSON_FAILED;
        while (result == JSON_VALUE);
    }
    bool failed_here = enough && json_scanner_failure(&s, &location) == JSON_OUT_OF_MEMORY;
    bool complete = enough && result == JSON_MORE;
    json_scanner_free(&s);
    if (complete) return FAILURE_NONE;
    return !enough || failed_here ? FAILURE_OUT_OF_MEMORY : FAILURE_CODING_DATA;
}

static void take_all(http2 *h) {
    for (http2_stream *s; (s = http2_next_changed(h)) != NULL;) {
        size_t length = buffer_length(&s->data);
        buffer_consume(&s->data, length);
        http2_consumed(h, s, length);
    }
}

/* Streams with a body, of which one is released and one fails. */
static failure_code call_over_http2(http2_play *p, const buffer *bytes) {
    const http2_plan plan = {.streams = 3, .body = true};
    static const uint8_t body[40000];
    if (!play_begin(p, &plan)) return FAILURE_OUT_OF_MEMORY;
    if (!http2_feed(p->session, p->streams[0], body, 100, false)) return FAILURE_OUT_OF_MEMORY;
    play_output(p);
    if (!http2_feed(p->session, p->streams[0], body, sizeof(body), true))
        return FAILURE_OUT_OF_MEMORY;
    if (!http2_ping(p->session)) return FAILURE_OUT_OF_MEMORY;
    http2_release(p->session, p->streams[1]);
    p->streams[1] = NULL;
    for (size_t at = 0; at < buffer_length(bytes) && p->failure == FAILURE_NONE; at += 1000) {
        size_t rest = buffer_length(bytes) - at;
        p->failure = http2_input(p->session, bytes->bytes + at, rest < 1000 ? rest : 1000);
        take_all(p->session);
        play_output(p);
    }
    http2_submit_goaway(p->session);
    play_output(p);
    bool reported = p->failure == FAILURE_OUT_OF_MEMORY || p->streams[0]->ended;
    CHECK(reported, "an answer was lost: %s", failure_name(p->failure));
    return p->failure;
}

static failure_code talk_http2(const buffer *bytes) {
    http2_play p;
    failure_code failure = call_over_http2(&p, bytes);
    play_end(&p);
    return failure;
}

#define MOST_ALLOCATIONS 1000

static void torture(const char *title, scenario *run, buffer *bytes) {
    check_case("%s", title);
    long n = 0;
    do {
        failed = false;
        until_failure = ++n;
        failure_code was = run(bytes);
        until_failure = 0;
        CHECK(was == (failed ? FAILURE_OUT_OF_MEMORY : FAILURE_NONE), "%s, allocation %ld: %s",
              title, n, failure_name(was));
    } while (failed && n < MOST_ALLOCATIONS);
    CHECK(!failed && n > 1, "%s: %ld allocations were made to fail", title, n - 1);
    buffer_free(bytes);
}

static void test_http1(void) {
    buffer bytes = {0};
    say_text(&bytes, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n");
    for (int i = 0; i < 40; i++) say_text(&bytes, "Field: value\r\n");
    say_text(&bytes, "\r\n5\r\nhello\r\n0\r\n");
    for (int i = 0; i < 40; i++) say_text(&bytes, "Trailer: of some length\r\n");
    say_text(&bytes, "\r\n");
    torture("an answer", read_answer, &bytes);
    for (int i = 0; i < 1000; i++) say_text(&bytes, "value ");
    torture("a request", write_request, &bytes);
}

static void test_inflaters(void) {
    static const uint8_t text[100000];
    buffer bytes = {0}, inner = {0};
    pack_gzip(&inner, text, sizeof(text));
    pack_gzip(&bytes, inner.bytes, buffer_length(&inner));
    buffer_free(&inner);
    torture("gzip", unpack_gzip, &bytes);
    pack_raw_deflate(&bytes, text, sizeof(text));
    torture("deflate", unpack_deflate, &bytes);
#ifdef HAVE_BROTLI
    pack_brotli(&bytes, text, sizeof(text));
    torture("br", unpack_brotli, &bytes);
#endif
#ifdef HAVE_ZSTD
    pack_zstd(&bytes, text, sizeof(text));
    torture("zstd", unpack_zstd, &bytes);
#endif
}

static void test_http2(void) {
    buffer bytes = {0};
    if (!http2_available()) return;
    frames(&bytes, "SETTINGS 3=100,4=100000\nSETTINGS ack\nHEADERS 1 :status=103|link=x\n"
                   "HEADERS 1 open :status=200|server=x\nrepeat 40 CONTINUATION 1 open a=b\n"
                   "CONTINUATION 1 c=d\nrepeat 50 DATA 1 x*16384\nPING\nDATA 3 late\n"
                   "WINDOW_UPDATE 1 5\nHEADERS 1 end t=x\nHEADERS 5 :status=200|a b=c\n"
                   "GOAWAY 5 0");
    torture("calls over HTTP/2", talk_http2, &bytes);
}

static void test_event_stream(void) {
    buffer bytes = {0};
    say_text(&bytes, "\xEF\xBB\xEFx\nid: 1\nevent: delta\n");
    for (int i = 0; i < 200; i++) say_text(&bytes, "data: line\n");
    say_text(&bytes, "\nevent: a type that is kept\ndata: x\n\nid: 2\ndata");
    torture("an event stream", read_event_stream, &bytes);
}

static void test_json(void) {
    buffer bytes = {0};
    say_text(&bytes, "{\"items\":[\"");
    for (int i = 0; i < 1000; i++) say_text(&bytes, "a long text");
    say_text(&bytes, "\",");
    for (int i = 0; i < 1000; i++) say_text(&bytes, "[");
    for (int i = 0; i < 1000; i++) say_text(&bytes, "]");
    say_text(&bytes, "]}");
    torture("values of JSON", read_json, &bytes);
}

int main(void) {
    RUN(test_http1());
    RUN(test_http2());
    RUN(test_inflaters());
    RUN(test_event_stream());
    RUN(test_json());
    return check_report();
}
