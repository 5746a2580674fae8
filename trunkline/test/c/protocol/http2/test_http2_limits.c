#include "http2_rows.h"
#include "protocol/budget.h"

/* Limits apply exactly at their edge, and endless frames end the connection. */

#define OK "HEADERS 1 :status=200"
#define FAILS(code) "1: " code "\nsent RST_STREAM 1 2\n"

static const http1_limits small = {
    .head_bytes = 100, .fields = 3, .trailer_bytes = 80, .informational = 2};

/* ":status: 200" counts 42, and each field 32 more than its bytes (RFC 9113 6.5.2). */
static const http2_row sections[] = {
    ROW("a head as large as allowed", OK "|a=0123456789012345678901234\nDATA 1 x",
        "1: 200\n1: a: 0123456789012345678901234\n1: x\n", .plan.limits = &small),
    ROW("a head larger by one", OK "|a=01234567890123456789012345\nDATA 1 x",
        FAILS("HEAD_TOO_LARGE"), .plan.limits = &small),
    ROW("a head too large by its fields alone", OK "|a=|b=", FAILS("HEAD_TOO_LARGE"),
        .plan.limits = &small),
    ROW("trailers as large as allowed", OK "\nHEADERS 1 end a=|b=01234567890123",
        "1: 200\n1: + a: \n1: + b: 01234567890123\n1: ended\n", .plan.limits = &small),
    ROW("trailers larger by one", OK "\nHEADERS 1 end a=|b=012345678901234",
        "1: 200\n" FAILS("TRAILER_TOO_LARGE"), .plan.limits = &small),
    ROW("as many 1xx as allowed", "repeat 2 HEADERS 1 :status=103\n" OK, "1: 103\n1: 103\n1: 200\n",
        .plan.limits = &small),
    ROW("one 1xx more", "repeat 3 HEADERS 1 :status=103\n" OK,
        "1: 103\n1: 103\n" FAILS("INFORMATIONAL_LIMIT"), .plan.limits = &small),
    ROW("the others go on", OK "|a=|b=\nHEADERS 3 end :status=200",
        "1: HEAD_TOO_LARGE\n3: 200\n3: ended\nsent RST_STREAM 1 2\n", .plan.limits = &small,
        .plan.streams = 2),
};

static const http1_limits few = {.head_bytes = 65536, .fields = 3, .trailer_bytes = 8192};

static const http2_row counts[] = {
    ROW("as many fields as allowed", OK "|a=1|a=2|a=3", "1: 200\n1: a: 1\n1: a: 2\n1: a: 3\n",
        .plan.limits = &few),
    ROW("one more", OK "|a=1|a=2|a=3|a=4", FAILS("TOO_MANY_FIELDS"), .plan.limits = &few),
    ROW("too many in the trailers", OK "\nHEADERS 1 end a=1|a=2|a=3|a=4",
        "1: 200\n" FAILS("TOO_MANY_FIELDS"), .plan.limits = &few),
};

/* Limits that a few frames can exceed. */
static const http2_limits calm = {.stream_window = 65535,
                                  .narrow_window = 65535,
                                  .connection_window = 1 << 20,
                                  .header_list = 65536,
                                  .streams = 10,
                                  .idle_frames = 20};

#define OK_END "HEADERS 1 end :status=200"
#define DONE "1: 200\n1: ended\n"
#define FAILED "1: HTTP2_FLOOD\n"
#define FLOODED "sent GOAWAY 0 11\nHTTP2_FLOOD: frames that carry nothing\n"
#define FLOOD(words, frames, out) ROW(words, frames, out FLOODED, .plan.session_limits = &calm)

/* The SETTINGS frame and the acknowledgement before each script count as well. */
static const http2_row floods[] = {
    FLOOD("empty data", OK "\nrepeat 100 DATA 1", "1: 200\n" FAILED),
    FLOOD("padding alone", OK "\nrepeat 100 DATA 1 pad=200", "1: 200\n" FAILED),
    FLOOD("priorities", "repeat 100 PRIORITY 1", FAILED),
    FLOOD("frames of unknown types", "repeat 100 FRAME 77 0 x", FAILED),
    FLOOD("frames of unknown types on a stream", "repeat 100 FRAME 77 1 x", FAILED),
    FLOOD("windows of the connection", "repeat 100 WINDOW_UPDATE 0 1", FAILED),
    FLOOD("windows of a stream", "repeat 100 WINDOW_UPDATE 1 1", FAILED),
    FLOOD("windows of a stream that is no more", OK_END "\nrepeat 100 WINDOW_UPDATE 1 1", DONE),
    FLOOD("resets of a stream that is no more", OK_END "\nrepeat 100 RST_STREAM 1 8", DONE),
    FLOOD("heads for a stream that was reset", OK "|connection=close\nrepeat 100 " OK,
          "1: HTTP2_MALFORMED\nsent RST_STREAM 1 1\n"),
    FLOOD("pings answered that were not sent", "repeat 100 PING ack", FAILED),
    FLOOD("notices of a goodbye", "repeat 100 GOAWAY 2147483647 0", FAILED),
};

static const http2_row no_floods[] = {
    ROW("data in small pieces", OK "\nrepeat 1000 DATA 1 x", "1: 200\n1: 1000 bytes\n",
        .plan.session_limits = &calm),
    ROW("data between what carries nothing",
        OK "\nrepeat 15 PRIORITY 1\nDATA 1 a\nrepeat 15 PRIORITY 1\nDATA 1 b\nrepeat 15 DATA 1\n"
           "DATA 1 pad=10 c",
        "1: 200\n1: abc\n", .plan.session_limits = &calm),
    ROW("as many CONTINUATION as allowed",
        "HEADERS 1 open end :status=200\nrepeat 63 CONTINUATION 1 open\nCONTINUATION 1 a=b",
        "1: 200\n1: a: b\n1: ended\n"),
};

#undef FLOOD
#define ENDLESS(words) "1: HTTP2_FLOOD\nsent GOAWAY 0 11\nHTTP2_FLOOD: " words "\n"

static const http2_row continuations[] = {
    ROW("CONTINUATION without end",
        "HEADERS 1 open end :status=200\nrepeat 65 CONTINUATION 1 open a=b",
        ENDLESS("CONTINUATION without end")),
    ROW("CONTINUATION without end or content",
        "HEADERS 1 open end :status=200\nrepeat 65 CONTINUATION 1 open",
        ENDLESS("CONTINUATION without end")),
    ROW("CONTINUATION for a head that was refused",
        "HEADERS 1 open :status=200|connection=close\nrepeat 65 CONTINUATION 1 open a=b",
        "1: HTTP2_MALFORMED\nsent RST_STREAM 1 1\nsent GOAWAY 0 11\n"
        "HTTP2_FLOOD: CONTINUATION without end\n"),
    ROW("CONTINUATION for a stream that was reset",
        OK "|connection=close\nHEADERS 1 open :status=200\nrepeat 65 CONTINUATION 1 open a=b",
        "1: HTTP2_MALFORMED\nsent RST_STREAM 1 1\nsent GOAWAY 0 11\n"
        "HTTP2_FLOOD: CONTINUATION without end\n"),
};

/* ---- floods that require responses ---- */

static void expect_flood(const char *title, const char *script, bool read_answers) {
    check_case("%s", title);
    http2_play p;
    const http2_plan plan = {.session_limits = &calm};
    buffer bytes = {0};
    play_begin(&p, &plan);
    frames(&bytes, "SETTINGS\nSETTINGS ack");
    frames(&bytes, script);
    failure_code failure = FAILURE_NONE;
    for (size_t at = 0; at < buffer_length(&bytes); at++) {
        failure = http2_input(p.session, bytes.bytes + at, 1);
        if (read_answers) play_output(&p);
    }
    CHECK(failure == FAILURE_HTTP2_FLOOD, "%s: %s", title, failure_name(failure));
    play_output(&p);
    CHECK(buffer_length(&p.sent) < 2000, "%s: %zu bytes of answers", title, buffer_length(&p.sent));
    CHECK(!http2_wants_output(p.session), "%s: nothing is left to be said", title);
    buffer_free(&bytes);
    play_end(&p);
}

static void test_answers(void) {
    expect_flood("pings", "repeat 100 PING", true);
    expect_flood("settings", "repeat 100 SETTINGS 3=100", true);
    expect_flood("pings, answers unread", "repeat 100 PING", false);
    /* Each DATA frame carries data, so that only the unsent PING responses accumulate. */
    char script[4096] = OK;
    for (int i = 0; i < 100; i++) strcat(script, "\nPING\nDATA 1 x");
    expect_flood("pings between data, answers unread", script, false);
}

static void test_calm(void) {
    http2_play p;
    const http2_plan plan = {.session_limits = &calm};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nSETTINGS ack", SIZE_MAX);
    for (int i = 0; i < 100; i++) {
        play_script(&p, "repeat 10 PING", SIZE_MAX);
        http2_reset_idle_frames(p.session);
    }
    CHECK(p.failure == FAILURE_NONE, "pings over hours: %s", failure_name(p.failure));
    play_end(&p);
}

/* ---- number of streams ---- */

static bool opens(http2 *h, uint32_t *count) {
    bool opened = http2_request(h, "http", PLAY_HEAD, strlen(PLAY_HEAD), false, false,
                                &http1_default_limits, NULL) != NULL;
    if (opened) ++*count;
    return opened;
}

static void test_room(void) {
    http2_play p;
    http2_plan plan = {0};
    uint32_t count = 1;
    play_begin(&p, &plan);
    while (opens(p.session, &count)) continue;
    CHECK(count == 100, "%u streams before SETTINGS came", count);
    play_script(&p, "SETTINGS 3=200", SIZE_MAX);
    CHECK(http2_room(p.session) == 100, "room for %u more", http2_room(p.session));
    play_script(&p, "SETTINGS 3=50", SIZE_MAX);
    CHECK(http2_room(p.session) == 0 && http2_max_streams(p.session) == 50, "fewer are allowed");
    CHECK(http2_open_streams(p.session) == 100, "%u are open", http2_open_streams(p.session));
    play_end(&p);
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS", SIZE_MAX);
    CHECK(http2_max_streams(p.session) == 1000, "our own limit holds where the server has none");
    play_script(&p, "SETTINGS 3=0", SIZE_MAX);
    CHECK(http2_room(p.session) == 0, "none is allowed");
    CHECK(!http2_closing(p.session), "but it is not closing");
    play_end(&p);
}

/* ---- windows ---- */

/* The sum of the window increments that were sent for this stream. */
static uint64_t window_given(const buffer *sent, uint32_t stream) {
    uint64_t sum = 0;
    for (size_t at = PREFACE_LENGTH; at + 9 <= sent->end;) {
        const uint8_t *head = sent->bytes + at;
        if (head[3] == 8 && frame_read(head + 5, 4) == stream) sum += frame_read(head + 9, 4);
        at += 9 + frame_read(head, 3);
    }
    return sum;
}

static void input(http2_play *p, const char *script) {
    buffer bytes = {0};
    frames(&bytes, script);
    failure_code failure = http2_input(p->session, bytes.bytes, buffer_length(&bytes));
    if (p->failure == FAILURE_NONE) p->failure = failure;
    play_output(p);
    buffer_free(&bytes);
}

static void took(http2_play *p, http2_stream *s, size_t count) {
    buffer_consume(&s->data, count);
    http2_consumed(p->session, s, count);
    play_output(p);
}

static void test_back_pressure(void) {
    http2_play p;
    const http2_plan plan = {0};
    play_begin(&p, &plan);
    uint64_t at_first = window_given(&p.sent, 0);
    CHECK(at_first == 16 * 1024 * 1024 - 65535, "the connection's window is widened at once");
    input(&p, "SETTINGS\nSETTINGS ack\n" OK "\nrepeat 64 DATA 1 x*16384");
    http2_stream *s = p.streams[0];
    CHECK(buffer_length(&s->data) == 1024 * 1024, "all of the stream's window lies in it");
    CHECK(window_given(&p.sent, 1) == 0, "and is not opened again before it is taken");
    took(&p, s, 600 * 1024);
    CHECK(window_given(&p.sent, 1) == 600 * 1024, "%llu bytes may come for what was taken",
          (unsigned long long)window_given(&p.sent, 1));
    input(&p, "repeat 37 DATA 1 x*16384");
    CHECK(p.failure == FAILURE_NONE && s->failure == FAILURE_NONE, "more comes for what was taken");
    play_end(&p);
}

#define FULL (1024 * 1024)
#define NARROW (64 * 1024)

/* Two streams have full windows; the window of a third then takes the budget beyond its half. */
static void with_half_of_the_budget_gone(http2_play *p) {
    const http2_plan plan = {.streams = 2};
    budget_set(4 * FULL + 1);
    play_begin(p, &plan);
    CHECK(budget_used() == 2 * FULL, "a stream reserves its window");
    input(p, "SETTINGS\nSETTINGS ack\n" OK);
    uint32_t count;
    CHECK(opens(p->session, &count), "a third may be open");
    CHECK(budget_used() == 2 * FULL + NARROW, "with a narrow window");
    play_output(p);
}

static void test_windows_become_narrow_when_half_of_the_budget_is_gone(void) {
    http2_play p;
    with_half_of_the_budget_gone(&p);
    http2_stream *s = p.streams[0];
    input(&p, "repeat 64 DATA 1 x*16384\nSETTINGS ack");
    CHECK(p.failure == FAILURE_NONE, "what comes before the server knows is taken");
    CHECK(budget_used() == FULL + 2 * NARROW, "what lies there stays reserved, and no more");
    took(&p, s, FULL);
    CHECK(window_given(&p.sent, 1) <= FULL, "the server may send a window's worth again");
    input(&p, "HEADERS 3 :status=200\nrepeat 4 DATA 3 x*16384");
    CHECK(p.failure == FAILURE_NONE, "a narrow window is kept to");
    input(&p, "DATA 3 x");
    CHECK(p.streams[1]->failure != FAILURE_NONE || p.failure != FAILURE_NONE, "strictly");
    play_end(&p);
    budget_set(0);
    CHECK(budget_used() == 0, "all is given back");
}

static void test_what_is_taken_gets_a_full_window(void) {
    http2_play p;
    with_half_of_the_budget_gone(&p);
    http2_stream *s = p.streams[0];
    input(&p, "SETTINGS ack\nrepeat 2 DATA 1 x*16384");
    CHECK(budget_used() == 3 * NARROW, "all windows are narrow");
    took(&p, s, 32 * 1024);
    CHECK(budget_used() == FULL + 2 * NARROW, "that of an answer that is taken becomes full");
    CHECK(window_given(&p.sent, 1) == FULL - NARROW, "and the server is told");
    input(&p, "repeat 62 DATA 1 x*16384");
    CHECK(p.failure == FAILURE_NONE && s->failure == FAILURE_NONE, "so that all of it may come");
    play_end(&p);
    budget_set(0);
    CHECK(budget_used() == 0, "all is given back");
}

static void test_no_stream_without_a_budget(void) {
    http2_play p;
    const http2_plan plan = {0};
    budget_set(2 * NARROW + 1);
    play_begin(&p, &plan);
    uint32_t count;
    CHECK(opens(p.session, &count), "two may be open");
    CHECK(!opens(p.session, &count), "and no more");
    http2_release(p.session, p.streams[0]);
    p.streams[0] = NULL;
    play_output(&p);
    CHECK(budget_used() == NARROW, "what one had is given back with it");
    CHECK(opens(p.session, &count), "and another may be open");
    play_end(&p);
    budget_set(0);
    CHECK(budget_used() == 0, "all is given back");
}

/* 20 streams are released, each after a full window of data, of which one part arrived before the
 * release and the other after it: together more than the connection's window. */
static void test_connection_window(bool late) {
    http2_play p;
    http2_plan plan = {0};
    play_begin(&p, &plan);
    http2_release(p.session, p.streams[0]);
    input(&p, "SETTINGS\nSETTINGS ack");
    for (uint32_t id = 3; id < 43; id += 2) {
        uint32_t count;
        char script[128];
        opens(p.session, &count);
        play_output(&p);
        http2_stream *s = http2_next_changed(p.session);
        CHECK(s == NULL, "nothing came for it yet");
        snprintf(script, sizeof(script), "HEADERS %u :status=200\nrepeat 30 DATA %u x*16384", id,
                 id);
        input(&p, script);
        s = http2_next_changed(p.session);
        CHECK(s != NULL && s->id == (int32_t)id, "it came for %u", id);
        http2_release(p.session, s);
        if (late) play_output(&p);
        snprintf(script, sizeof(script), "repeat 34 DATA %u x*16384", id);
        input(&p, script);
    }
    CHECK(p.failure == FAILURE_NONE, "%s %s", failure_name(p.failure), http2_detail(p.session));
    uint64_t given = window_given(&p.sent, 0) - (16 * 1024 * 1024 - 65535);
    CHECK(given >= 12 * 1024 * 1024, "the connection's window was opened for %llu bytes",
          (unsigned long long)given);
    play_end(&p);
}

static void test_late_data(void) {
    http2_play p;
    const http2_plan plan = {0};
    play_begin(&p, &plan);
    input(&p, "SETTINGS\nSETTINGS ack\n" OK);
    http2_release(p.session, p.streams[0]);
    play_output(&p);
    input(&p, "repeat 64 DATA 1 x*16384");
    CHECK(p.failure == FAILURE_NONE, "what the stream's window held may come too late");
    input(&p, "DATA 1 x");
    CHECK(p.failure == FAILURE_HTTP2_PROTOCOL, "but no more: %s", failure_name(p.failure));
    play_end(&p);
}

int main(void) {
    if (!http2_available()) return 0;
    RUN_ROWS(sections);
    RUN_ROWS(counts);
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        check_case("floods: %s", floods[i].title);
        run_row(&floods[i], SIZE_MAX);
    }
    RUN_ROWS(no_floods);
    RUN_ROWS(continuations);
    RUN(test_answers());
    RUN(test_calm());
    RUN(test_room());
    RUN(test_back_pressure());
    RUN(test_windows_become_narrow_when_half_of_the_budget_is_gone());
    RUN(test_what_is_taken_gets_a_full_window());
    RUN(test_no_stream_without_a_budget());
    RUN(test_connection_window(false));
    RUN(test_connection_window(true));
    RUN(test_late_data());
    return check_report();
}
