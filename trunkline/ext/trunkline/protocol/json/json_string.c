#include "protocol/json/json_string.h"

#include <string.h>

#include "protocol/json/json_tokens.h"

static uint32_t hex(const uint8_t *digits) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = digits[i];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
}

static size_t encode_utf8(uint32_t code, uint8_t *out) {
    if (code < 0x80) return out[0] = (uint8_t)code, 1;
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (uint8_t)(0x80 | (code & 0x3F));
    out[0] = (uint8_t)(heads[length] | code);
    return length;
}

size_t json_next_character(const uint8_t **raw, const uint8_t *end, uint8_t *out) {
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const uint8_t *p = *raw;
    if (*p != '\\' || end - p < 2) return out[0] = *p, *raw = p + 1, 1;
    if (p[1] != 'u' || end - p < 6) {
        const char *letter = strchr(letters, p[1]);
        out[0] = p[1] != '\0' && letter != NULL ? (uint8_t)meanings[letter - letters] : p[1];
        return *raw = p + 2, 1;
    }
    uint32_t code = hex(p + 2);
    *raw = p + 6;
    if (code >= 0xD800 && code < 0xDC00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
        uint32_t low = hex(p + 8);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            *raw = p + 12;
        }
    }
    return encode_utf8(code, out);
}

/* Returns the end of the escape at `p`; NULL: it is invalid or incomplete. */
static const uint8_t *skip_escape(const uint8_t *p, const uint8_t *end) {
    if (end - p < 2) return NULL;
    if (p[1] != 'u') return json_is_escape(p[1]) ? p + 2 : NULL;
    if (end - p < 6) return NULL;
    for (int i = 2; i < 6; i++)
        if (!json_is_hex(p[i])) return NULL;
    return p + 6;
}

const uint8_t *json_string_end(const uint8_t *p, const uint8_t *end, bool *escaped) {
    *escaped = false;
    while (p != NULL) {
        p = json_skip_plain(p, end);
        if (p == end) return NULL;
        if (*p == '"') return p;
        if (*p != '\\') return NULL;
        *escaped = true;
        p = skip_escape(p, end);
    }
    return NULL;
}

static bool is_surrogate(const uint8_t *character, size_t count) {
    return count == 3 && character[0] == 0xED && character[1] >= 0xA0;
}

bool json_string_decode(const uint8_t *raw, size_t count, uint8_t *out, size_t *length) {
    const uint8_t *end = raw + count;
    uint8_t *to = out;
    while (raw < end) {
        const uint8_t *escape = memchr(raw, '\\', (size_t)(end - raw));
        size_t plain = (size_t)((escape != NULL ? escape : end) - raw);
        memcpy(to, raw, plain);
        to += plain;
        if (escape == NULL) break;
        raw = escape;
        size_t bytes = json_next_character(&raw, end, to);
        if (is_surrogate(to, bytes)) return false;
        to += bytes;
    }
    *length = (size_t)(to - out);
    return true;
}
