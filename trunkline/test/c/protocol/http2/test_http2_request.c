#include "check.h"
#include "http2_driver.h"

#ifdef HAVE_NGHTTP2

#include "protocol/http2/http2_internal.h"

/* Request heads and bodies as a server would read them, and how much of them was sent. */

/* ---- heads ---- */

/* Writes all fields of the header sections in `sent`, with "!" before fields that must never be
 * indexed. */
static void say_headers(buffer *out, const buffer *sent) {
    nghttp2_hd_inflater *inflater;
    if (nghttp2_hd_inflate_new(&inflater) != 0) abort();
    for (size_t at = PREFACE_LENGTH; at + 9 <= sent->end;) {
        uint8_t *head = sent->bytes + at, *block = head + 9;
        uint32_t length = frame_read(head, 3);
        bool fields = head[3] == NGHTTP2_HEADERS || head[3] == NGHTTP2_CONTINUATION;
        bool last = head[4] & NGHTTP2_FLAG_END_HEADERS;
        at += 9 + length;
        while (fields) {
            nghttp2_nv nv;
            int flags = 0;
            ssize_t taken = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, block, length, last);
            if (taken < 0) abort();
            block += taken;
            length -= (uint32_t)taken;
            if (flags & NGHTTP2_HD_INFLATE_EMIT) {
                if (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) say_text(out, "!");
                say(out, nv.name, nv.namelen);
                say_text(out, ": ");
                say(out, nv.value, nv.valuelen);
                say_text(out, "\n");
            }
            if (flags & NGHTTP2_HD_INFLATE_FINAL) nghttp2_hd_inflate_end_headers(inflater);
            if (length == 0 && !(flags & NGHTTP2_HD_INFLATE_EMIT)) fields = false;
            if (flags & NGHTTP2_HD_INFLATE_FINAL) fields = false;
        }
    }
    nghttp2_hd_inflate_del(inflater);
}

typedef struct {
    const char *title, *head, *expected;
} head_row;

#define LINES(first, fields) first " HTTP/1.1\r\n" fields "\r\n"

static const head_row heads[] = {
    {"a plain one", LINES("GET /a?b=c", "Host: example.test:8443\r\nAccept: */*\r\n"),
     ":method: GET\n:scheme: https\n:authority: example.test:8443\n:path: /a?b=c\naccept: */*\n"},
    {"the host is not the first", LINES("GET /", "Accept: */*\r\nHOST: example.test\r\n"),
     ":method: GET\n:scheme: https\n:authority: example.test\n:path: /\naccept: */*\n"},
    {"what HTTP/2 has no room for",
     LINES("POST /", "Host: a\r\nConnection: keep-alive, Upgrade\r\nKeep-Alive: timeout=5\r\n"
                     "Transfer-Encoding: chunked\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n"
                     "Proxy-Connection: close\r\nTE: gzip\r\nContent-Type: text/plain\r\n"),
     ":method: POST\n:scheme: https\n:authority: a\n:path: /\ncontent-type: text/plain\n"},
    {"TE: trailers stays", LINES("GET /", "Host: a\r\nTE: Trailers\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /\nte: Trailers\n"},
    {"credentials are never indexed",
     LINES("GET /", "Host: a\r\nAuthorization: Basic eA==\r\nCookie: a=b\r\nX: y\r\n"
                    "Proxy-Authorization: z\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /\n!authorization: Basic eA==\n"
     "!cookie: a=b\nx: y\n!proxy-authorization: z\n"},
    {"blanks around values, and none", LINES("GET /", "Host: a\r\nA:  b \t\r\nC:\r\nD:e\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /\na: b\nc: \nd: e\n"},
    {"the server as a whole", LINES("OPTIONS *", "Host: a\r\n"),
     ":method: OPTIONS\n:scheme: https\n:authority: a\n:path: *\n"},
    {"a way through", LINES("CONNECT a:443", "Host: a:443\r\n"),
     ":method: CONNECT\n:authority: a:443\n"},
    {"an absolute target", LINES("GET http://a/b", "Host: a\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /b\n"},
    {"an absolute target without a path", LINES("GET http://a", "Host: a\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /\n"},
    {"a target that holds one", LINES("GET /?to=http://b/c", "Host: a\r\n"),
     ":method: GET\n:scheme: https\n:authority: a\n:path: /?to=http://b/c\n"},
    {"a switch to WebSocket",
     LINES("GET /chat?a=1", "Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n"),
     ":method: CONNECT\n:protocol: websocket\n:scheme: https\n:authority: a\n:path: /chat?a=1\n"
     "sec-websocket-version: 13\n"},
    {"a field without a colon", LINES("GET /", "Host: a\r\nnonsense\r\n"), "none"},
    {"no request line", "nonsense\r\n\r\n", "none"},
    {"nothing", "", "none"},
};

static http2_stream *ask(http2 *h, const char *head, bool body) {
    return http2_request(h, "https", head, strlen(head), body, false, &http1_default_limits, NULL);
}

static void test_heads(void) {
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        check_case("a head: %s", heads[i].title);
        http2 *h = http2_new(&http2_default_limits);
        buffer sent = {0}, out = {0};
        if (ask(h, heads[i].head, false) == NULL) say_text(&out, "none");
        http2_output(h, &sent, SIZE_MAX);
        say_headers(&out, &sent);
        say(&out, "", 1);
        CHECK(strcmp((char *)out.bytes, heads[i].expected) == 0, "%s: expected\n%s--- but was\n%s",
              heads[i].title, heads[i].expected, (char *)out.bytes);
        buffer_free(&sent);
        buffer_free(&out);
        http2_free(h);
    }
}

static void test_large_head(void) {
    http2 *h = http2_new(&http2_default_limits);
    buffer head = {0}, sent = {0}, out = {0};
    say_text(&head, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 10000; i++) say_text(&head, "Some-Name: some value\r\n");
    say(&head, "\r\n", 3);
    http2_stream *s = ask(h, (char *)head.bytes, false);
    http2_output(h, &sent, SIZE_MAX);
    say_headers(&out, &sent);
    CHECK(s->request_ends == buffer_length(&sent), "a head of several frames was sent");
    CHECK(buffer_length(&out) > 10000 * 22, "with all its fields");
    buffer_free(&head);
    buffer_free(&sent);
    buffer_free(&out);
    http2_free(h);
}

/* ---- extended CONNECT ---- */

#define CONNECT_HEAD "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"

static http2_connect_support said_after(const char *settings) {
    http2_play p;
    if (!play_begin(&p, &(http2_plan){0})) abort();
    play_script(&p, settings, 1);
    http2_connect_support said = http2_extended_connect(p.session);
    play_end(&p);
    return said;
}

static void test_what_the_server_said(void) {
    CHECK(said_after("") == HTTP2_CONNECT_UNKNOWN, "nothing came yet");
    CHECK(said_after("SETTINGS") == HTTP2_CONNECT_UNSUPPORTED, "SETTINGS without it");
    CHECK(said_after("SETTINGS 8=1") == HTTP2_CONNECT_SUPPORTED, "SETTINGS with it");
    CHECK(said_after("SETTINGS 8=0") == HTTP2_CONNECT_UNSUPPORTED, "SETTINGS that decline it");
}

static void test_the_request_ends_with_its_head(void) {
    http2 *h = http2_new(&http2_default_limits);
    buffer sent = {0};
    http2_stream *s = ask(h, CONNECT_HEAD, true);
    http2_output(h, &sent, SIZE_MAX);
    size_t head_end = buffer_length(&sent);
    CHECK(s->connects && s->request_ends == head_end, "it is sent");
    CHECK(s->wants_body, "and takes bytes");
    CHECK(http2_feed(h, s, "bytes", 5, false), "fed");
    CHECK(!s->wants_body, "one piece at a time");
    http2_output(h, &sent, SIZE_MAX);
    CHECK(s->wants_body && buffer_length(&sent) == head_end + 9 + 5, "they were framed");
    CHECK(s->request_ends == head_end, "after its end");
    buffer_free(&sent);
    http2_free(h);
}

/* ---- offsets of what was sent ---- */

static void test_offsets(void) {
    http2 *h = http2_new(&http2_default_limits);
    buffer sent = {0};
    http2_stream *a = ask(h, PLAY_HEAD, false), *b = ask(h, PLAY_HEAD, true);
    CHECK(a->head_begins == UINT64_MAX && a->request_ends == UINT64_MAX, "nothing was sent yet");
    CHECK(http2_wants_output(h), "but it waits");
    while (http2_wants_output(h)) {
        buffer piece = {0};
        http2_output(h, &piece, 1);
        say(&sent, piece.bytes, buffer_length(&piece));
        buffer_free(&piece);
    }
    CHECK(sent.bytes[a->head_begins + 3] == NGHTTP2_HEADERS, "the first head begins there");
    CHECK(a->request_ends == b->head_begins, "and ends where the other begins");
    CHECK(sent.bytes[b->head_begins + 3] == NGHTTP2_HEADERS, "the other begins there");
    CHECK(b->request_ends == UINT64_MAX, "its body is not sent");
    http2_feed(h, b, "hello", 5, true);
    http2_output(h, &sent, SIZE_MAX);
    CHECK(b->request_ends == buffer_length(&sent), "now it is");
    http2_stream *c = ask(h, PLAY_HEAD, false);
    http2_ping(h);
    buffer bytes = {0};
    frames(&bytes, "SETTINGS\nPING");
    http2_input(h, bytes.bytes, buffer_length(&bytes));
    http2_output(h, &sent, SIZE_MAX);
    CHECK(sent.bytes[c->head_begins + 3] == NGHTTP2_HEADERS, "answers to the server count too");
    CHECK(frame_read(sent.bytes + c->head_begins + 5, 4) == 5, "it is the third request's");
    buffer_free(&bytes);
    buffer_free(&sent);
    http2_free(h);
}

static void test_output_in_pieces(void) {
    http2 *h = http2_new(&http2_default_limits);
    buffer out = {0};
    static uint8_t body[60000];
    http2_stream *s = ask(h, PLAY_HEAD, true);
    http2_feed(h, s, body, sizeof(body), true);
    http2_output(h, &out, 20000);
    CHECK(buffer_length(&out) >= 20000 && buffer_length(&out) < 20000 + 16393, "%zu bytes",
          buffer_length(&out));
    size_t before = buffer_length(&out);
    http2_output(h, &out, 20000);
    CHECK(buffer_length(&out) == before, "enough was there");
    http2_output(h, &out, SIZE_MAX);
    CHECK(buffer_length(&out) > 60000 && !http2_wants_output(h), "all of it");
    buffer_free(&out);
    http2_free(h);
}

/* ---- bodies ---- */

static void expect_sent(http2_play *p, const char *title, const char *expected) {
    buffer out = {0};
    play_output(p);
    say_sent(&out, &p->sent, 2, "01");
    say(&out, "", 1);
    CHECK(strcmp((char *)out.bytes, expected) == 0, "%s: expected\n%s--- but was\n%s", title,
          expected, (char *)out.bytes);
    buffer_free(&out);
}

static void test_feeding(void) {
    http2_play p;
    const http2_plan plan = {.body = true};
    play_begin(&p, &plan);
    http2_stream *s = p.streams[0];
    CHECK(s->wants_body, "a body is wanted");
    expect_sent(&p, "the head", "sent HEADERS 1\n");
    CHECK(http2_feed(p.session, s, "one", 3, false) && !s->wants_body, "fed");
    CHECK(http2_next_changed(p.session) == NULL, "nothing changed yet");
    expect_sent(&p, "a piece", "sent HEADERS 1\nsent DATA 1 one\n");
    CHECK(s->wants_body && http2_next_changed(p.session) == s, "more is wanted");
    CHECK(http2_fed_and_framed(s) == 3, "%d bytes were framed", (int)http2_fed_and_framed(s));
    http2_feed(p.session, s, "", 0, false);
    CHECK(s->wants_body, "nothing was fed");
    http2_feed(p.session, s, "two", 3, false);
    http2_feed(p.session, s, "three", 5, false);
    expect_sent(&p, "two pieces", "sent HEADERS 1\nsent DATA 1 one\nsent DATA 1 twothree\n");
    http2_feed(p.session, s, "", 0, true);
    expect_sent(&p, "the end",
                "sent HEADERS 1\nsent DATA 1 one\nsent DATA 1 twothree\nsent DATA 1  end\n");
    CHECK(!s->wants_body && !s->upload_stopped, "that was all");
    play_end(&p);
}

static void test_feeding_at_once(void) {
    http2_play p;
    const http2_plan plan = {.body = true};
    play_begin(&p, &plan);
    http2_stream *s = ask(p.session, PLAY_HEAD, true);
    http2_feed(p.session, s, "all", 3, true);
    expect_sent(&p, "before its head was sent",
                "sent HEADERS 1\nsent HEADERS 3\nsent DATA 3 all end\n");
    play_end(&p);
}

static void test_closed_window(void) {
    static const uint8_t body[100000];
    http2_play p;
    const http2_plan plan = {.body = true};
    play_begin(&p, &plan);
    http2_stream *s = p.streams[0];
    play_script(&p, "SETTINGS", SIZE_MAX);
    http2_feed(p.session, s, body, sizeof(body), false);
    play_output(&p);
    CHECK(http2_fed_and_framed(s) == 65535, "%d bytes fit in", (int)http2_fed_and_framed(s));
    CHECK(!s->wants_body && !http2_wants_output(p.session), "no more is wanted");
    play_script(&p, "WINDOW_UPDATE 1 100000", SIZE_MAX);
    CHECK(http2_fed_and_framed(s) == 65535, "the connection's window is closed");
    play_script(&p, "WINDOW_UPDATE 0 100000", SIZE_MAX);
    CHECK(http2_fed_and_framed(s) == 100000 && s->wants_body, "both are open");
    play_end(&p);
}

/* The response arrives while the request's body is still being sent. */
static void test_early_answer(void) {
    http2_play p;
    const http2_plan plan = {.body = true};
    play_begin(&p, &plan);
    http2_stream *s = p.streams[0];
    http2_feed(p.session, s, "one", 3, false);
    play_output(&p);
    play_script(&p, "SETTINGS\nHEADERS 1 :status=413\nDATA 1 no", SIZE_MAX);
    CHECK(s->heads != NULL && s->heads->status == 413, "the head is there");
    CHECK(s->wants_body && !s->upload_stopped, "the body may still be sent");
    http2_feed(p.session, s, "two", 3, false);
    play_output(&p);
    CHECK(http2_fed_and_framed(s) == 6, "and is");
    play_script(&p, "DATA 1 end", SIZE_MAX);
    CHECK(s->ended && s->upload_stopped && !s->wants_body, "until the answer has ended");
    CHECK(http2_feed(p.session, s, "three", 5, true), "what is fed then is dropped");
    play_output(&p);
    CHECK(http2_fed_and_framed(s) == 6, "%d bytes were framed", (int)http2_fed_and_framed(s));
    CHECK(http2_open_streams(p.session) == 1, "it is open still");
    http2_release(p.session, s);
    p.streams[0] = NULL;
    play_output(&p);
    CHECK(http2_open_streams(p.session) == 0, "but is no more");
    play_end(&p);
}

/* ---- the ends of streams ---- */

static void test_release(void) {
    http2_play p;
    const http2_plan plan = {.streams = 3};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nHEADERS 1 :status=200\nDATA 1 some", SIZE_MAX);
    http2_release(p.session, p.streams[0]);
    p.streams[0] = NULL;
    CHECK(http2_open_streams(p.session) == 3, "it is open until the server is told");
    play_output(&p);
    CHECK(http2_open_streams(p.session) == 2, "two are left");
    play_script(&p, "DATA 1 end late\nHEADERS 3 end :status=200\nHEADERS 5 :status=200", 1);
    http2_stream *unsent = ask(p.session, PLAY_HEAD, false);
    http2_release(p.session, unsent);
    buffer out = {0};
    play_output(&p);
    say_play(&out, &p);
    say(&out, "", 1);
    CHECK(strcmp((char *)out.bytes, "3: 200\n3: ended\n5: 200\nsent SETTINGS 0 ack\n"
                                    "sent RST_STREAM 1 8\n") == 0,
          "%s", (char *)out.bytes);
    CHECK(http2_open_streams(p.session) == 1, "%u is left", http2_open_streams(p.session));
    buffer_free(&out);
    play_end(&p);
}

/* The connection ends with streams in different states. */
static void test_end(failure_code code, failure_code answered, failure_code sent, bool goaway) {
    http2_play p;
    const http2_plan plan = {.streams = 3};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nHEADERS 1 :status=200\nHEADERS 5 end :status=200", SIZE_MAX);
    http2_stream *unsent = goaway ? NULL : ask(p.session, PLAY_HEAD, false);
    if (goaway) play_script(&p, "GOAWAY 5 11", SIZE_MAX);
    http2_end(p.session, code);
    CHECK(p.streams[0]->failure == answered, "%s", failure_name(p.streams[0]->failure));
    CHECK(p.streams[1]->failure == sent, "%s", failure_name(p.streams[1]->failure));
    CHECK(!p.streams[1]->unprocessed, "the server may have it");
    CHECK(p.streams[2]->ended && p.streams[2]->failure == FAILURE_NONE, "it was complete");
    if (unsent != NULL) CHECK(unsent->unprocessed, "it was not sent");
    CHECK(http2_closing(p.session) && http2_room(p.session) == 0, "that was all");
    CHECK(!http2_wants_output(p.session) && !http2_ping(p.session), "nothing is to be said");
    for (int i = 0; i < 3; i++) http2_release(p.session, p.streams[i]);
    CHECK(http2_next_changed(p.session) == unsent, "the others are gone");
    play_end(&p);
}

/* The connection ends within the head, or within the trailer section, of one of two responses. */
static void test_end_in_a_section(const char *script, failure_code expected) {
    http2_play p;
    const http2_plan plan = {.streams = 2};
    play_begin(&p, &plan);
    play_script(&p, script, SIZE_MAX);
    http2_end(p.session, FAILURE_CLOSED);
    CHECK(p.streams[0]->failure == expected, "%s", failure_name(p.streams[0]->failure));
    CHECK(p.streams[1]->failure == FAILURE_CLOSED, "%s", failure_name(p.streams[1]->failure));
    play_end(&p);
}

static void test_connection(void) {
    http2_play p;
    const http2_plan plan = {0};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS", SIZE_MAX);
    CHECK(http2_ping(p.session) && http2_pings_acked(p.session) == 0, "a ping");
    play_script(&p, "PING ack\nPING ack", SIZE_MAX);
    CHECK(http2_pings_acked(p.session) == 1, "is answered once");
    http2_submit_goaway(p.session);
    http2_submit_goaway(p.session);
    CHECK(http2_closing(p.session) && ask(p.session, PLAY_HEAD, false) == NULL, "no more");
    play_script(&p, "HEADERS 1 end :status=200", SIZE_MAX);
    buffer out = {0};
    say_play(&out, &p);
    say(&out, "", 1);
    CHECK(strcmp((char *)out.bytes, "1: 200\n1: ended\nsent SETTINGS 0 ack\nsent PING 0\n"
                                    "sent GOAWAY 0 0\nclosing: \n") == 0,
          "%s", (char *)out.bytes);
    buffer_free(&out);
    play_end(&p);
}

/* Streams are reused, without any state of their previous use. */
static void test_many(void) {
    http2_play p;
    http2_plan plan = {0};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS 3=1000", SIZE_MAX);
    http2_release(p.session, p.streams[0]);
    for (uint32_t id = 3; id < 1000; id += 2) {
        char script[128];
        bool failing = id % 3 == 0;
        http2_stream *s = ask(p.session, PLAY_HEAD, true);
        http2_feed(p.session, s, "body", 4, true);
        play_output(&p);
        snprintf(script, sizeof(script), "HEADERS %u :status=200|content-length=1\n%s %u end x", id,
                 failing ? "RST_STREAM" : "DATA", id);
        buffer bytes = {0};
        frames(&bytes, script);
        http2_input(p.session, bytes.bytes, buffer_length(&bytes));
        buffer_free(&bytes);
        CHECK(s->id == (int32_t)id && s->ended == !failing, "%u: it ended", id);
        CHECK((s->failure == FAILURE_HTTP2_RESET) == failing, "%u: %s", id,
              failure_name(s->failure));
        CHECK(buffer_length(&s->data) == !failing && s->heads->next == NULL, "%u: its answer", id);
        http2_release(p.session, s);
    }
    CHECK(http2_next_changed(p.session) == NULL, "none is left");
    play_end(&p);
}

static void test_last_number(void) {
    http2 *h = http2_new(&http2_default_limits);
    nghttp2_session_set_next_stream_id(h->session, INT32_MAX - 2);
    CHECK(ask(h, PLAY_HEAD, false) != NULL && !http2_closing(h), "there is one more");
    http2_stream *last = ask(h, PLAY_HEAD, false);
    CHECK(last != NULL && last->id == INT32_MAX, "the last");
    CHECK(http2_closing(h) && http2_room(h) == 0, "its numbers are used up");
    CHECK(ask(h, PLAY_HEAD, false) == NULL, "there are no more");
    http2_free(h);
}

int main(void) {
    RUN(test_heads());
    RUN(test_large_head());
    RUN(test_what_the_server_said());
    RUN(test_the_request_ends_with_its_head());
    RUN(test_offsets());
    RUN(test_output_in_pieces());
    RUN(test_feeding());
    RUN(test_feeding_at_once());
    RUN(test_closed_window());
    RUN(test_early_answer());
    RUN(test_release());
    RUN(test_end(FAILURE_CLOSED, FAILURE_TRUNCATED, FAILURE_CLOSED, false));
    RUN(test_end(FAILURE_RESET, FAILURE_TRUNCATED, FAILURE_RESET, false));
    RUN(test_end(FAILURE_CLOSED, FAILURE_HTTP2_GONE, FAILURE_HTTP2_GONE, true));
    RUN(test_end_in_a_section("SETTINGS\nHEADERS 1 open :status=200", FAILURE_TRUNCATED_HEAD));
    RUN(test_end_in_a_section("SETTINGS\nHEADERS 1 :status=103\nHEADERS 1 open :status=200",
                              FAILURE_TRUNCATED_HEAD));
    RUN(test_end_in_a_section("SETTINGS\nHEADERS 1 :status=103", FAILURE_CLOSED));
    RUN(test_end_in_a_section("SETTINGS\nHEADERS 1 :status=200\nHEADERS 1 open end x=y",
                              FAILURE_TRUNCATED));
    RUN(test_connection());
    RUN(test_many());
    RUN(test_last_number());
    return check_report();
}

#else

int main(void) {
    CHECK(http2_new(&http2_default_limits) == NULL, "there is none without nghttp2");
    return check_report();
}

#endif
