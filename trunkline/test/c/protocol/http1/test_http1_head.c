#include "http1_rows.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"

static const http1_row status_lines[] = {
    ROW("plain", OK EMPTY, "1.1 200 OK length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("no reason, with its space", "HTTP/1.1 200 \r\n" EMPTY,
        "1.1 200  length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("no reason, without its space", "HTTP/1.1 200\r\n" EMPTY,
        "1.1 200  length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("reason of several words, a tab and high bytes",
        "HTTP/1.1 404 Nicht\tge \xc3\xbc\xff\r\n" EMPTY,
        "1.1 404 Nicht\tge \xc3\xbc\xff length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("a status nobody knows", "HTTP/1.1 999 What\r\n" EMPTY,
        "1.1 999 What length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("status with a zero in front", "HTTP/1.1 099 Low\r\n" EMPTY, "STATUS_LINE"),
    ROW("two spaces before the status", "HTTP/1.1  200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a tab before the status", "HTTP/1.1\t200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a signed status", "HTTP/1.1 +20 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a short status", "HTTP/1.1 20 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a long status", "HTTP/1.1 99999 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a status of four digits", "HTTP/1.1 2000 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a status of letters", "HTTP/1.1 abc OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a hexadecimal status", "HTTP/1.1 20a OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("no status", "HTTP/1.1 \r\n" EMPTY, "STATUS_LINE"),
    ROW("reason glued to the status", "HTTP/1.1 200OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("a tab before the reason", "HTTP/1.1 200\tOK\r\n" EMPTY, "STATUS_LINE"),
    ROW("version 2.0", "HTTP/2.0 200 OK\r\n" EMPTY, "VERSION"),
    ROW("version 2", "HTTP/2 200 OK\r\n" EMPTY, "VERSION"),
    ROW("version 0.9", "HTTP/0.9 200 OK\r\n" EMPTY, "VERSION"),
    ROW("version 1.2", "HTTP/1.2 200 OK\r\n" EMPTY, "VERSION"),
    ROW("version 1.10", "HTTP/1.10 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("version 11.1", "HTTP/11.1 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("version x", "HTTP/x.1 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("lower case", "http/1.1 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("another protocol", "ICY 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("no version", "HTTP 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("HTTP/0.9: a page at once", "<html>hello</html>", "STATUS_LINE"),
    ROW("a TLS record", "\x15\x03\x01\x00\x02\x02\x46\r\n\r\n", "STATUS_LINE"),
    ROW("an empty line first", "\r\n" OK EMPTY, "STATUS_LINE"),
    ROW("a request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "STATUS_LINE"),
    ROW("a space first", " HTTP/1.1 200 OK\r\n" EMPTY, "STATUS_LINE"),
    ROW("bare LF behind the reason", "HTTP/1.1 200 OK\n" EMPTY,
        "1.1 200 OK length=0\nContent-Length: 0\n\n\ndone"),
    ROW("bare LF behind the status", "HTTP/1.1 200\n" EMPTY,
        "1.1 200  length=0\nContent-Length: 0\n\n\ndone"),
    ROW("bare CR behind the status", "HTTP/1.1 200\rOK\r\n" EMPTY, "LINE_END"),
    ROW("bare CR in the reason", "HTTP/1.1 200 O\rK\r\n" EMPTY, "LINE_END"),
    ROW("two CR behind the reason", "HTTP/1.1 200 OK\r\r\n" EMPTY, "LINE_END"),
    ROW("NUL in the reason", "HTTP/1.1 200 O\0K\r\n" EMPTY, "STATUS_LINE"),
    ROW("DEL in the reason", "HTTP/1.1 200 O\x7fK\r\n" EMPTY, "STATUS_LINE"),
};

static const http1_row fields[] = {
    ROW("no fields at all: until close", OK "\r\nall", "1.1 200 OK close\n\nall\nmore"),
    ROW("blanks around values", OK "A:b\r\nC: \t d \t\r\nE:\r\nF:  \r\nContent-Length:0\r\n\r\n",
        "1.1 200 OK length=0 persistent\nA: b\nC: d\nE: \nF: \nContent-Length: 0\n\n\ndone"),
    ROW("blanks and colons inside values", OK "A: b  c\td: e\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\nA: b  c\td: e\nContent-Length: 0\n\n\ndone"),
    ROW("long values of all kinds",
        OK "A: \xff\x80\xc3\xbc 0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ 0123456789\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\n"
        "A: \xff\x80\xc3\xbc 0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ 0123456789\n"
        "Content-Length: 0\n\n\ndone"),
    ROW("all token bytes in a name", OK "!#$%&'*+-.^_`|~09azAZ: x\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\n!#$%&'*+-.^_`|~09azAZ: x\nContent-Length: 0\n\n\ndone"),
    ROW("repeated fields are kept in order", OK "A: 1\r\nB: 2\r\na: 3\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\nA: 1\nB: 2\na: 3\nContent-Length: 0\n\n\ndone"),
    ROW("more fields than the first memory holds",
        OK "A:1\r\nA:2\r\nA:3\r\nA:4\r\nA:5\r\nA:6\r\nA:7\r\nA:8\r\nA:9\r\nA:10\r\nA:11\r\nA:12\r\n"
           "A:13\r\nA:14\r\nA:15\r\nA:16\r\nA:17\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\nA: 1\nA: 2\nA: 3\nA: 4\nA: 5\nA: 6\nA: 7\nA: 8\nA: 9\n"
        "A: 10\nA: 11\nA: 12\nA: 13\nA: 14\nA: 15\nA: 16\nA: 17\nContent-Length: 0\n\n\ndone"),
    ROW("space before the colon", OK "Content-Length : 0\r\n\r\n", "FIELD_NAME"),
    ROW("tab before the colon", OK "A\t: b\r\n" EMPTY, "FIELD_NAME"),
    ROW("no name", OK ": b\r\n" EMPTY, "FIELD_NAME"),
    ROW("no colon", OK "Fieldname\r\n" EMPTY, "FIELD_NAME"),
    ROW("no colon, bare LF", OK "Fieldname\n" EMPTY, "FIELD_NAME"),
    ROW("space in the name", OK "A b: c\r\n" EMPTY, "FIELD_NAME"),
    ROW("high byte in the name", OK "\xc3\xa4: c\r\n" EMPTY, "FIELD_NAME"),
    ROW("NUL in the name", OK "A\0: c\r\n" EMPTY, "FIELD_NAME"),
    ROW("separator in the name", OK "A(b): c\r\n" EMPTY, "FIELD_NAME"),
    ROW("CR in the name", OK "A\r: c\r\n" EMPTY, "FIELD_NAME"),
    ROW("space before the first field", OK " A: b\r\n" EMPTY, "FIELD_NAME"),
    ROW("tab before the first field", OK "\tA: b\r\n" EMPTY, "FIELD_NAME"),
    ROW("folded by a space", OK "A: b\r\n c\r\n" EMPTY,
        "1.1 200 OK length=0\nA: b c\nContent-Length: 0\n\n\ndone"),
    ROW("folded by a tab, with blanks before", OK "A: b\tc \t\r\n\td\te\r\n" EMPTY,
        "1.1 200 OK length=0\nA: b\tc d\te\nContent-Length: 0\n\n\ndone"),
    ROW("folded twice", OK "A: b\r\n c\n d\r\nE: f\r\n" EMPTY,
        "1.1 200 OK length=0\nA: b c d\nE: f\nContent-Length: 0\n\n\ndone"),
    ROW("folded with nothing in it", OK "A: b\r\n \r\n" EMPTY,
        "1.1 200 OK length=0\nA: b\nContent-Length: 0\n\n\ndone"),
    ROW("nothing but folds", OK "A:\r\n \r\n\t\r\n" EMPTY,
        "1.1 200 OK length=0\nA: \nContent-Length: 0\n\n\ndone"),
    ROW("folded as the last field", OK "Content-Length: 0\r\nA: b\r\n c\r\n\r\n",
        "1.1 200 OK length=0\nContent-Length: 0\nA: b c\n\n\ndone"),
    ROW("a folded coding", OK "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "1.1 200 OK chunked\nTransfer-Encoding: chunked\n\n\ndone"),
    ROW("a folded length", OK "Content-Length:\r\n 5\r\n\r\nhello",
        "1.1 200 OK length=5\nContent-Length: 5\n\nhello\ndone"),
    ROW("a length folded within", OK "Content-Length: 5\r\n 5\r\n\r\nhello", "LENGTH_INVALID"),
    ROW("codings folded into one", OK "Transfer-Encoding: gzip,\r\n chunked\r\n\r\n",
        "TRANSFER_CODING"),
    ROW("a fold of a forbidden byte", OK "A: b\r\n c\x01\r\n" EMPTY, "FIELD_VALUE"),
    ROW("a fold that ends in a bare CR", OK "A: b\r\n c\rd\r\n" EMPTY, "LINE_END"),
    ROW("bare LF behind a value", OK "A: b\n" EMPTY,
        "1.1 200 OK length=0\nA: b\nContent-Length: 0\n\n\ndone"),
    ROW("bare LF behind an empty value", OK "A:\n" EMPTY,
        "1.1 200 OK length=0\nA: \nContent-Length: 0\n\n\ndone"),
    ROW("bare LF everywhere", "HTTP/1.1 200 OK\nA: b\nContent-Length: 0\n\n",
        "1.1 200 OK length=0\nA: b\nContent-Length: 0\n\n\ndone"),
    ROW("bare CR in a value", OK "A: b\rc\r\n" EMPTY, "LINE_END"),
    ROW("bare CR that begins a field", OK "A: b\rTransfer-Encoding: chunked\r\n\r\n", "LINE_END"),
    ROW("two CR behind a value", OK "A: b\r\r\n" EMPTY, "LINE_END"),
    ROW("NUL in a value", OK "A: b\0c\r\n" EMPTY, "FIELD_VALUE"),
    ROW("DEL in a value", OK "A: b\x7f\r\n" EMPTY, "FIELD_VALUE"),
    ROW("control in a long value", OK "A: 0123456789012345678901234567\x01 and on\r\n" EMPTY,
        "FIELD_VALUE"),
    ROW("escape in a value", OK "A: \x1b[31m\r\n" EMPTY, "FIELD_VALUE"),
    ROW("bare LF instead of the empty line", OK "A: b\r\n\nrest",
        "1.1 200 OK close\nA: b\n\nrest\nmore"),
    ROW("bare CR instead of the empty line", OK "A: b\r\n\rrest", "LINE_END"),
    ROW("LF CR instead of CR LF", OK "A: b\n\r\n\r", "1.1 200 OK close\nA: b\n\n\r\nmore"),
};

static const http1_row lengths[] = {
    ROW("length", OK "Content-Length: 5\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\nContent-Length: 5\n\nhello\ndone"),
    ROW("name in any case", OK "cONTENT-lENGTH: 5\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\ncONTENT-lENGTH: 5\n\nhello\ndone"),
    ROW("zeros in front", OK "Content-Length: 0005\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\nContent-Length: 0005\n\nhello\ndone"),
    ROW("twice the same", OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\nContent-Length: 5\nContent-Length: 5\n\nhello\ndone"),
    ROW("the same in a list", OK "Content-Length: 5, 5 ,5\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\nContent-Length: 5, 5 ,5\n\nhello\ndone"),
    ROW("blanks around it", OK "Content-Length: \t 5 \t\r\n\r\nhello",
        "1.1 200 OK length=5 persistent\nContent-Length: 5\n\nhello\ndone"),
    ROW("the largest", OK "Content-Length: 9223372036854775807\r\n\r\n",
        "1.1 200 OK length=9223372036854775807 persistent\n"
        "Content-Length: 9223372036854775807\n\n\nmore"),
    ROW("too large by one", OK "Content-Length: 9223372036854775808\r\n\r\n", "LENGTH_INVALID"),
    ROW("far too large", OK "Content-Length: 100000000000000000000000\r\n\r\n", "LENGTH_INVALID"),
    ROW("two values", OK "Content-Length: 2\r\nContent-Length: 5\r\n\r\n", "LENGTH_CONFLICT"),
    ROW("two values in a list", OK "Content-Length: 5, 6\r\n\r\n", "LENGTH_CONFLICT"),
    ROW("zero and another", OK "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", "LENGTH_CONFLICT"),
    ROW("empty", OK "Content-Length:\r\n\r\n", "LENGTH_INVALID"),
    ROW("empty in a list", OK "Content-Length: 5,,5\r\n\r\n", "LENGTH_INVALID"),
    ROW("list that ends in a comma", OK "Content-Length: 5,\r\n\r\n", "LENGTH_INVALID"),
    ROW("signed", OK "Content-Length: +5\r\n\r\n", "LENGTH_INVALID"),
    ROW("negative", OK "Content-Length: -5\r\n\r\n", "LENGTH_INVALID"),
    ROW("letters", OK "Content-Length: five\r\n\r\n", "LENGTH_INVALID"),
    ROW("space inside", OK "Content-Length: 4 2\r\n\r\n", "LENGTH_INVALID"),
    ROW("hexadecimal", OK "Content-Length: 0x5\r\n\r\n", "LENGTH_INVALID"),
    ROW("a fraction", OK "Content-Length: 5.0\r\n\r\n", "LENGTH_INVALID"),
    ROW("an exponent", OK "Content-Length: 5e3\r\n\r\n", "LENGTH_INVALID"),
    ROW("separated by semicolon", OK "Content-Length: 5;5\r\n\r\n", "LENGTH_INVALID"),
    ROW("quoted", OK "Content-Length: \"5\"\r\n\r\n", "LENGTH_INVALID"),
    ROW("digits of another script", OK "Content-Length: \xd9\xa5\r\n\r\n", "LENGTH_INVALID"),
};

static const http1_row codings[] = {
    ROW("chunked", OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "1.1 200 OK chunked persistent\nTransfer-Encoding: chunked\n\n\ndone"),
    ROW("chunked in any case", OK "transfer-encoding:  Chunked \r\n\r\n0\r\n\r\n",
        "1.1 200 OK chunked persistent\ntransfer-encoding: Chunked\n\n\ndone"),
    ROW("both", OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "LENGTH_AND_CODING"),
    ROW("both, the other way round", OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "LENGTH_AND_CODING"),
    ROW("chunked twice in a list", OK "Transfer-Encoding: chunked, chunked\r\n\r\n",
        "TRANSFER_CODING"),
    ROW("chunked twice on two lines",
        OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "TRANSFER_CODING"),
    ROW("another before chunked", OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "TRANSFER_CODING"),
    ROW("another behind chunked", OK "Transfer-Encoding: chunked, gzip\r\n\r\n", "TRANSFER_CODING"),
    ROW("another alone", OK "Transfer-Encoding: gzip\r\n\r\n", "TRANSFER_CODING"),
    ROW("identity", OK "Transfer-Encoding: identity\r\n\r\n", "TRANSFER_CODING"),
    ROW("empty", OK "Transfer-Encoding:\r\n\r\n", "TRANSFER_CODING"),
    ROW("a comma in front", OK "Transfer-Encoding: ,chunked\r\n\r\n", "TRANSFER_CODING"),
    ROW("a parameter", OK "Transfer-Encoding: chunked;q=1\r\n\r\n", "TRANSFER_CODING"),
    ROW("a letter in front", OK "Transfer-Encoding: xchunked\r\n\r\n", "TRANSFER_CODING"),
    ROW("a letter behind", OK "Transfer-Encoding: chunkedx\r\n\r\n", "TRANSFER_CODING"),
    ROW("quoted", OK "Transfer-Encoding: \"chunked\"\r\n\r\n", "TRANSFER_CODING"),
    ROW("vertical tab in front",
        OK "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n",
        "FIELD_VALUE"),
    ROW("on HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "TRANSFER_CODING"),
};

static const http1_row without_body[] = {
    ROW("to HEAD with a length", OK "Content-Length: 123\r\n\r\n",
        "1.1 200 OK none=123 persistent\nContent-Length: 123\n\n\ndone", .head_request = true),
    ROW("to HEAD with chunked", OK "Transfer-Encoding: chunked\r\n\r\n",
        "1.1 200 OK none persistent\nTransfer-Encoding: chunked\n\n\ndone", .head_request = true),
    ROW("to HEAD with neither", OK "\r\n", "1.1 200 OK none persistent\n\n\ndone",
        .head_request = true),
    ROW("to HEAD with a malformed length", OK "Content-Length: x\r\n\r\n",
        "1.1 200 OK none\nContent-Length: x\n\n\ndone", .head_request = true),
    ROW("to HEAD with both", OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "1.1 200 OK none\nTransfer-Encoding: chunked\nContent-Length: 5\n\n\ndone",
        .head_request = true),
    ROW("to HEAD with another coding", OK "Transfer-Encoding: gzip\r\n\r\n",
        "1.1 200 OK none\nTransfer-Encoding: gzip\n\n\ndone", .head_request = true),
    ROW("to HEAD on HTTP/1.0 with a coding",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
        "1.0 200 OK none\nConnection: keep-alive\nTransfer-Encoding: chunked\n\n\ndone",
        .head_request = true),
    ROW("to HEAD with a forbidden byte", OK "Content-Length: 5\x01\r\n\r\n", "FIELD_VALUE",
        .head_request = true),
    ROW("204", "HTTP/1.1 204 No Content\r\n\r\n", "1.1 204 No Content none persistent\n\n\ndone"),
    ROW("204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        "1.1 204 No Content none=5 persistent\nContent-Length: 5\n\n\ndone"),
    ROW("204 with two lengths",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "1.1 204 No Content none\nContent-Length: 5\nContent-Length: 6\n\n\ndone"),
    ROW("204 with a malformed length, which says close behind it",
        "HTTP/1.1 204 No Content\r\nContent-Length: -1\r\nConnection: close\r\n\r\n",
        "1.1 204 No Content none\nContent-Length: -1\nConnection: close\n\n\ndone"),
    ROW("204 with another coding", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: br\r\n\r\n",
        "1.1 204 No Content none\nTransfer-Encoding: br\n\n\ndone"),
    ROW("204 with both",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "1.1 204 No Content none\nContent-Length: 5\nTransfer-Encoding: chunked\n\n\ndone"),
    ROW("304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "1.1 304 Not Modified none=5 persistent\nContent-Length: 5\n\n\ndone"),
    ROW("304 with chunked", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        "1.1 304 Not Modified none persistent\nTransfer-Encoding: chunked\n\n\ndone"),
    ROW("304 with another coding", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: br\r\n\r\n",
        "1.1 304 Not Modified none\nTransfer-Encoding: br\n\n\ndone"),
    ROW("304 with a malformed length", "HTTP/1.1 304 Not Modified\r\nContent-Length: -5\r\n\r\n",
        "1.1 304 Not Modified none\nContent-Length: -5\n\n\ndone"),
    ROW("304 with both",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "1.1 304 Not Modified none\nContent-Length: 5\nTransfer-Encoding: chunked\n\n\ndone"),
    ROW("205 is framed like others", "HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n",
        "1.1 205 Reset length=0 persistent\nContent-Length: 0\n\n\ndone"),
};

static const http1_row informational[] = {
    ROW("100, then the answer", "HTTP/1.1 100 Continue\r\n\r\n" OK EMPTY,
        "1.1 100 Continue none persistent\n\n"
        "1.1 200 OK length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("103 with fields, 102, then the answer",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 102\r\n\r\n" OK EMPTY,
        "1.1 103 Early Hints none persistent\nLink: </a>\nLink: </b>\n\n"
        "1.1 102  none persistent\n\n"
        "1.1 200 OK length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("a 1xx that nobody knows", "HTTP/1.1 199 X\r\nA: b\r\n\r\n" OK EMPTY,
        "1.1 199 X none persistent\nA: b\n\n"
        "1.1 200 OK length=0 persistent\nContent-Length: 0\n\n\ndone"),
    ROW("the length of a 1xx does not stay",
        "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nConnection: close\r\n"
        "Keep-Alive: timeout=3\r\n\r\n" OK "Content-Length: 2\r\n\r\nhi",
        "1.1 100 Continue none=5 timeout=3\nContent-Length: 5\nConnection: close\n"
        "Keep-Alive: timeout=3\n\n"
        "1.1 200 OK length=2 persistent\nContent-Length: 2\n\nhi\ndone"),
    ROW("to HEAD too", "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 5\r\n\r\n",
        "1.1 100 Continue none persistent\n\n"
        "1.1 200 OK none=5 persistent\nContent-Length: 5\n\n\ndone",
        .head_request = true),
    ROW("a 1xx with a malformed length", "HTTP/1.1 103 Hints\r\nContent-Length: -1\r\n\r\n",
        "LENGTH_INVALID"),
    ROW("a 1xx with a malformed length, to HEAD",
        "HTTP/1.1 103 Hints\r\nContent-Length: -1\r\n\r\n", "LENGTH_INVALID", .head_request = true),
    ROW("what was tolerated in a 1xx counts for the answer",
        "HTTP/1.1 103 Hints\nA: b\r\n c\r\n\r\n" OK EMPTY,
        "1.1 103 Hints none\nA: b c\n\n1.1 200 OK length=0\nContent-Length: 0\n\n\ndone"),
    ROW("101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "SWITCHED"),
    ROW("101 to HEAD", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "SWITCHED",
        .head_request = true),
    ROW("closed behind a 1xx", "HTTP/1.1 100 Continue\r\n\r\n",
        "1.1 100 Continue none persistent\n\nCLOSED", .ending = DRIVE_CLOSED),
};

static const http1_row persistence[] = {
    ROW("close", OK "Connection: close\r\n" EMPTY,
        "1.1 200 OK length=0\nConnection: close\nContent-Length: 0\n\n\ndone"),
    ROW("close in a list, in any case", OK "Connection: x, CLOSE ,y\r\n" EMPTY,
        "1.1 200 OK length=0\nConnection: x, CLOSE ,y\nContent-Length: 0\n\n\ndone"),
    ROW("keep-alive does not undo close",
        OK "Connection: close\r\nConnection: keep-alive\r\n" EMPTY,
        "1.1 200 OK length=0\nConnection: close\nConnection: keep-alive\nContent-Length: 0\n\n\n"
        "done"),
    ROW("nor in front of it", OK "Connection: keep-alive\r\nConnection: close\r\n" EMPTY,
        "1.1 200 OK length=0\nConnection: keep-alive\nConnection: close\nContent-Length: 0\n\n\n"
        "done"),
    ROW("a longer word is no close", OK "Connection: closed, enclose\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\nConnection: closed, enclose\nContent-Length: 0\n\n\ndone"),
    ROW("an empty list", OK "Connection: , ,\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\nConnection: , ,\nContent-Length: 0\n\n\ndone"),
    ROW("1.0", "HTTP/1.0 200 OK\r\n" EMPTY, "1.0 200 OK length=0\nContent-Length: 0\n\n\ndone"),
    ROW("1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" EMPTY,
        "1.0 200 OK length=0 persistent\nConnection: Keep-Alive\nContent-Length: 0\n\n\ndone"),
    ROW("1.0 keep-alive and close", "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n" EMPTY,
        "1.0 200 OK length=0\nConnection: keep-alive, close\nContent-Length: 0\n\n\ndone"),
    ROW("until close, whatever it says", OK "Connection: keep-alive\r\n\r\nbody",
        "1.1 200 OK close\nConnection: keep-alive\n\nbody\ndone", .ending = DRIVE_CLOSED),
    ROW("a hint", OK "Keep-Alive: timeout=5, max=100\r\n" EMPTY,
        "1.1 200 OK length=0 persistent timeout=5\nKeep-Alive: timeout=5, max=100\n"
        "Content-Length: 0\n\n\ndone"),
    ROW("a hint in any case, the smallest of several",
        OK "keep-alive: max=1, Timeout=9\r\nKeep-Alive: timeout=7, timeout=8\r\n" EMPTY,
        "1.1 200 OK length=0 persistent timeout=7\nkeep-alive: max=1, Timeout=9\n"
        "Keep-Alive: timeout=7, timeout=8\nContent-Length: 0\n\n\ndone"),
    ROW("no wait at all", OK "Keep-Alive: timeout=0\r\n" EMPTY,
        "1.1 200 OK length=0 persistent timeout=0\nKeep-Alive: timeout=0\n"
        "Content-Length: 0\n\n\ndone"),
    ROW("hints that are none",
        OK "Keep-Alive: timeout=-1, timeout=, timeout=x, timeout = 5, timeout=99999999999, "
           "300\r\n" EMPTY,
        "1.1 200 OK length=0 persistent\n"
        "Keep-Alive: timeout=-1, timeout=, timeout=x, timeout = 5, timeout=99999999999, 300\n"
        "Content-Length: 0\n\n\ndone"),
};

static const http1_row cut[] = {
    ROW("nothing came", "", "CLOSED", .ending = DRIVE_CLOSED),
    ROW("nothing came over TLS", "", "CLOSED", .ending = DRIVE_CUT),
    ROW("cut in the status line", "HTTP/1.", "TRUNCATED_HEAD", .ending = DRIVE_CLOSED),
    ROW("cut before the empty line", OK "A: b\r\n", "TRUNCATED_HEAD", .ending = DRIVE_CLOSED),
    ROW("cut before the empty line over TLS", OK "A: b\r\n", "TRUNCATED_HEAD_TLS",
        .ending = DRIVE_CUT),
};

static void test_find(void) {
    static const uint8_t bytes[] = "Aa: 1\r\nBb: 2\r\naA: 3";
    static const http1_field list[] = {{0, 2, 4, 1}, {7, 2, 11, 1}, {14, 2, 18, 1}};
    CHECK(http1_find(list, 3, bytes, "bB", 2) == &list[1], "a field is found in any case");
    CHECK(http1_find(list, 3, bytes, "AA", 2) == &list[0], "the first of several is found");
    CHECK(http1_find(list, 3, bytes, "A", 1) == NULL, "a part of a name is not found");
    CHECK(http1_find(NULL, 0, NULL, "A", 1) == NULL, "nothing is found in nothing");
    CHECK(http1_find(list, 3, bytes, "[[", 2) == NULL, "only letters have a case");
}

static bool same_but_for_case(int a, int b) {
    return a == b || ((a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
}

static void test_find_compares_every_byte(void) {
    static const http1_field field = {0, 11, 0, 0};
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            uint8_t bytes[] = {'x', (uint8_t)a, 'x', '-', 'X', 'x', 'x', 'x', 'x', (uint8_t)a, 'x'};
            char name[] = {'x', (char)b, 'X', '-', 'x', 'x', 'x', 'x', 'x', (char)b, 'x'};
            bool found = http1_find(&field, 1, bytes, name, sizeof(name)) != NULL;
            CHECK(found == same_but_for_case(a, b), "byte %02x beside byte %02x", a, b);
        }
    }
}

/* A usual line is parsed many bytes at a time when it is complete, and never when it arrives byte
 * by byte: with both, every byte must have the same meaning at every position. */
static void test_every_byte_at_every_place(void) {
    static const char start[] = OK "First-One: 1\r\n",
                      line[] = "Abcdefghijklmno-Pqr: stuv wx.yz012345\r\n";
    static const char rest[] = "Second: 2\r\n" EMPTY "what stands behind the head";
    http1_response r = {0};
    const size_t places = sizeof(line) - 1;
    for (size_t i = 0; i < places * 256; i++) {
        buffer bytes = {0}, whole = {0}, single = {0};
        drive_plan plan = {&http1_default_limits, false, DRIVE_OPEN, SIZE_MAX, 1, false};
        say_text(&bytes, start);
        say_text(&bytes, line);
        bytes.bytes[sizeof(start) - 1 + i / 256] = (uint8_t)i;
        say_text(&bytes, rest);
        drive(&whole, &r, bytes.bytes, buffer_length(&bytes), &plan);
        plan.first = 1;
        drive(&single, &r, bytes.bytes, buffer_length(&bytes), &plan);
        CHECK(buffer_length(&whole) == buffer_length(&single) &&
                  memcmp(whole.bytes, single.bytes, buffer_length(&whole)) == 0,
              "byte %02x at place %zu", (unsigned)(i % 256), i / 256);
        buffer_free(&bytes);
        buffer_free(&whole);
        buffer_free(&single);
    }
    http1_free(&r);
}

static const struct {
    const char *bytes, *quoted;
    size_t length;
} quotes[] = {
    {"", "\"\"", 0},
    {"SSH-2.0-x\r\n", "\"SSH-2.0-x\\x0D\\x0A\"", 11},
    {"say \"\\\"~ \x7f\xff", "\"say \\x22\\x5C\\x22~ \\x7F\\xFF\"", 11},
    {"123456789012345678901234567890", "\"123456789012345678901234\"", 30},
};

static void test_quote(void) {
    char out[HTTP1_QUOTED_ROOM];
    for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
        http1_quote((const uint8_t *)quotes[i].bytes, quotes[i].length, out);
        CHECK(strcmp(out, quotes[i].quoted) == 0, "%s", out);
    }
    uint8_t zeros[HTTP1_QUOTED_BYTES + 1] = {0};
    http1_quote(zeros, sizeof(zeros), out);
    CHECK(strlen(out) == HTTP1_QUOTED_ROOM - 1, "%s", out);
}

int main(void) {
    RUN_ROWS(status_lines);
    RUN_ROWS(fields);
    RUN_ROWS(lengths);
    RUN_ROWS(codings);
    RUN_ROWS(without_body);
    RUN_ROWS(informational);
    RUN_ROWS(persistence);
    RUN_ROWS(cut);
    RUN(test_find());
    RUN(test_find_compares_every_byte());
    RUN(test_every_byte_at_every_place());
    RUN(test_quote());
    return check_report();
}
