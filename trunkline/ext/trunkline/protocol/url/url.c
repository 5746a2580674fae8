#include "url.h"

#include "protocol/guard.h"
#include "protocol/http1/http1_table.h"

static bool hex(uint8_t byte) {
    return http1_digit(byte) || (uint8_t)((byte | 0x20) - 'a') < 6;
}

static size_t scheme_length(const char *text, size_t length) {
    if (length > 7 && memcmp(text, "http://", 7) == 0) return 7;
    if (length > 8 && memcmp(text, "https://", 8) == 0) return 8;
    return 0;
}

bool url_is_absolute(const char *text, size_t length) {
    return scheme_length(text, length) > 0;
}

size_t url_origin_length(const char *text, size_t length) {
    size_t end = scheme_length(text, length);
    while (end < length && text[end] != '/' && text[end] != '?' && text[end] != '#') end++;
    return end;
}

/* Returns the number of bytes before the first one that is not in CLASS_URL. Those bytes are valid
 * whatever follows them. */
static size_t plain_length(const uint8_t *bytes, size_t length) {
    size_t i = 0;
    for (; i + 4 <= length; i += 4) {
        int all = http1_class[bytes[i]] & http1_class[bytes[i + 1]] & http1_class[bytes[i + 2]] &
                  http1_class[bytes[i + 3]];
        if (!(all & CLASS_URL)) break;
    }
    while (i < length && http1_is(bytes[i], CLASS_URL)) i++;
    return i;
}

bool url_sendable(const char *text, size_t length) {
    if (!GUARD(SENT_TARGET)) return true;
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t i = plain_length(bytes, length); i < length;
         i += 3 + plain_length(bytes + i + 3, length - i - 3))
        if (bytes[i] != '%' || length - i < 3 || !hex(bytes[i + 1]) || !hex(bytes[i + 2]))
            return false;
    return true;
}

static bool has_dot_segment(const char *text, size_t length) {
    const char *end = text + length;
    for (const char *dot = text; (dot = memchr(dot, '.', (size_t)(end - dot))) != NULL; dot++)
        if (dot == text || dot[-1] == '/') return true;
    return false;
}

static bool has_scheme(const char *text, size_t length) {
    size_t end = 0;
    while (end < length && text[end] != '/' && text[end] != '?' && text[end] != ':') end++;
    return end < length && text[end] == ':';
}

bool url_reference_usual(const char *text, size_t length) {
    if (length == 0 || (length > 1 && text[0] == '/' && text[1] == '/')) return false;
    return !has_dot_segment(text, length) && !has_scheme(text, length) &&
           url_sendable(text, length);
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
