#include "http2_rows.h"

/* Frames that a server may send for a request, and frames that it may not send. */

#define OK "HEADERS 1 :status=200"
#define OK_END "HEADERS 1 end :status=200"

static const http2_row answers[] = {
    ROW("a head alone", OK_END, "1: 200\n1: ended\n"),
    ROW("a head and data", OK "|server=x|empty=\nDATA 1 hel\nDATA 1 end lo",
        "1: 200\n1: server: x\n1: empty: \n1: hello\n1: ended\n"),
    ROW("an end of its own", OK "\nDATA 1 hello\nDATA 1 end", "1: 200\n1: hello\n1: ended\n"),
    ROW("padding", OK "\nDATA 1 pad=100 hello\nDATA 1 end pad=255", "1: 200\n1: hello\n1: ended\n"),
    ROW("a length", OK "|content-length=5\nDATA 1 end hello",
        "1: 200 length=5\n1: content-length: 5\n1: hello\n1: ended\n"),
    ROW("not complete yet", OK "\nDATA 1 hello", "1: 200\n1: hello\n"),
    ROW("more data than one frame holds", OK "\nrepeat 30 DATA 1 x*16384\nDATA 1 end",
        "1: 200\n1: 491520 bytes\n1: ended\n"),
    ROW("trailers", OK "\nDATA 1 hello\nHEADERS 1 end a=b|c=d",
        "1: 200\n1: hello\n1: + a: b\n1: + c: d\n1: ended\n"),
    ROW("trailers without data", OK "\nHEADERS 1 end a=b", "1: 200\n1: + a: b\n1: ended\n"),
    ROW("1xx before the answer",
        "HEADERS 1 :status=100\nHEADERS 1 :status=103|link=a\nHEADERS 1 :status=103|link=b\n" OK
        "|server=x\nDATA 1 end hello",
        "1: 100\n1: 103\n1: link: a\n1: 103\n1: link: b\n1: 200\n1: server: x\n1: hello\n"
        "1: ended\n"),
    ROW("1xx, then trailers",
        "HEADERS 1 :status=103|link=a\n" OK "\nDATA 1 hello\nHEADERS 1 end t=x",
        "1: 103\n1: link: a\n1: 200\n1: hello\n1: + t: x\n1: ended\n"),
    ROW("repeated fields are kept in order", OK_END "|set-cookie=a|b=1|set-cookie=c",
        "1: 200\n1: set-cookie: a\n1: b: 1\n1: set-cookie: c\n1: ended\n"),
    ROW("a head in several frames",
        "HEADERS 1 open end :status=200\nCONTINUATION 1 open a=b\nCONTINUATION 1 open\n"
        "CONTINUATION 1 c=d",
        "1: 200\n1: a: b\n1: c: d\n1: ended\n"),
    ROW("no content", "HEADERS 1 end :status=204", "1: 204\n1: ended\n"),
    ROW("no content, with an empty frame", "HEADERS 1 :status=204\nDATA 1 end",
        "1: 204\n1: ended\n"),
    ROW("not modified, with a length", "HEADERS 1 end :status=304|content-length=100",
        "1: 304 length=100\n1: content-length: 100\n1: ended\n"),
    ROW("the answer to HEAD", OK_END "|content-length=100",
        "1: 200 length=100\n1: content-length: 100\n1: ended\n", .plan.head_request = true),
    ROW("frames of types that nobody knows", "FRAME 77 0 x\nFRAME 78 1 y\n" OK_END,
        "1: 200\n1: ended\n"),
    ROW("priorities", "PRIORITY 3\nPRIORITY 1\n" OK_END, "1: 200\n1: ended\n"),
    ROW("answers in another order, mixed",
        "HEADERS 5 :status=205\nHEADERS 1 :status=201\nDATA 5 five\nDATA 1 o\n"
        "HEADERS 3 end :status=203\nDATA 1 end ne\nDATA 5 end",
        "1: 201\n1: one\n1: ended\n3: 203\n3: ended\n5: 205\n5: five\n5: ended\n",
        .plan.streams = 3),
    ROW("a ping", "PING", "sent PING 0 ack\n"),
};

#define FAILS(code) "1: " code "\nsent RST_STREAM 1 1\n"

static const http2_row malformed[] = {
    ROW("fewer data than told", OK "|content-length=5\nDATA 1 end hell",
        "1: 200 length=5\n1: content-length: 5\n1: hell\n" FAILS("TRUNCATED")),
    ROW("no data where some were told", OK_END "|content-length=5", FAILS("HTTP2_MALFORMED")),
    ROW("more data than told", OK "|content-length=5\nDATA 1 end hello!",
        "1: 200 length=5\n1: content-length: 5\n" FAILS("HTTP2_MALFORMED")),
    ROW("two lengths", OK "|content-length=5|content-length=6\nDATA 1 hello",
        FAILS("HTTP2_MALFORMED")),
    ROW("a length that is no number", OK "|content-length=5x", FAILS("HTTP2_MALFORMED")),
    ROW("a length beyond all numbers", OK "|content-length=9223372036854775808",
        FAILS("HTTP2_MALFORMED")),
    ROW("data for HEAD", OK "\nDATA 1 end x", "1: 200\n" FAILS("HTTP2_MALFORMED"),
        .plan.head_request = true),
    ROW("data with 204", "HEADERS 1 :status=204\nDATA 1 end x",
        "1: 204\n" FAILS("HTTP2_MALFORMED")),
    ROW("data with 304", "HEADERS 1 :status=304\nDATA 1 end x",
        "1: 304\n" FAILS("HTTP2_MALFORMED")),
    ROW("switched protocols", "HEADERS 1 :status=101", FAILS("HTTP2_MALFORMED")),
    ROW("no status", "HEADERS 1 a=b", FAILS("HTTP2_MALFORMED")),
    ROW("no field at all", "HEADERS 1 end", FAILS("HTTP2_MALFORMED")),
    ROW("a status of four digits", "HEADERS 1 :status=2000", FAILS("HTTP2_MALFORMED")),
    ROW("two statuses", OK "|:status=200", FAILS("HTTP2_MALFORMED")),
    ROW("a status behind a field", "HEADERS 1 a=b|:status=200", FAILS("HTTP2_MALFORMED")),
    ROW("a pseudo-header of requests", OK "|:path=/", FAILS("HTTP2_MALFORMED")),
    ROW("a pseudo-header in trailers", OK "\nHEADERS 1 end :status=200",
        "1: 200\n" FAILS("HTTP2_MALFORMED")),
    ROW("trailers that do not end", OK "\nHEADERS 1 a=b", "1: 200\n" FAILS("HTTP2_MALFORMED")),
    ROW("a 1xx that ends", "HEADERS 1 end :status=103", FAILS("HTTP2_MALFORMED")),
    ROW("data behind a 1xx", "HEADERS 1 :status=103\nDATA 1 x",
        "1: 103\n" FAILS("HTTP2_MALFORMED")),
    ROW("a connection's field", OK "|connection=close", FAILS("HTTP2_MALFORMED")),
    ROW("transfer-encoding", OK "|transfer-encoding=chunked", FAILS("HTTP2_MALFORMED")),
    ROW("a capital in a name", OK "|Server=x", FAILS("HTTP2_MALFORMED")),
    ROW("a space in a name", OK "|a b=x", FAILS("FIELD_NAME")),
    ROW("no name", "HEX 00000b010400000001880000017800000178", FAILS("FIELD_NAME")),
    ROW("a line end in a value",
        "HEX 00000a010400000001880001610378"
        "0d79"
        "",
        FAILS("FIELD_VALUE")),
    ROW("NUL in a value",
        "HEX 00000a01040000000188000161037800"
        "79",
        FAILS("FIELD_VALUE")),
    ROW("a head that was under way", OK "|connection=close\n" OK_END, FAILS("HTTP2_MALFORMED")),
    ROW("the others go on", OK "|connection=close\nHEADERS 3 end :status=200",
        "1: HTTP2_MALFORMED\n3: 200\n3: ended\nsent RST_STREAM 1 1\n", .plan.streams = 2),
};

static const http2_row resets[] = {
    ROW("before the answer", "RST_STREAM 1 2", "1: HTTP2_RESET 2\n"),
    ROW("within the answer", OK "\nDATA 1 hel\nRST_STREAM 1 8",
        "1: 200\n1: hel\n1: HTTP2_RESET 8\n"),
    ROW("without an error, but before the end", OK "\nDATA 1 hel\nRST_STREAM 1 0",
        "1: 200\n1: hel\n1: HTTP2_RESET\n"),
    ROW("refused", "RST_STREAM 1 7", "1: HTTP2_REFUSED 7 unprocessed\n"),
    ROW("refused too late", OK "\nRST_STREAM 1 7", "1: 200\n1: HTTP2_REFUSED 7\n"),
    ROW("an answer is complete before the request is", OK_END,
        "1: 200\n1: ended\n1: upload stopped\n", .plan.body = true),
    ROW("and wants no more of it", OK_END "\nRST_STREAM 1 0",
        "1: 200\n1: ended\n1: upload stopped\n", .plan.body = true),
    ROW("a reset request", "RST_STREAM 1 0", "1: upload stopped\n1: HTTP2_RESET\n",
        .plan.body = true),
    ROW("the others go on", "RST_STREAM 1 2\nHEADERS 3 end :status=200",
        "1: HTTP2_RESET 2\n3: 200\n3: ended\n", .plan.streams = 2),
};

static const http2_row goodbyes[] = {
    ROW("streams above the last were not processed", "GOAWAY 1 0\n" OK_END,
        "1: 200\n1: ended\n3: HTTP2_GONE unprocessed\n5: HTTP2_GONE unprocessed\nclosing: \n",
        .plan.streams = 3),
    ROW("a notice", "GOAWAY 2147483647 0\n" OK_END, "1: 200\n1: ended\nclosing: \n"),
    ROW("a notice, then the end", "GOAWAY 2147483647 0\nGOAWAY 1 0",
        "3: HTTP2_GONE unprocessed\nclosing: \n", .plan.streams = 2),
    ROW("with an error", "GOAWAY 0 11 too many\x01 calls",
        "1: HTTP2_GONE 11 unprocessed\nclosing: GOAWAY with ENHANCE_YOUR_CALM: too many? calls\n"),
    ROW("one that grows", "GOAWAY 1 0\nGOAWAY 3 0",
        "1: HTTP2_PROTOCOL\n3: HTTP2_GONE unprocessed\nsent GOAWAY 0 1\n"
        "HTTP2_PROTOCOL: (PROTOCOL_ERROR)\n",
        .plan.streams = 2),
};

#define ENDS(code, words) "1: HTTP2_PROTOCOL\nsent GOAWAY 0 " code "\nHTTP2_PROTOCOL: " words "\n"
#define BREAKS ENDS("1", "(PROTOCOL_ERROR)")

static const http2_row breaches[] = {
    ROW("data on stream 0", "DATA 0 x", BREAKS),
    ROW("a head on stream 0", "HEADERS 0 :status=200", BREAKS),
    ROW("a stream never opened", "HEADERS 7 :status=200", BREAKS),
    ROW("a stream of the server's own", "HEADERS 2 :status=200", BREAKS),
    ROW("data before the head", "DATA 1 x", BREAKS),
    ROW("data behind the end", OK_END "\nDATA 1 x",
        "1: 200\n1: ended\nsent GOAWAY 0 5\n"
        "HTTP2_PROTOCOL: (STREAM_CLOSED)\n"),
    ROW("a head behind the end", OK_END "\n" OK_END,
        "1: 200\n1: ended\nsent GOAWAY 0 5\n"
        "HTTP2_PROTOCOL: (STREAM_CLOSED)\n"),
    ROW("a priority on stream 0", "PRIORITY 0", BREAKS),
    ROW("a push", "PUSH_PROMISE 1 2 :method=GET", BREAKS),
    ROW("a broken table", "HEX 000001010400000001c0", ENDS("9", "COMPRESSION_ERROR")),
    ROW("a frame between the parts of a head", "HEADERS 1 open :status=200\nPING", BREAKS),
    ROW("CONTINUATION of nothing", "CONTINUATION 1 a=b", BREAKS),
    ROW("a frame larger than allowed", "DATA 1 x*16385", ENDS("6", "(FRAME_SIZE_ERROR)")),
    ROW("a window beyond all numbers", "WINDOW_UPDATE 0 2147483647",
        ENDS("3", "FLOW_CONTROL_ERROR")),
    ROW("a window opened by nothing", "WINDOW_UPDATE 0 0", BREAKS),
    ROW("ENABLE_PUSH from a server", "SETTINGS 2=1", BREAKS),
    ROW("an initial window beyond all numbers", "SETTINGS 4=2147483648",
        ENDS("3", "(FLOW_CONTROL_ERROR)")),
    ROW("SETTINGS of seven bytes",
        "HEX 000007040000000000"
        "00030000006400",
        ENDS("6", "FRAME_SIZE_ERROR")),
    ROW("PING of seven bytes", "HEX 00000706000000000000000000000000",
        ENDS("6", "FRAME_SIZE_ERROR")),
    ROW("SETTINGS on a stream", "HEX 000000040000000001", BREAKS),
};

#define STRANGE(words) "1: HTTP2_NOT_SPOKEN\nsent GOAWAY 0 1\nHTTP2_NOT_SPOKEN: " words "\n"
#define NO_SETTINGS STRANGE("it did not begin with SETTINGS")

static const http2_row strangers[] = {
    ROW("HTTP/1.1", "HEX 485454502f312e31203430302042616420526571756573740d0a0d0a",
        STRANGE("it answered in HTTP/1"), .bare = true),
    ROW("a frame before SETTINGS", "PING", NO_SETTINGS, .bare = true),
    ROW("SETTINGS ack first", "SETTINGS ack", NO_SETTINGS, .bare = true),
    ROW("nonsense in SETTINGS", "SETTINGS 2=7", BREAKS, .bare = true),
};

/* Versions of nghttp2 differ in whether this error ends the stream or the connection. */
static void test_stream_window(void) {
    http2_play p;
    const http2_plan plan = {0};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nWINDOW_UPDATE 1 2147483647", SIZE_MAX);
    CHECK(p.streams[0]->failure == FAILURE_HTTP2_PROTOCOL, "%s",
          failure_name(p.streams[0]->failure));
    play_end(&p);
}

static void test_details(void) {
    http2_play p;
    const http2_plan plan = {0};
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nDATA 0 x", SIZE_MAX);
    CHECK(strcmp(http2_detail(p.session), "DATA: stream_id == 0 (PROTOCOL_ERROR)") == 0, "%s",
          http2_detail(p.session));
    play_end(&p);
    play_begin(&p, &plan);
    play_script(&p, "SETTINGS\nGOAWAY 1 2 x*5000", SIZE_MAX);
    size_t length = strlen(http2_detail(p.session));
    CHECK(length > 200 && length < 256, "%zu of the server's 5000 bytes are told", length);
    play_end(&p);
}

int main(void) {
    if (!http2_available()) return 0;
    RUN_ROWS(answers);
    RUN_ROWS(malformed);
    RUN_ROWS(resets);
    RUN_ROWS(goodbyes);
    RUN_ROWS(breaches);
    RUN_ROWS(strangers);
    RUN(test_stream_window());
    RUN(test_details());
    return check_report();
}
