#include "check.h"
#include "http1_driver.h"

/* Limits apply to the received bytes, whole or in pieces, and exactly at their edge. */

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static void repeat(buffer *b, const char *text, size_t times) {
    while (times-- > 0) say_text(b, text);
}

static bool ends_in(buffer *bytes, const http1_limits *limits, size_t first, size_t then,
                    const char *expected) {
    http1_response r = {0};
    buffer out = {0};
    drive_plan plan = {limits, false, DRIVE_OPEN, first, then, false};
    drive(&out, &r, bytes->bytes, buffer_length(bytes), &plan);
    size_t length = strlen(expected), said = buffer_length(&out);
    bool same = said >= length && memcmp(out.bytes + said - length, expected, length) == 0;
    if (!same)
        printf("... %.*s\n", said < 200 ? (int)said : 200,
               out.bytes + (said < 200 ? 0 : said - 200));
    buffer_free(&out);
    http1_free(&r);
    return same;
}

/* Frees `bytes`, so that each case makes its own. */
static void expect(const char *title, buffer *bytes, const http1_limits *limits,
                   const char *expected) {
    check_case("%s", title);
    if (limits == NULL) limits = &http1_default_limits;
    CHECK(ends_in(bytes, limits, SIZE_MAX, 1, expected), "%s: whole", title);
    CHECK(ends_in(bytes, limits, 1, 1, expected), "%s: byte by byte", title);
    CHECK(ends_in(bytes, limits, 7, 1021, expected), "%s: in pieces", title);
    buffer_free(bytes);
}

static void head_of(buffer *bytes, size_t length) {
    say_text(bytes, OK "Content-Length: 0\r\nA: ");
    repeat(bytes, "x", length - buffer_length(bytes) - strlen("\r\n\r\n"));
    say_text(bytes, "\r\n\r\n");
}

static void test_head_bytes(void) {
    buffer bytes = {0};
    head_of(&bytes, 64 * 1024);
    expect("a head of 64 KiB", &bytes, NULL, "done");
    head_of(&bytes, 64 * 1024 + 1);
    expect("a head of one byte more", &bytes, NULL, "HEAD_TOO_LARGE");
    say_text(&bytes, OK "A: ");
    repeat(&bytes, "x", 200 * 1000);
    expect("a line that never ends", &bytes, NULL, "HEAD_TOO_LARGE");
    say_text(&bytes, "HTTP/1.1 200 ");
    repeat(&bytes, "x", 64 * 1024);
    expect("a reason that never ends", &bytes, NULL, "HEAD_TOO_LARGE");
    say_text(&bytes, OK);
    repeat(&bytes, "x", 64 * 1024);
    expect("a name that never ends", &bytes, NULL, "HEAD_TOO_LARGE");
    say_text(&bytes, OK "A:");
    repeat(&bytes, " ", 64 * 1024);
    expect("blanks that never end", &bytes, NULL, "HEAD_TOO_LARGE");
    head_of(&bytes, 64 * 1024 - 1);
    bytes.end -= 2;
    say_text(&bytes, "\x01: what lies behind the limit is not seen\r\n");
    expect("the limit comes before what is wrong behind it", &bytes, NULL, "FIELD_NAME");
    say_text(&bytes, OK "Content-Length: 3\r\n\r\n123");
    const http1_limits small = {.head_bytes = 40, .fields = 1};
    expect("a body does not count", &bytes, &small, "done");
    say_text(&bytes, OK);
    const http1_limits tiny = {.head_bytes = 5, .fields = 1};
    expect("a limit within the status line", &bytes, &tiny, "HEAD_TOO_LARGE");
}

static void test_fields(void) {
    buffer bytes = {0};
    say_text(&bytes, OK "Content-Length: 0\r\n");
    repeat(&bytes, "A: b\r\n", 199);
    say_text(&bytes, "\r\n");
    expect("200 fields", &bytes, NULL, "done");
    say_text(&bytes, OK "Content-Length: 0\r\n");
    repeat(&bytes, "A: b\r\n", 200);
    say_text(&bytes, "\r\n");
    expect("201 fields", &bytes, NULL, "TOO_MANY_FIELDS");
    say_text(&bytes, CHUNKED "0\r\n");
    repeat(&bytes, "A: b\r\n", 200);
    say_text(&bytes, "\r\n");
    expect("200 trailers", &bytes, NULL, "done");
    say_text(&bytes, CHUNKED "0\r\n");
    repeat(&bytes, "A: b\r\n", 201);
    expect("201 trailers", &bytes, NULL, "TOO_MANY_FIELDS");
}

static void test_trailer_bytes(void) {
    buffer bytes = {0};
    say_text(&bytes, CHUNKED "0\r\nA:");
    repeat(&bytes, "x", 8 * 1024 - strlen("A:\r\n\r\n"));
    say_text(&bytes, "\r\n\r\n");
    expect("trailers of 8 KiB", &bytes, NULL, "done");
    say_text(&bytes, CHUNKED "0\r\nA:");
    repeat(&bytes, "x", 8 * 1024 - strlen("A:\r\n\r\n") + 1);
    say_text(&bytes, "\r\n\r\n");
    expect("trailers of one byte more", &bytes, NULL, "TRAILER_TOO_LARGE");
    say_text(&bytes, CHUNKED "0\r\nA:");
    repeat(&bytes, "x", 100 * 1000);
    expect("a trailer that never ends", &bytes, NULL, "TRAILER_TOO_LARGE");
}

static void test_informational(void) {
    buffer bytes = {0};
    repeat(&bytes, "HTTP/1.1 102 Wait\r\n\r\n", 16);
    say_text(&bytes, OK "Content-Length: 0\r\n\r\n");
    expect("16 times 1xx", &bytes, NULL, "done");
    repeat(&bytes, "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n", 17);
    say_text(&bytes, OK "Content-Length: 0\r\n\r\n");
    expect("17 times 1xx", &bytes, NULL, "INFORMATIONAL_LIMIT");
}

static void test_extensions(void) {
    buffer bytes = {0};
    say_text(&bytes, CHUNKED "1;");
    repeat(&bytes, "x", 256);
    say_text(&bytes, "\r\na\r\n0\r\n\r\n");
    expect("an extension of 256 bytes", &bytes, NULL, "a\ndone");
    say_text(&bytes, CHUNKED "1;");
    repeat(&bytes, "x", 257);
    expect("an extension of one byte more", &bytes, NULL, "\n\nCHUNK_EXTENSION");
    const http1_limits limits = {.head_bytes = 1000,
                                 .fields = 1,
                                 .extension_line = 10,
                                 .extension_total = 25,
                                 .trailer_bytes = 10};
    say_text(&bytes, CHUNKED);
    repeat(&bytes, "1;123456789\r\na\r\n", 2);
    say_text(&bytes, "1;1234567\r\na\r\n0\r\n\r\n");
    expect("extensions of 25 bytes in all", &bytes, &limits, "aaa\ndone");
    say_text(&bytes, CHUNKED);
    repeat(&bytes, "1;123456789\r\na\r\n", 3);
    expect("extensions of more in all", &bytes, &limits, "aa\nCHUNK_EXTENSION");
}

static void test_overhead(void) {
    buffer bytes = {0};
    say_text(&bytes, CHUNKED);
    repeat(&bytes, "1\r\na\r\n", 50 * 1000);
    say_text(&bytes, "0\r\n\r\n");
    expect("single bytes are clumsy, but no attack", &bytes, NULL, "aaa\ndone");
    say_text(&bytes, CHUNKED);
    repeat(&bytes, "00000001\r\na\r\n", 50 * 1000);
    say_text(&bytes, "0\r\n\r\n");
    expect("so are padded sizes", &bytes, NULL, "aaa\ndone");
    say_text(&bytes, CHUNKED);
    repeat(&bytes, "0000000000000001\r\na\r\n", 5000);
    expect("twenty bytes around each", &bytes, NULL, "aaa\nCHUNK_OVERHEAD");
}

int main(void) {
    RUN(test_head_bytes());
    RUN(test_fields());
    RUN(test_trailer_bytes());
    RUN(test_informational());
    RUN(test_extensions());
    RUN(test_overhead());
    return check_report();
}
