#include "check.h"
#include "protocol/url/url.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *text;
    size_t origin; /* length of the origin; 0: the URL is not absolute */
    bool sendable;
} absolutes[] = {
    {"http://a.test", 13, true},
    {"https://a.test:8443/x?y=/z?", 19, true},
    {"http://a.test?x=1", 13, true},
    {"http://a.test/a/../b", 13, true},
    {"http://a.test/%20%eF", 13, true},
    {"http://a.test/\\", 13, false},
    {"http://a.test#b", 13, false},
    {"http://", 0, false},
    {"HTTP://a.test/", 0, false},
    {"ftp://a.test/", 0, false},
    {"/users", 0, false},
};

static void test_absolute(void) {
    for (size_t i = 0; i < sizeof(absolutes) / sizeof(absolutes[0]); i++) {
        const char *text = absolutes[i].text;
        size_t length = strlen(text);
        check_case("\"%s\"", text);
        CHECK(url_is_absolute(text, length) == (absolutes[i].origin > 0), "whether it is absolute");
        if (absolutes[i].origin == 0) continue;
        size_t origin = url_origin_length(text, length);
        CHECK(origin == absolutes[i].origin, "an origin of %zu bytes", origin);
        CHECK(url_sendable(text + origin, length - origin) == absolutes[i].sendable, "the rest");
    }
}

static const struct {
    const char *text;
    bool usual;
} references[] = {
    {"/users?page=2", true},  {"/", true},     {"users/1", true},    {"?page=2", true},
    {"users?at=12:30", true}, {"", false},     {"//a.test/", false}, {"a:b", false},
    {"./a", false},           {"../a", false}, {"a/../b", false},    {"/a/.", false},
    {"/a#b", false},          {"/a b", false}, {"/a\r\nb", false},   {"/%", false},
    {"/%2", false},           {"/%2g", false}, {"/\xc3\xbc", false},
};

static void test_reference(void) {
    for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
        check_case("\"%s\"", references[i].text);
        bool usual = url_reference_usual(references[i].text, strlen(references[i].text));
        CHECK(usual == references[i].usual, "whether it is usual");
    }
}

/* The code checks four bytes at a time, so each position within them is tested. */
static void test_sendable_places(void) {
    for (size_t at = 0; at < 12; at++) {
        char text[] = "aaaaaaaaaaaa";
        text[at] = '#';
        CHECK(!url_sendable(text, 12), "a \"#\" at %zu", at);
        CHECK(url_sendable(text, at), "what is before it");
        memcpy(text, "aaaaaaaaaaaa", 12);
        if (at > 9) continue;
        memcpy(text + at, "%2F", 3);
        CHECK(url_sendable(text, 12), "\"%%2F\" at %zu", at);
        CHECK(!url_sendable(text, at + 2), "\"%%2\" at %zu and no more", at);
    }
}

static void test_nul(void) {
    CHECK(!url_reference_usual("/a\0b", 4), "a NUL in a path");
    size_t origin = url_origin_length("http://a.test\0/b", 16);
    CHECK(origin == 14, "an authority with a NUL is %zu bytes, and no known origin", origin);
}

static const struct {
    const char *plain, *encoded;
} forms[] = {
    {"", ""},
    {"azAZ09-._~", "azAZ09-._~"},
    {"a b", "a+b"},
    {"a+b&c=d%", "a%2Bb%26c%3Dd%25"},
    {"\xc3\xbc\r\n\x7f", "%C3%BC%0D%0A%7F"},
};

static void test_form(void) {
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char out[64];
        size_t length = strlen(forms[i].plain);
        check_case("form of \"%s\"", forms[i].encoded);
        char *end = form_put(out, forms[i].plain, length);
        CHECK((size_t)(end - out) == strlen(forms[i].encoded), "%d bytes", (int)(end - out));
        CHECK(form_length(forms[i].plain, length) == strlen(forms[i].encoded), "its length");
        CHECK(memcmp(out, forms[i].encoded, (size_t)(end - out)) == 0, "its bytes");
    }
}

int main(void) {
    RUN(test_absolute());
    RUN(test_reference());
    RUN(test_sendable_places());
    RUN(test_nul());
    RUN(test_form());
    return check_report();
}
