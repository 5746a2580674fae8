#include "http1_rows.h"

/* Syntax that Net::HTTP accepts and this parser refuses by default: in lenient mode it is parsed as
 * by Net::HTTP, and the connection is not reused. Syntax that neither accepts is refused. */

#define OK "HTTP/1.1 200 OK\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define SAID(fields) "1.1 200 OK length=0\n" fields "Content-Length: 0\n\n\ndone"
#define SAID_CHUNKED "1.1 200 OK chunked persistent\nTransfer-Encoding: chunked\n\n"

static const http1_limits lenient = {
    .head_bytes = 64 * 1024,
    .fields = 200,
    .extension_line = 256,
    .extension_total = 16 * 1024,
    .trailer_bytes = 8 * 1024,
    .informational = 16,
    .lenient = true,
};

#define LENIENT(words, in, ...) ROW(words, in, __VA_ARGS__, .limits = &lenient)

static const http1_row status_lines[] = {
    LENIENT("plain", OK EMPTY, "1.1 200 OK length=0 persistent\nContent-Length: 0\n\n\ndone"),
    LENIENT("blanks", "HTTP/1.1  200\t OK \r\n" EMPTY,
            "1.1 200 OK  length=0\nContent-Length: 0\n\n\ndone"),
    LENIENT("lower case", "http/1.1 200 OK\r\n" EMPTY, SAID("")),
    LENIENT("bare LF", "http/1.1 200 OK\n" EMPTY, SAID("")),
    LENIENT("no version", "HTTP 200 OK\r\n" EMPTY, SAID("")),
    LENIENT("version 2.0", "HTTP/2.0 200 OK\r\n" EMPTY, SAID("")),
    LENIENT("version 1.0", "http/1.0 200 OK\r\n" EMPTY,
            "1.0 200 OK length=0\nContent-Length: 0\n\n\ndone"),
    LENIENT("version 1.00", "HTTP/1.00 200 OK\r\n" EMPTY, SAID("")),
    LENIENT("no reason", "HTTP/2.0 200\r\n" EMPTY,
            "1.1 200  length=0\nContent-Length: 0\n\n\ndone"),
    LENIENT("version 2", "HTTP/2 200 OK\r\n" EMPTY, "VERSION"),
    LENIENT("a version without its end", "HTTP/1. 200 OK\r\n" EMPTY, "VERSION"),
    LENIENT("no blank", "HTTP/1.1200 OK\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("four digits", "HTTP/1.1 2000 OK\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("two digits", "HTTP/1.1 20\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("a zero in front", "HTTP/1.1 099 OK\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("reason glued to the status", "HTTP/1.1 200OK\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("another protocol", "ICY 200 OK\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("a short line", "HT\r\n" EMPTY, "STATUS_LINE"),
    LENIENT("an empty line", "\r\n" OK EMPTY, "STATUS_LINE"),
};

static const http1_row fields[] = {
    LENIENT("blank before the colon", OK "A : b\r\n" EMPTY, SAID("A: b\n")),
    LENIENT("blanks before the first field", OK " \tA: b\r\n" EMPTY, SAID("A: b\n")),
    LENIENT("odd names", OK "A b(c)=\xc3\xa4: d\r\n" EMPTY, SAID("A b(c)=\xc3\xa4: d\n")),
    LENIENT("controls in a value", OK "A: b\x01\x7f\x1b!\r\n" EMPTY, SAID("A: b\x01\x7f\x1b!\n")),
    LENIENT("a length with blanks", OK "Content-Length : 5\r\n\r\nhello",
            "1.1 200 OK length=5\nContent-Length: 5\n\nhello\ndone"),
    LENIENT("no colon", OK "nonsense\r\n" EMPTY, "FIELD_NAME"),
    LENIENT("no name", OK ": b\r\n" EMPTY, "FIELD_NAME"),
    LENIENT("bare CR in a value", OK "A: b\rc\r\n" EMPTY, "LINE_END"),
    LENIENT("two lengths", OK "Content-Length: 1\r\n" EMPTY, "LENGTH_CONFLICT"),
};

static const http1_row codings[] = {
    LENIENT("chunked among others", OK "Transfer-Encoding: gzip, Chunked\r\n\r\n0\r\n\r\n",
            "1.1 200 OK chunked\nTransfer-Encoding: gzip, Chunked\n\n\ndone"),
    LENIENT("chunked with a length",
            OK "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "1.1 200 OK chunked\nContent-Length: 3\nTransfer-Encoding: chunked\n\na\ndone"),
    LENIENT("chunked in HTTP/1.0",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "1.0 200 OK chunked\nTransfer-Encoding: chunked\n\na\ndone"),
    LENIENT("another coding alone",
            OK "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nabc",
            "1.1 200 OK close\nTransfer-Encoding: identity\nContent-Length: 2\n\nabc\ndone",
            .ending = DRIVE_CLOSED),
};

static const http1_row chunks[] = {
    LENIENT("bare LF behind the sizes", CHUNKED "5\nhello\r\n0\n\n", SAID_CHUNKED "hello\ndone"),
    LENIENT("bare LF behind an extension", CHUNKED "5;a\nhello\r\n0\r\n\r\n",
            SAID_CHUNKED "hello\ndone"),
    LENIENT("blanks behind the size", CHUNKED "5 \r\nhello\r\n0\t\r\n\r\n",
            SAID_CHUNKED "hello\ndone"),
    LENIENT("no size", CHUNKED "\r\nhello\r\n0\r\n\r\n", SAID_CHUNKED "\nCHUNK_SIZE"),
    LENIENT("a wrong end", CHUNKED "5\r\nhello!\r\n0\r\n\r\n", SAID_CHUNKED "hello\nCHUNK_END"),
};

static const http1_row bodiless[] = {
    LENIENT("another protocol", "HTTP/1.1 101 S\r\n\r\n" OK EMPTY, "1.1 101 S none\n\n" SAID("")),
    LENIENT("a 1xx with a coding", "HTTP/1.1 100 C\r\nTransfer-Encoding: x\r\n\r\n" OK EMPTY,
            "1.1 100 C none\nTransfer-Encoding: x\n\n" SAID("")),
};

int main(void) {
    RUN_ROWS(status_lines);
    RUN_ROWS(fields);
    RUN_ROWS(codings);
    RUN_ROWS(chunks);
    RUN_ROWS(bodiless);
    return check_report();
}
