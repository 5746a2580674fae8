#include "url.h"

#include "protocol/http1/http1_table.h"

static bool hex(uint8_t byte) {
    return http1_digit(byte) || (uint8_t)((byte | 0x20) - 'a') < 6;
}

static size_t authority_end(const char *text, size_t from, size_t length) {
    while (from < length && text[from] != '/' && text[from] != '?' && text[from] != '#') from++;
    return from;
}

/* Can text[from..length), a path and perhaps a query, be sent as it stands? */
static bool sendable(const char *text, size_t from, size_t length) {
    for (size_t i = from; i < length; i++) {
        if (text[i] == '%') {
            if (length - i < 3 || !hex((uint8_t)text[i + 1]) || !hex((uint8_t)text[i + 2]))
                return false;
            i += 2;
        } else if (!http1_is((uint8_t)text[i], CLASS_URL)) {
            return false;
        }
    }
    return true;
}

static size_t scheme_length(const char *text, size_t length) {
    if (length > 7 && memcmp(text, "http://", 7) == 0) return 7;
    if (length > 8 && memcmp(text, "https://", 8) == 0) return 8;
    return 0;
}

/* A reference that a base's path comes before, or that may hold dot segments. */
static bool reference_usual(const char *text, size_t length) {
    if (length == 0 || text[0] == '.') return false;
    if (length > 1 && text[0] == '/' && text[1] == '/') return false;
    for (size_t i = 1; i < length; i++)
        if (text[i] == '.' && text[i - 1] == '/') return false;
    size_t end = 0;
    while (end < length && text[end] != '/' && text[end] != '?' && text[end] != ':') end++;
    return end == length || text[end] != ':';
}

url_form url_scan(const char *text, size_t length, size_t *origin) {
    size_t scheme = scheme_length(text, length);
    *origin = 0;
    if (scheme > 0) {
        *origin = authority_end(text, scheme, length);
        return sendable(text, *origin, length) ? URL_ABSOLUTE : URL_UNUSUAL;
    }
    if (!reference_usual(text, length) || !sendable(text, 0, length)) return URL_UNUSUAL;
    return text[0] == '/' ? URL_ROOTED : URL_RELATIVE;
}

size_t form_length(const char *bytes, size_t length) {
    size_t total = length;
    for (size_t i = 0; i < length; i++)
        if (!http1_is((uint8_t)bytes[i], CLASS_FORM) && bytes[i] != ' ') total += 2;
    return total;
}

char *form_put(char *out, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        if (http1_is(byte, CLASS_FORM)) {
            *out++ = (char)byte;
        } else if (byte == ' ') {
            *out++ = '+';
        } else {
            *out++ = '%';
            *out++ = "0123456789ABCDEF"[byte >> 4];
            *out++ = "0123456789ABCDEF"[byte & 15];
        }
    }
    return out;
}
