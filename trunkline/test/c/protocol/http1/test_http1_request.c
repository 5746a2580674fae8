#include "check.h"
#include "protocol/http1/http1.h"

#include <string.h>

#define TEXT(literal) literal, sizeof(literal) - 1

static void test_validity(void) {
    CHECK(http1_name_valid(TEXT("!#$%&'*+-.^_`|~09azAZ")), "a name holds token bytes");
    CHECK(!http1_name_valid("", 0), "a name is not empty");
    CHECK(http1_value_valid("", 0) && http1_value_valid(NULL, 0), "a value may be empty");
    CHECK(http1_value_valid(TEXT(" a\tb\x80\xff, and something longer than eight ")),
          "a value holds blanks and high bytes");
    CHECK(http1_target_valid(TEXT("/a?b=c&%20[]{}|\\^`\"<>~")), "a target holds visible bytes");
    CHECK(http1_target_valid(TEXT("*")) && http1_target_valid(TEXT("http://a:80/b")), "its forms");
    CHECK(!http1_target_valid("", 0), "a target is not empty");
    CHECK(!http1_target_valid(TEXT("/a#b")), "a target has no fragment");
}

/* Each byte at each position of a value that is long enough for several words of eight bytes. */
static void test_each_byte(void) {
    int wrong_value = 0, wrong_name = 0, wrong_target = 0;
    for (int byte = 0; byte < 256; byte++) {
        bool high = byte >= 0x80, visible = byte > 0x20 && byte < 0x7F;
        bool text = high || visible || byte == ' ' || byte == '\t';
        bool token = visible && strchr("\"(),/:;<=>?@[\\]{}", byte) == NULL;
        for (size_t at = 0; at < 20; at++) {
            char value[20], word[20];
            memset(value, ' ', sizeof(value));
            memset(word, 'x', sizeof(word));
            value[at] = word[at] = (char)byte;
            wrong_value += http1_value_valid(value, sizeof(value)) != text;
            wrong_name += http1_name_valid(word, sizeof(word)) != token;
            wrong_target += http1_target_valid(word, sizeof(word)) != (visible && byte != '#');
        }
    }
    CHECK(wrong_value == 0, "values: %d bytes taken wrongly", wrong_value);
    CHECK(wrong_name == 0, "names: %d bytes taken wrongly", wrong_name);
    CHECK(wrong_target == 0, "targets: %d bytes taken wrongly", wrong_target);
}

static bool written(const buffer *out, const char *text) {
    return buffer_length(out) == strlen(text) &&
           memcmp(out->bytes + out->start, text, strlen(text)) == 0;
}

static void test_head(void) {
    static const http1_header headers[] = {{TEXT("Host"), TEXT("example.test")},
                                           {TEXT("X"), NULL, 0},
                                           {TEXT("x"), TEXT("\xc3\xbc y")}};
    buffer out = {0};
    CHECK(http1_request(&out, TEXT("GET"), TEXT("/a?b"), headers, 3) &&
              written(&out,
                      "GET /a?b HTTP/1.1\r\nHost: example.test\r\nX: \r\nx: \xc3\xbc y\r\n\r\n"),
          "a head is written in its order");
    buffer_clear(&out);
    buffer_append(&out, "kept|", 5);
    CHECK(http1_request(&out, TEXT("OPTIONS"), TEXT("*"), NULL, 0) &&
              written(&out, "kept|OPTIONS * HTTP/1.1\r\n\r\n"),
          "it goes behind what is there");
    buffer_free(&out);
}

static void refuses(const char *title, const http1_header *headers, const char *method,
                    size_t method_length, const char *target, size_t target_length) {
    check_case("refused: %s", title);
    buffer out = {0};
    buffer_append(&out, "kept", 4);
    CHECK(!http1_request(&out, method, method_length, target, target_length, headers,
                         headers != NULL) &&
              written(&out, "kept"),
          "refused: %s", title);
    buffer_free(&out);
}

static bool sends_close(const char *name, const char *value) {
    http1_header header = {name, strlen(name), value, strlen(value)};
    return http1_says_close(&header);
}

static void test_a_promise_to_close(void) {
    CHECK(sends_close("Connection", "close") && sends_close("CONNECTION", "TE , Close"), "said");
    CHECK(!sends_close("Connection", "keep-alive") && !sends_close("Connection", ""), "not said");
    CHECK(!sends_close("Connection", "closed") && !sends_close("X-Connection", "close"), "else");
}

static void test_refusals(void) {
    static const http1_header split = {TEXT("A"), TEXT("b\r\nEvil: c")};
    static const http1_header bare_lf = {TEXT("A"), TEXT("b\nEvil: c")};
    static const http1_header nul = {TEXT("A"), TEXT("b\0c")};
    static const http1_header name = {TEXT("A: b\r\nEvil"), TEXT("c")};
    static const http1_header nameless = {TEXT(""), TEXT("c")};
    refuses("CRLF in a value", &split, TEXT("GET"), TEXT("/"));
    refuses("LF in a value", &bare_lf, TEXT("GET"), TEXT("/"));
    refuses("NUL in a value", &nul, TEXT("GET"), TEXT("/"));
    refuses("CRLF in a name", &name, TEXT("GET"), TEXT("/"));
    refuses("an empty name", &nameless, TEXT("GET"), TEXT("/"));
    refuses("a method with a space", NULL, TEXT("GET /x"), TEXT("/"));
    refuses("an empty method", NULL, TEXT(""), TEXT("/"));
    refuses("a target with a space", NULL, TEXT("GET"), TEXT("/ HTTP/1.1\r\nEvil: x"));
    refuses("a target with CRLF", NULL, TEXT("GET"), TEXT("/\r\n"));
    refuses("a target with high bytes", NULL, TEXT("GET"), TEXT("/\xc3\xbc"));
    refuses("an empty target", NULL, TEXT("GET"), TEXT(""));
}

static void test_chunk_lines(void) {
    static const struct {
        uint64_t size;
        const char *line;
    } rows[] = {
        {1, "1\r\n"},
        {15, "f\r\n"},
        {16, "10\r\n"},
        {255, "ff\r\n"},
        {65536, "10000\r\n"},
        {0xDEADBEEF, "deadbeef\r\n"},
        {INT64_MAX, "7fffffffffffffff\r\n"},
        {UINT64_MAX, "ffffffffffffffff\r\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("a chunk's line: %s", rows[i].line);
        char line[HTTP1_CHUNK_LINE];
        size_t length = http1_chunk_line(line, rows[i].size);
        CHECK(length == strlen(rows[i].line) && memcmp(line, rows[i].line, length) == 0,
              "a chunk of %llu bytes: %.*s", (unsigned long long)rows[i].size, (int)length, line);
    }
}

int main(void) {
    RUN(test_validity());
    RUN(test_each_byte());
    RUN(test_head());
    RUN(test_a_promise_to_close());
    RUN(test_refusals());
    RUN(test_chunk_lines());
    return check_report();
}
