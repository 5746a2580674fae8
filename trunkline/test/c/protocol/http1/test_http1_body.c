#include "http1_rows.h"

#define LENGTH_5 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
#define SAID_LENGTH_5 "1.1 200 OK length=5 persistent\nContent-Length: 5\n\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define SAID_CHUNKED "1.1 200 OK chunked persistent\nTransfer-Encoding: chunked\n\n"
#define UNTIL_CLOSE "HTTP/1.1 200 OK\r\n\r\n"
#define SAID_UNTIL_CLOSE "1.1 200 OK close\n\n"

static const http1_row by_length[] = {
    ROW("whole", LENGTH_5 "hello", SAID_LENGTH_5 "hello\ndone"),
    ROW("short", LENGTH_5 "hell", SAID_LENGTH_5 "hell\nmore"),
    ROW("short and closed", LENGTH_5 "hell", SAID_LENGTH_5 "hell\nTRUNCATED",
        .ending = DRIVE_CLOSED),
    ROW("short and cut", LENGTH_5 "hell", SAID_LENGTH_5 "hell\nTRUNCATED_TLS", .ending = DRIVE_CUT),
    ROW("nothing of it, and closed", LENGTH_5, SAID_LENGTH_5 "\nTRUNCATED", .ending = DRIVE_CLOSED),
    ROW("whole and cut: nothing is missing", LENGTH_5 "hello", SAID_LENGTH_5 "hello\ndone",
        .ending = DRIVE_CUT),
};

static const http1_row by_close[] = {
    ROW("open", UNTIL_CLOSE "all of this", SAID_UNTIL_CLOSE "all of this\nmore"),
    ROW("closed", UNTIL_CLOSE "all of this", SAID_UNTIL_CLOSE "all of this\ndone",
        .ending = DRIVE_CLOSED),
    ROW("closed at once", UNTIL_CLOSE, SAID_UNTIL_CLOSE "\ndone", .ending = DRIVE_CLOSED),
    ROW("cut", UNTIL_CLOSE "all of this", SAID_UNTIL_CLOSE "all of this\nTRUNCATED_TLS",
        .ending = DRIVE_CUT),
    ROW("HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nall of this", "1.0 200 OK close\n\nall of this\ndone",
        .ending = DRIVE_CLOSED),
    ROW("what looks like chunks is data", UNTIL_CLOSE "0\r\n\r\n",
        SAID_UNTIL_CLOSE "0\r\n\r\n\ndone", .ending = DRIVE_CLOSED),
};

static const http1_row chunks[] = {
    ROW("one", CHUNKED "5\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "hello\ndone"),
    ROW("several", CHUNKED "5\r\nhello\r\n1\r\n \r\n6\r\nworld!\r\n0\r\n\r\n",
        SAID_CHUNKED "hello world!\ndone"),
    ROW("sizes in both cases of hexadecimal",
        CHUNKED "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
        SAID_CHUNKED "01234567890123456789a\ndone"),
    ROW("line ends as data", CHUNKED "8\r\n\r\n0\r\n\r\nx\r\n0\r\n\r\n",
        SAID_CHUNKED "\r\n0\r\n\r\nx\ndone"),
    ROW("sixteen digits", CHUNKED "0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n",
        SAID_CHUNKED "hello\ndone"),
    ROW("seventeen digits", CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n",
        SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("the largest size", CHUNKED "7fffffffffffffff\r\nhello", SAID_CHUNKED "hello\nmore"),
    ROW("too large by one", CHUNKED "8000000000000000\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("all ones", CHUNKED "ffffffffffffffff\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("wraps around in 64 bits", CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n",
        SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("no size", CHUNKED "\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("only an extension", CHUNKED ";a=b\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("signed", CHUNKED "+5\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("negative", CHUNKED "-5\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("0x in front", CHUNKED "0x5\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("a blank in front", CHUNKED " 5\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("a blank behind", CHUNKED "5 \r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("a tab behind", CHUNKED "5\t;a\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("no hexadecimal digit", CHUNKED "5g\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("letters that are no digits", CHUNKED "xyz\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("an underscore", CHUNKED "1_0\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("NUL", CHUNKED "5\0\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("high bytes that fold onto letters", CHUNKED "\xc1\r\nhello", SAID_CHUNKED "\nCHUNK_SIZE"),
    ROW("bare LF behind the size", CHUNKED "5\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("bare LF behind the last size", CHUNKED "0\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("bare CR behind the size", CHUNKED "5\rhello\r\n0\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("other bytes behind the data", CHUNKED "5\r\nhelloXX0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_END"),
    ROW("data longer than its size", CHUNKED "4\r\nhello\r\n0\r\n\r\n",
        SAID_CHUNKED "hell\nCHUNK_END"),
    ROW("only LF behind the data", CHUNKED "5\r\nhello\n0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_END"),
    ROW("CR and another byte behind the data", CHUNKED "5\r\nhello\rX0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_END"),
    ROW("another byte and LF behind the data", CHUNKED "5\r\nhelloX\n0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_END"),
    ROW("LF CR behind the data", CHUNKED "5\r\nhello\n\r0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_END"),
    ROW("a line too many behind the data", CHUNKED "5\r\nhello\r\n\r\n0\r\n\r\n",
        SAID_CHUNKED "hello\nCHUNK_SIZE"),
    ROW("bare LF at the very end", CHUNKED "5\r\nhello\r\n0\r\n\n", SAID_CHUNKED "hello\ndone"),
    ROW("bare CR at the very end", CHUNKED "0\r\n\rX", SAID_CHUNKED "\nLINE_END"),
    ROW("no chunk at all, closed", CHUNKED, SAID_CHUNKED "\nTRUNCATED", .ending = DRIVE_CLOSED),
    ROW("cut in a chunk", CHUNKED "5\r\nhel", SAID_CHUNKED "hel\nTRUNCATED",
        .ending = DRIVE_CLOSED),
    ROW("no last chunk", CHUNKED "5\r\nhello\r\n", SAID_CHUNKED "hello\nTRUNCATED",
        .ending = DRIVE_CLOSED),
    ROW("no last chunk over TLS", CHUNKED "5\r\nhello\r\n", SAID_CHUNKED "hello\nTRUNCATED_TLS",
        .ending = DRIVE_CUT),
    ROW("no empty line behind the last chunk", CHUNKED "5\r\nhello\r\n0\r\n",
        SAID_CHUNKED "hello\nTRUNCATED", .ending = DRIVE_CLOSED),
    ROW("half of the last line end", CHUNKED "0\r\n\r", SAID_CHUNKED "\nTRUNCATED",
        .ending = DRIVE_CLOSED),
};

static const http1_row extensions[] = {
    ROW("name", CHUNKED "5;a\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "hello\ndone"),
    ROW("names and values, on the last too", CHUNKED "5;a=b; c = \"d;e\"\r\nhello\r\n0;f\r\n\r\n",
        SAID_CHUNKED "hello\ndone"),
    ROW("high bytes and tabs", CHUNKED "5;a=\xc3\xbc\t\r\nhello\r\n0\r\n\r\n",
        SAID_CHUNKED "hello\ndone"),
    ROW("LF in it", CHUNKED "5;a\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("LF in quotes", CHUNKED "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("bare CR in it", CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("NUL in it", CHUNKED "5;a\0\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nCHUNK_EXTENSION"),
    ROW("control in it", CHUNKED "5;\x01\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nCHUNK_EXTENSION"),
};

static const http1_row trailers[] = {
    ROW("one", CHUNKED "5\r\nhello\r\n0\r\nDigest: abc\r\n\r\n",
        SAID_CHUNKED "hello\n+ Digest: abc\ndone"),
    ROW("several, trimmed, repeated", CHUNKED "0\r\nA:  b \r\nC:\r\nA: d\r\n\r\n",
        SAID_CHUNKED "\n+ A: b\n+ C: \n+ A: d\ndone"),
    ROW("framing fields change nothing",
        CHUNKED "0\r\nContent-Length: x\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n",
        SAID_CHUNKED "\n+ Content-Length: x\n+ Transfer-Encoding: gzip\n+ Connection: close\ndone"),
    ROW("space before the colon", CHUNKED "0\r\nA : b\r\n\r\n", SAID_CHUNKED "\nFIELD_NAME"),
    ROW("space before the first", CHUNKED "0\r\n A: b\r\n\r\n", SAID_CHUNKED "\nFIELD_NAME"),
    ROW("folded", CHUNKED "0\r\nA: b\r\n c\r\nD: e\r\n\r\n",
        SAID_CHUNKED "\n+ A: b c\n+ D: e\ndone"),
    ROW("no colon: a next answer", CHUNKED "0\r\nHTTP/1.1 200 OK\r\n\r\n",
        SAID_CHUNKED "\nFIELD_NAME"),
    ROW("bare LF", CHUNKED "0\r\nA: b\n\r\n", SAID_CHUNKED "\n+ A: b\ndone"),
    ROW("bare CR", CHUNKED "0\r\nA: b\rc\r\n\r\n", SAID_CHUNKED "\nLINE_END"),
    ROW("NUL", CHUNKED "0\r\nA: b\0\r\n\r\n", SAID_CHUNKED "\nFIELD_VALUE"),
    ROW("cut", CHUNKED "0\r\nA: b\r\n", SAID_CHUNKED "\nTRUNCATED", .ending = DRIVE_CLOSED),
};

/* http1_unframed_bytes returns how many bytes of body data may be read directly into the caller's
 * buffer. */
static void test_expect(void) {
    uint8_t head[] = CHUNKED, until_close[] = UNTIL_CLOSE, length_5[] = LENGTH_5;
    http1_response r = {0};
    http1_piece piece;
    http1_begin(&r, &http1_default_limits, false);
    CHECK(http1_unframed_bytes(&r) == 0, "nothing is expected in a head");
    http1_head(&r, head, sizeof(head) - 1);
    CHECK(http1_unframed_bytes(&r) == 0, "nothing is expected before a chunk's size");
    CHECK(http1_body(&r, (const uint8_t *)"5\r\n", 3, &piece) == HTTP1_MORE, "the size is read");
    CHECK(http1_unframed_bytes(&r) == 5, "a chunk's data is expected");
    http1_consumed(&r, 3);
    CHECK(http1_unframed_bytes(&r) == 2, "its rest is expected");
    http1_consumed(&r, 2);
    CHECK(http1_unframed_bytes(&r) == 0, "nothing is expected behind a chunk");
    CHECK(http1_body(&r, (const uint8_t *)"\r\n0\r\n\r\n", 7, &piece) == HTTP1_DONE, "the end");
    CHECK(piece.consumed == 7 && http1_unframed_bytes(&r) == 0,
          "nothing is expected behind the end");
    http1_begin(&r, &http1_default_limits, false);
    http1_head(&r, until_close, sizeof(until_close) - 1);
    CHECK(http1_unframed_bytes(&r) == UINT64_MAX, "everything is expected until close");
    http1_consumed(&r, 100);
    CHECK(http1_unframed_bytes(&r) == UINT64_MAX, "still everything");
    http1_begin(&r, &http1_default_limits, false);
    http1_head(&r, length_5, sizeof(length_5) - 1);
    CHECK(http1_unframed_bytes(&r) == 5, "the length is expected");
    http1_consumed(&r, 5);
    CHECK(http1_body(&r, NULL, 0, &piece) == HTTP1_DONE, "it is complete without another byte");
    CHECK(http1_end(&r, false, 0) == HTTP1_DONE, "and stays so whatever the end is like");
    http1_free(&r);
}

/* The connection is not persistent after tolerated trailers that no server may send. */
static void test_tolerated_trailers(void) {
    static const struct {
        const char *trailers;
        bool persistent;
    } rows[] = {{"0\r\nA: b\r\n\r\n", true},
                {"0\r\nA: b\r\n c\r\n\r\n", false},
                {"0\r\nA: b\n\r\n", false},
                {"0\r\n\n", false}};
    uint8_t head[] = CHUNKED;
    http1_response r = {0};
    http1_piece piece;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint8_t *bytes = (const uint8_t *)rows[i].trailers;
        check_case("tolerated trailers, row %zu", i);
        http1_begin(&r, &http1_default_limits, false);
        http1_head(&r, head, sizeof(head) - 1);
        CHECK(r.persistent, "nothing is wrong with the head");
        CHECK(http1_body(&r, bytes, strlen(rows[i].trailers), &piece) == HTTP1_DONE, "the end");
        CHECK(r.persistent == rows[i].persistent, "trailers %zu", i);
    }
    http1_free(&r);
}

/* A failure is permanent, in whatever part of the response it occurred. */
static void test_failed_for_good(void) {
    uint8_t head[] = LENGTH_5, wrong[] = "X";
    http1_response r = {0};
    http1_piece piece;
    http1_begin(&r, &http1_default_limits, false);
    http1_head(&r, wrong, 1);
    CHECK(http1_head(&r, head, sizeof(head) - 1) == HTTP1_FAILED &&
              http1_body(&r, (const uint8_t *)"x", 1, &piece) == HTTP1_FAILED &&
              http1_end(&r, true, 1) == HTTP1_FAILED && r.failure == FAILURE_STATUS_LINE,
          "the first failure stays");
    CHECK(piece.consumed == 0 && http1_unframed_bytes(&r) == 0, "nothing is taken any more");
    http1_begin(&r, &http1_default_limits, false);
    CHECK(http1_head(&r, head, sizeof(head) - 1) == HTTP1_DONE && r.failure == FAILURE_NONE,
          "until the next answer begins");
    http1_free(&r);
}

int main(void) {
    RUN_ROWS(by_length);
    RUN_ROWS(by_close);
    RUN_ROWS(chunks);
    RUN_ROWS(extensions);
    RUN_ROWS(trailers);
    RUN(test_expect());
    RUN(test_tolerated_trailers());
    RUN(test_failed_for_good());
    return check_report();
}
