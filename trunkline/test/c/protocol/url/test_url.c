#include "check.h"
#include "protocol/url/url.h"

#include <string.h>

static const struct {
    const char *text;
    url_form form;
    size_t origin;
} urls[] = {
    {"http://a.test", URL_ABSOLUTE, 13},
    {"https://a.test:8443/x?y=/z?", URL_ABSOLUTE, 19},
    {"http://a.test?x=1", URL_ABSOLUTE, 13},
    {"http://a.test/a/../b", URL_ABSOLUTE, 13},
    {"http://a.test/%20%eF", URL_ABSOLUTE, 13},
    {"/users?page=2", URL_ROOTED, 0},
    {"/", URL_ROOTED, 0},
    {"users/1", URL_RELATIVE, 0},
    {"?page=2", URL_RELATIVE, 0},
    {"users?at=12:30", URL_RELATIVE, 0},
    {"", URL_UNUSUAL, 0},
    {"HTTP://a.test/", URL_UNUSUAL, 0},
    {"ftp://a.test/", URL_UNUSUAL, 0},
    {"//a.test/", URL_UNUSUAL, 0},
    {"a:b", URL_UNUSUAL, 0},
    {"./a", URL_UNUSUAL, 0},
    {"../a", URL_UNUSUAL, 0},
    {"a/../b", URL_UNUSUAL, 0},
    {"/a/.", URL_UNUSUAL, 0},
    {"/a#b", URL_UNUSUAL, 0},
    {"/a b", URL_UNUSUAL, 0},
    {"/a\r\nb", URL_UNUSUAL, 0},
    {"/%", URL_UNUSUAL, 0},
    {"/%2", URL_UNUSUAL, 0},
    {"/%2g", URL_UNUSUAL, 0},
    {"/\xc3\xbc", URL_UNUSUAL, 0},
    {"http://a.test/\\", URL_UNUSUAL, 0},
};

static void test_scan(void) {
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        size_t origin = 0;
        check_case("\"%s\"", urls[i].text);
        url_form form = url_scan(urls[i].text, strlen(urls[i].text), &origin);
        CHECK(form == urls[i].form, "form %d", (int)form);
        CHECK(form != URL_ABSOLUTE || origin == urls[i].origin, "an origin of %zu bytes", origin);
    }
}

static void test_nul(void) {
    size_t origin;
    CHECK(url_scan("/a\0b", 4, &origin) == URL_UNUSUAL, "a NUL in a path");
    CHECK(url_scan("http://a.test\0/b", 16, &origin) == URL_ABSOLUTE,
          "the authority is not checked");
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
    RUN(test_scan());
    RUN(test_nul());
    RUN(test_form());
    return check_report();
}
