#include "http1_internal.h"

#include "protocol/comma_list.h"
#include "protocol/guard.h"

static bool all(const char *bytes, size_t length, int class) {
    for (size_t i = 0; i < length; i++)
        if (!http1_is((uint8_t)bytes[i], class)) return false;
    return true;
}

bool http1_name_valid(const char *bytes, size_t length) {
    return !GUARD(SENT_NAME) || (length > 0 && all(bytes, length, CLASS_TOKEN));
}

bool http1_value_valid(const char *bytes, size_t length) {
    if (length == 0 || !GUARD(SENT_VALUE)) return true;
    const uint8_t *start = (const uint8_t *)bytes, *end = start + length;
    return http1_skip_text(start, end) == end;
}

bool http1_target_valid(const char *bytes, size_t length) {
    return !GUARD(SENT_TARGET) || (length > 0 && all(bytes, length, CLASS_TARGET));
}

bool http1_says_close(const http1_header *header) {
    const uint8_t *name = (const uint8_t *)header->name;
    comma_list list = {.rest = header->value, .end = header->value + header->value_length};
    bool found = false;
    if (!HTTP1_SAME(name, header->name_length, "Connection")) return false;
    while (comma_list_next(&list))
        found |= HTTP1_SAME((const uint8_t *)list.element, list.length, "close");
    return found;
}

static bool request_valid(const char *method, size_t method_length, const char *target,
                          size_t target_length, const http1_header *headers, size_t count) {
    if (!http1_name_valid(method, method_length)) return false;
    if (!http1_target_valid(target, target_length)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!http1_name_valid(headers[i].name, headers[i].name_length)) return false;
        if (!http1_value_valid(headers[i].value, headers[i].value_length)) return false;
    }
    return true;
}

/* Appends to `out`, which must have room. */
static void put(buffer *out, const char *bytes, size_t length) {
    if (length > 0) memcpy(buffer_tail(out), bytes, length);
    buffer_commit(out, length);
}

#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

bool http1_request(buffer *out, const char *method, size_t method_length, const char *target,
                   size_t target_length, const http1_header *headers, size_t count) {
    if (!request_valid(method, method_length, target, target_length, headers, count)) return false;
    size_t total = method_length + target_length + sizeof("  HTTP/1.1\r\n\r\n") - 1;
    for (size_t i = 0; i < count; i++)
        total += headers[i].name_length + headers[i].value_length + sizeof(": \r\n") - 1;
    if (!buffer_reserve(out, total)) return false;
    put(out, method, method_length);
    PUT(out, " ");
    put(out, target, target_length);
    PUT(out, " HTTP/1.1\r\n");
    for (size_t i = 0; i < count; i++) {
        put(out, headers[i].name, headers[i].name_length);
        PUT(out, ": ");
        put(out, headers[i].value, headers[i].value_length);
        PUT(out, "\r\n");
    }
    PUT(out, "\r\n");
    return true;
}

size_t http1_chunk_line(char out[HTTP1_CHUNK_LINE], uint64_t size) {
    size_t digits = 1;
    while (digits < 16 && size >> (4 * digits) > 0) digits++;
    for (size_t i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[size >> (4 * (digits - 1 - i)) & 15];
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}
