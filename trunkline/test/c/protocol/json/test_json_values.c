#include "check.h"
#include "protocol/json/json_number.h"
#include "protocol/json/json_string.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The syntax and the values of JSON numbers and strings. */

static const struct {
    const char *text; /* a number and the text behind it */
    size_t length;    /* of the number; 0: the text is no number */
    bool is_float;
} numbers[] = {
    {"0", 1, false},
    {"-0", 2, false},
    {"7,", 1, false},
    {"-12]", 3, false},
    {"0.5 ", 3, true},
    {"1e5", 3, true},
    {"1E+05", 5, true},
    {"-1.25e-3}", 8, true},
    {"00", 0, false},
    {"01", 0, false},
    {"-", 0, false},
    {"-a", 0, false},
    {"", 0, false},
    {"1.", 0, false},
    {".5", 0, false},
    {"1.e5", 0, false},
    {"1e", 0, false},
    {"1e+", 0, false},
    {"+1", 0, false},
    {"12345678", 8, false},
    {"1234567:", 7, false},
    {"0.00000000", 10, true},
    {"123456789012345678901234567890", 30, false},
};

static void test_numbers(void) {
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_number number;
        const uint8_t *text = (const uint8_t *)numbers[i].text;
        bool read = json_number_read(&number, text, text + strlen(numbers[i].text));
        check_case("%s", numbers[i].text);
        CHECK(read == (numbers[i].length > 0), "read: %d", read);
        if (!read) continue;
        CHECK(number.length == numbers[i].length, "%zu bytes", number.length);
        CHECK(number.is_float == numbers[i].is_float, "float: %d", number.is_float);
    }
}

/* Numbers each of which is halfway between two doubles, next to such a point, or needs all of its
 * digits. */
static const char *const doubles[] = {
    "0.0",
    "-0.0",
    "1.0",
    "0.1",
    "0.30000000000000004",
    "123456789.123456789",
    "9007199254740993.0",
    "9007199254740991.0",
    "9007199254740992.5",
    "18014398509481985.0",
    "18014398509481986.0",
    "18014398509481987.0",
    "9999999999999999999e27",
    "9999999999999999999e-27",
    "1e-27",
    "1e27",
    "1e22",
    "1e23",
    "8.5e-26",
    "5000000000000000.5",
    "0.500000000000000055",
    "0.000000000000000000000000001",
    "4503599627370497.5",
    "4503599627370496.5",
    "1.7976931348623157",
};

static void check_double(const char *text) {
    json_number number;
    double value, expected = strtod(text, NULL);
    const uint8_t *bytes = (const uint8_t *)text;
    CHECK(json_number_read(&number, bytes, bytes + strlen(text)), "%s is no number", text);
    if (!json_number_double(&number, &value)) {
#ifdef __SIZEOF_INT128__
        CHECK(false, "%s is not computed", text);
#endif
        return;
    }
    CHECK(memcmp(&value, &expected, sizeof(value)) == 0, "%.17g instead of %.17g, of %s", value,
          expected, text);
}

static void test_doubles(void) {
    for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
        check_case("%s", doubles[i]);
        check_double(doubles[i]);
    }
    check_case("doubles at random");
    srand(18);
    for (int i = 0; i < 100000; i++) {
        char text[64];
        unsigned long long digits = (unsigned long long)rand() << 31 ^ (unsigned long long)rand();
        snprintf(text, sizeof(text), "%s%llue%d", i % 2 ? "-" : "", digits >> rand() % 60,
                 rand() % 55 - 27);
        check_double(text);
    }
}

static void test_what_is_not_computed(void) {
    static const char *const texts[] = {"1e28", "1e-28", "12345678901234567890.0", "1e400",
                                        "1e-99999999999"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_number number;
        double value;
        const uint8_t *bytes = (const uint8_t *)texts[i];
        check_case("%s", texts[i]);
        CHECK(json_number_read(&number, bytes, bytes + strlen(texts[i])), "it is no number");
        CHECK(!json_number_double(&number, &value), "it is %g", value);
    }
}

static const struct {
    const char *text;    /* after the opening quote */
    const char *decoded; /* NULL: the string is incomplete */
    bool half;           /* whether it contains half of a surrogate pair */
} strings[] = {
    {"\"", "", false},
    {"plain\", \"b\"", "plain", false},
    {"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", false},
    {"\\u0061\\u00e9\\u3042\"", "a\xc3\xa9\xe3\x81\x82", false},
    {"\\ud834\\udd1e\"", "\xf0\x9d\x84\x9e", false},
    {"a long text without a special byte in it, then \\n\"",
     "a long text without a special byte in it, then \n", false},
    {"\\ud834\"", "", true},
    {"\\udd1e\\ud834\"", "", true},
    {"\xc3\xa9\"", "\xc3\xa9", false},
    {"", NULL, false},
    {"plain", NULL, false},
    {"\\", NULL, false},
    {"\\\"", NULL, false},
    {"\\u12\"", NULL, false},
    {"\\u", NULL, false},
    {"\\x\"", NULL, false},
    {"a\nb\"", NULL, false},
};

static void test_strings(void) {
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        const uint8_t *text = (const uint8_t *)strings[i].text;
        uint8_t decoded[64];
        size_t length;
        bool escaped;
        const uint8_t *stop = json_string_end(text, text + strlen(strings[i].text), &escaped);
        check_case("%s", strings[i].text);
        CHECK((stop != NULL) == (strings[i].decoded != NULL), "an end: %d", stop != NULL);
        if (stop == NULL) continue;
        CHECK(escaped == (memchr(text, '\\', (size_t)(stop - text)) != NULL), "%d", escaped);
        bool whole = json_string_decode(text, (size_t)(stop - text), decoded, &length);
        CHECK(whole != strings[i].half, "decoded: %d", whole);
        if (!whole) continue;
        bool same = length == strlen(strings[i].decoded) &&
                    memcmp(decoded, strings[i].decoded, length) == 0;
        CHECK(same, "%.*s", (int)length, decoded);
    }
}

int main(void) {
    RUN(test_numbers());
    RUN(test_doubles());
    RUN(test_what_is_not_computed());
    RUN(test_strings());
    return check_report();
}
