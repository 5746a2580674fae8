#include "check.h"
#include "json_driver.h"

/* The values that are reported for a text, given whole, byte by byte and divided at every byte. */

enum { NAN_TOO = 1, COMMA_TOO = 2, CONTROL_TOO = 4, ESCAPE_TOO = 8, DEEP = 16, LONG = 32 };

static const struct {
    json_form form;
    const char *path; /* of a JSON_DOCUMENT */
    int flags;
    const char *text;
    const char *output;
} rows[] = {
    /* a document, and paths in it */
    {JSON_DOCUMENT, "", 0, " {\"a\" : 1}\n", "{\"a\" : 1} @2:1\nend"},
    {JSON_DOCUMENT, "*", 0, "[1,\n\"a\", {}]", "1 @2:1 0\n\"a\" @5:2 1\n{} @10:2 2\nend"},
    {JSON_DOCUMENT, "*", 0, "{\"a\":1,\"b\":[2]}", "1 @6:1 m\n[2] @12:1 m\nend"},
    {JSON_DOCUMENT, "*", 0, "[]", "end"},
    {JSON_DOCUMENT, "*", 0, "{}", "end"},
    {JSON_DOCUMENT, "*", 0, "3", "end"},
    {JSON_DOCUMENT, "a.*", 0, "{\"b\":[0],\"a\":[1,[2,3]],\"c\":4}",
     "1 @15:1 m 0\n[2,3] @17:1 m 1\nend"},
    {JSON_DOCUMENT, "a.b", 0, "{\"a\":{\"a\":{\"b\":0},\"b\":1},\"b\":2}", "1 @23:1 m m\nend"},
    {JSON_DOCUMENT, "a.a", 0, "{\"b\":{\"a\":1},\"a\":{\"a\":2}}", "2 @23:1 m m\nend"},
    {JSON_DOCUMENT, "*.a", 0, "[{\"a\":1},{\"b\":2},[{\"a\":3}],{\"a\":4}]",
     "1 @7:1 0 m\n4 @33:1 3 m\nend"},
    {JSON_DOCUMENT, "*.*", 0, "[[1,2],{\"x\":3},4,[[5]]]",
     "1 @3:1 0 0\n2 @5:1 0 1\n3 @13:1 1 m\n[5] @19:1 3 0\nend"},
    {JSON_DOCUMENT, "1", 0, "[1,[2,3],4]", "[2,3] @4:1 1\nend"},
    {JSON_DOCUMENT, "1", 0, "{\"0\":1,\"1\":2,\"01\":3}", "2 @12:1 m\nend"},
    {JSON_DOCUMENT, "01", 0, "[1,2,3]", "end"},
    {JSON_DOCUMENT, "*.1.*", 0, "[[0,[1]],[2,{\"a\":3}]]", "1 @6:1 0 1 0\n3 @18:1 1 1 m\nend"},
    {JSON_DOCUMENT, "a", 0, "{\"a\":1,\"a\":2}", "1 @6:1 m\n2 @12:1 m\nend"},
    {JSON_DOCUMENT, "a", 0, "{\"\\u0061\":1,\"\\u0062\":2}", "1 @11:1 m\nend"},
    {JSON_DOCUMENT, "\xc3\xbc\n\"", 0, "{\"\\u00fC\\n\\\"\":1,\"\\u00fd\\n\\\"\":2}",
     "1 @15:1 m\nend"},
    {JSON_DOCUMENT, "\xf0\x9d\x84\x9e", 0, "{\"\\ud834\\udd1e\":1,\"\\ud834\":2}",
     "1 @17:1 m\nend"},
    {JSON_DOCUMENT, "a", 0, "{\"aaaaaaaaaaaaaaaaaaaaaaaa\":1,\"\":2,\"a\":3}", "3 @40:1 m\nend"},
    {JSON_DOCUMENT, "a..b", 0, "{\"a\":{\"\":{\"b\":1}}}", "1 @15:1 m m m\nend"},
    {JSON_DOCUMENT, "a", 0, "\xef\xbb\xbf{\"a\":1}", "1 @9:1 m\nend"},
    {JSON_DOCUMENT, "a", 0, "", "end"},
    {JSON_DOCUMENT, "a", 0, " ", "it is cut short @1:1\n"},
    {JSON_DOCUMENT, "a", 0, "[1] x", "expected nothing more @5:1\n"},
    {JSON_DOCUMENT, "a", 0, "[1]\n[2]", "expected nothing more @5:2\n"},
    {JSON_DOCUMENT, "a.*", 0, "{\"a\":[1,\n2,x]}",
     "1 @7:1 m 0\n2 @10:2 m 1\nexpected a value @12:2 m 2\n"},
    {JSON_DOCUMENT, "a.*", 0, "{\"b\":[1,\n2,x]}", "expected a value @12:2\n"},
    {JSON_DOCUMENT, "a.*", 0, "{\"a\":[1,2", "1 @7:1 m 0\nit is cut short @9:1 m 1\n"},
    /* consecutive numbers and literals, and the bytes that end one */
    {JSON_DOCUMENT, "*", 0, "[1,23,-4.5,true,null,false,0,6e7]",
     "1 @2:1 0\n23 @4:1 1\n-4.5 @7:1 2\ntrue @12:1 3\nnull @17:1 4\nfalse @22:1 5\n"
     "0 @28:1 6\n6e7 @30:1 7\nend"},
    {JSON_DOCUMENT, "*", 0, "[1,01,2,3,4]", "1 @2:1 0\ninvalid number @5:1 1\n"},
    {JSON_DOCUMENT, "*", 0, "[1,-,2,3,4,5]", "1 @2:1 0\ninvalid number @5:1 1\n"},
    {JSON_DOCUMENT, "*", 0, "[1,2.,3,4,5]", "1 @2:1 0\ninvalid number @6:1 1\n"},
    {JSON_DOCUMENT, "*", 0, "[1,truE,3,4,5]", "1 @2:1 0\nexpected a value @7:1 1\n"},
    {JSON_DOCUMENT, "*", 0, "[1,2\n,3,4,5,]",
     "1 @2:1 0\n2 @4:1 1\n3 @7:2 2\n4 @9:2 3\n5 @11:2 4\nexpected a value @13:2 5\n"},
    {JSON_DOCUMENT, "*.*", 0, "[[1,2,3,4,5],6,7,8,9]",
     "1 @3:1 0 0\n2 @5:1 0 1\n3 @7:1 0 2\n4 @9:1 0 3\n5 @11:1 0 4\nend"},
    {JSON_DOCUMENT, "2", 0, "[1,22,33,44,55]", "33 @7:1 2\nend"},
    /* syntax errors, in skipped values as in wanted ones */
    {JSON_DOCUMENT, "x", 0, "[1,]", "expected a value @4:1 1\n"},
    {JSON_DOCUMENT, "x", COMMA_TOO, "[1,{\"a\":1,},]", "end"},
    {JSON_DOCUMENT, "x", COMMA_TOO, "[,]", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "x", COMMA_TOO, "[1,,]", "expected a value @4:1 1\n"},
    {JSON_DOCUMENT, "x", 0, "{\"a\":1,}", "expected the name of a member @8:1\n"},
    {JSON_DOCUMENT, "x", 0, "{,}", "expected the name of a member @2:1\n"},
    {JSON_DOCUMENT, "x", 0, "{1:2}", "expected the name of a member @2:1\n"},
    {JSON_DOCUMENT, "x", 0, "{\"a\",1}", "expected ':' @5:1\n"},
    {JSON_DOCUMENT, "x", 0, "{\"a\" 1}", "expected ':' @6:1\n"},
    {JSON_DOCUMENT, "x", 0, "[1 2]", "expected ',' or ']' @4:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[1}", "expected ',' or ']' @3:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "{\"a\":1]", "expected ',' or '}' @7:1\n"},
    {JSON_DOCUMENT, "x", 0, "[[]", "it is cut short @3:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[\"a", "it is cut short @3:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[\"\\u12", "it is cut short @6:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "tru", "it is cut short @3:1\n"},
    {JSON_DOCUMENT, "x", 0, "True", "expected a value @1:1\n"},
    {JSON_DOCUMENT, "x", 0, "[truefalse]", "expected a value @6:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[nul]", "expected a value @5:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "['a']", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[1]\xef\xbb\xbf", "expected nothing more @4:1\n"},
    {JSON_DOCUMENT, "x", 0, "[/**/1]", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u12aF\x7f\xff\"]", "end"},
    {JSON_DOCUMENT, "x", 0, "[\"\\q\"]", "invalid escape in a string @4:1 0\n"},
    {JSON_DOCUMENT, "x", ESCAPE_TOO, "[\"\\q\"]", "end"},
    {JSON_DOCUMENT, "x", ESCAPE_TOO, "[\"\\\n\"]", "invalid escape in a string @4:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[\"\\u12g4\"]", "invalid escape in a string @7:1 0\n"},
    {JSON_DOCUMENT, "x", 0, "[\"12345678\t\"]", "a control character in a string @11:1 0\n"},
    {JSON_DOCUMENT, "x", CONTROL_TOO, "[\"a\nb\", x]", "expected a value @9:2 1\n"},
    /* numbers */
    {JSON_DOCUMENT, "*", 0, "[0,-0,10,-1.50,2e3,2E+3,2e-03,0.0e0]",
     "0 @2:1 0\n-0 @4:1 1\n10 @7:1 2\n-1.50 @10:1 3\n2e3 @16:1 4\n2E+3 @20:1 5\n2e-03 @25:1 6\n"
     "0.0e0 @31:1 7\nend"},
    {JSON_DOCUMENT, "*", 0, "[01]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[1.]", "invalid number @4:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[.5]", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[+1]", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[-]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[1e]", "invalid number @4:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[1e+]", "invalid number @5:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[0x1]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[1_0]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[NaN]", "expected a value @2:1 0\n"},
    {JSON_DOCUMENT, "*", 0, "[-Infinity]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "*", NAN_TOO, "[NaN,Infinity,-Infinity,-1]",
     "NaN @2:1 0\nInfinity @6:1 1\n-Infinity @15:1 2\n-1 @25:1 3\nend"},
    {JSON_DOCUMENT, "*", NAN_TOO, "[-NaN]", "invalid number @3:1 0\n"},
    {JSON_DOCUMENT, "", 0, "12", "12 @1:1\nend"},
    {JSON_DOCUMENT, "", 0, "-", "it is cut short @1:1\n"},
    {JSON_DOCUMENT, "", NAN_TOO, "-", "it is cut short @1:1\n"},
    {JSON_DOCUMENT, "", 0, "1.", "it is cut short @2:1\n"},
    /* limits */
    {JSON_DOCUMENT, "*", DEEP, "[[[]]]", "[[]] @2:1 0\nend"},
    {JSON_DOCUMENT, "*", DEEP, "[[],[[[", "[] @2:1 0\nnested too deeply @7:1 1\n"},
    {JSON_DOCUMENT, "x", DEEP, "[[{\"a\":[", "nested too deeply @8:1 0\n"},
    {JSON_DOCUMENT, "*", LONG, "[\"12345678\",1]", "\"12345678\" @2:1 0\n1 @13:1 1\nend"},
    {JSON_DOCUMENT, "*", LONG, "[1,\n\"123456789\n",
     "1 @2:1 0\na control character in a string @15:2 1\n"},
    {JSON_DOCUMENT, "*", LONG, "[\"123456789\\q", "a value is too large @2:1 0\n"},
    {JSON_DOCUMENT, "*", LONG, "[[1,2,3,4,trx", "a value is too large @2:1 0\n"},
    {JSON_DOCUMENT, "*", LONG, "[[1,2,3,tx", "expected a value @10:1 0\n"},
    {JSON_DOCUMENT, "*", LONG, "[1,\n\"123456789\"]", "1 @2:1 0\na value is too large @5:2 1\n"},
    {JSON_DOCUMENT, "x", LONG, "[\"123456789\"]", "end"},
    /* lines */
    {JSON_LINES, "", 0, "", "end"},
    {JSON_LINES, "", 0, "\n \r\n", "end"},
    {JSON_LINES, "", 0, "1\n{}\r\n\n  [2] \n\"a\"\nnull",
     "1 @1:1 0\n{} @3:2 1\n[2] @10:4 2\n\"a\" @15:5 3\nnull @19:6 4\nend"},
    {JSON_LINES, "", 0,
     "\xef\xbb\xbf"
     "1\n",
     "1 @4:1 0\nend"},
    {JSON_LINES, "", 0, "{} {}", "{} @1:1 0\nexpected the end of the line @4:1 0\n"},
    {JSON_LINES, "", 0, "1 2", "1 @1:1 0\nexpected the end of the line @3:1 0\n"},
    {JSON_LINES, "", 0, "1\n12x\n", "1 @1:1 0\ninvalid number @5:2 1\n"},
    {JSON_LINES, "", 0, "1\n[2,\n3]\n", "1 @1:1 0\nthe line ends within a value @6:2 1\n"},
    {JSON_LINES, "", 0, "1\n{\"a\":", "1 @1:1 0\nit is cut short @7:2 1\n"},
    {JSON_LINES, "", 0, "1\nx", "1 @1:1 0\nexpected a value @3:2 1\n"},
    {JSON_LINES, "", 0, "1\n}", "1 @1:1 0\nexpected a value @3:2 1\n"},
    /* a sequence (RFC 7464) */
    {JSON_SEQUENCE, "", 0, "", "end"},
    {JSON_SEQUENCE, "", 0,
     "\x1e{}\n\x1e[1,\n2]\n\x1e\x1e\n\x1e"
     "3\n",
     "{} @2:1 0\n[1,\n2] @6:2 1\n3 @17:5 2\nend"},
    {JSON_SEQUENCE, "", 0, "\x1e{}\x1e\"a\"", "{} @2:1 0\n\"a\" @5:1 1\nend"},
    {JSON_SEQUENCE, "", 0,
     "\x1etrue\n\x1e"
     "12",
     "true @2:1 0\nthe record is cut short @9:2 1\n"},
    {JSON_SEQUENCE, "", 0,
     "\x1e"
     "12\x1e"
     "3\n",
     "the record is cut short @4:1 0\n"},
    {JSON_SEQUENCE, "", 0, "\x1enull\x1e{}\n", "the record is cut short @6:1 0\n"},
    {JSON_SEQUENCE, "", 0, "\x1enu\x1e{}\n", "the record is cut short @4:1 0\n"},
    {JSON_SEQUENCE, "", 0, "\x1e[1,\x1e{}\n", "the record is cut short @5:1 0\n"},
    {JSON_SEQUENCE, "", 0, "\x1e[\"a\x1e", "the record is cut short @5:1 0\n"},
    {JSON_SEQUENCE, "", 0, "\x1e[1", "the record is cut short @3:1 0\n"},
    {JSON_SEQUENCE, "", 0, "{}", "expected a record, which begins with byte 1E @1:1\n"},
    {JSON_SEQUENCE, "", 0, "\x1e{}\n{}",
     "{} @2:1 0\nexpected a record, which begins with byte 1E @5:2 0\n"},
    /* the format detected by the first byte */
    {JSON_DETECTED, "", 0, "", "end"},
    {JSON_DETECTED, "", 0, " \n[1,2]", "1 @4:2 0\n2 @6:2 1\nend"},
    {JSON_DETECTED, "", 0, "\xef\xbb\xbf[1]", "1 @5:1 0\nend"},
    {JSON_DETECTED, "", 0, "[1]\n[2]", "1 @2:1 0\nexpected nothing more @5:2\n"},
    {JSON_DETECTED, "", 0, "{\"a\":\n1}\n{}", "{\"a\":\n1} @1:1 0\n{} @10:3 1\nend"},
    {JSON_DETECTED, "", 0, "\x1e[1]\n", "[1] @2:1 0\nend"},
    {JSON_DETECTED, "", 0, "<html>", "expected a value @1:1 0\n"},
    {JSON_DETECTED, "", 0, "\xef\xbb", "expected a value @1:1 0\n"},
};

static json_options options_of(size_t row) {
    int flags = rows[row].flags;
    return (json_options){
        .form = rows[row].form,
        .path = json_driver_path(rows[row].path),
        .value_bytes = flags & LONG ? 10 : SIZE_MAX,
        .max_nesting = flags & DEEP ? 3 : 0,
        .nan = flags & NAN_TOO,
        .trailing_comma = flags & COMMA_TOO,
        .control_characters = flags & CONTROL_TOO,
        .invalid_escape = flags & ESCAPE_TOO,
    };
}

static void check_told(size_t row, json_division division) {
    buffer output = {0};
    json_options options = options_of(row);
    json_drive(&output, &options, rows[row].text, strlen(rows[row].text), division);
    bool same = buffer_length(&output) == strlen(rows[row].output) &&
                memcmp(output.bytes, rows[row].output, buffer_length(&output)) == 0;
    CHECK(same, "divided after %zu, by %zu:\n%.*s\ninstead of\n%s", division.first, division.then,
          (int)buffer_length(&output), (const char *)output.bytes, rows[row].output);
    buffer_free(&output);
}

static void test_rows(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].text);
        check_case("\"%s\" at \"%s\"", rows[i].text, rows[i].path);
        check_told(i, (json_division){SIZE_MAX, SIZE_MAX});
        check_told(i, (json_division){1, 1});
        for (size_t at = 1; at < length; at++) check_told(i, (json_division){at, SIZE_MAX});
    }
}

/* Only the current value is kept in memory. */
static void test_memory(void) {
    json_scanner s;
    json_value value;
    json_options options = {.path = json_driver_path("b"), .value_bytes = 100};
    CHECK(json_scanner_init(&s, &options), "memory");
    CHECK(json_scanner_feed(&s, "{\"a\":[\"", 7), "memory");
    for (int i = 0; i < 10000; i++) {
        const char *text = i % 2 ? "and a long text that is not wanted, " : "\\\"";
        CHECK(json_scanner_feed(&s, text, strlen(text)), "memory");
        CHECK(json_scanner_next(&s, &value) == JSON_MORE, "at %d", i);
    }
    CHECK(s.bytes.capacity <= 512, "%zu bytes are kept", s.bytes.capacity);
    json_scanner_free(&s);
}

int main(void) {
    RUN(test_rows());
    RUN(test_memory());
    return check_report();
}
