#include "protocol/http1/http1.h"

/*
 * Whatever bytes are put into a request head, the result has only the intended lines: no value can
 * inject another line. Names that are accepted must also be names for the response parser.
 *
 * The input: method, target, then names and values alternately, separated by 0xFE.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEPARATOR 0xFE
#define PARTS 16

typedef struct {
    const char *bytes;
    size_t length;
} part;

static size_t take_apart(part parts[PARTS], const uint8_t *data, size_t size) {
    size_t count = 0;
    const uint8_t *at = data, *end = data + size;
    while (count < PARTS && at <= end) {
        const uint8_t *stop = at < end ? memchr(at, SEPARATOR, (size_t)(end - at)) : NULL;
        if (stop == NULL) stop = end;
        parts[count++] = (part){(const char *)at, (size_t)(stop - at)};
        at = stop + 1;
    }
    return count;
}

static void demand(bool holds) {
    if (!holds) abort();
}

/* Parses the head's fields by the response parser, after replacing the first line by a status
 * line. */
static void read_back(buffer *out, const http1_header *headers, size_t count) {
    static const char status[] = "HTTP/1.1 204";
    const http1_limits limits = {1 << 20, PARTS, 0, 0, 0, 0, false};
    uint8_t *line_end = memchr(buffer_head(out), '\r', buffer_length(out));
    demand(line_end != NULL);
    buffer response = {0};
    size_t rest = (size_t)(buffer_tail(out) - line_end);
    demand(buffer_append(&response, status, sizeof(status) - 1));
    demand(buffer_append(&response, line_end, rest));
    http1_response r = {0};
    http1_begin(&r, &limits, false);
    http1_result result = http1_head(&r, response.bytes, buffer_length(&response));
    demand(result == HTTP1_DONE);
    demand(r.field_count == count && r.head_length == buffer_length(&response));
    for (size_t i = 0; i < count; i++) {
        demand(r.fields[i].name_length == headers[i].name_length);
        demand(r.fields[i].value_length <= headers[i].value_length);
    }
    http1_free(&r);
    buffer_free(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    part parts[PARTS];
    size_t count = take_apart(parts, data, size);
    if (count < 2) return 0;
    http1_header headers[PARTS];
    size_t header_count = (count - 2) / 2;
    for (size_t i = 0; i < header_count; i++) {
        const part *name = &parts[2 + 2 * i], *value = name + 1;
        headers[i] = (http1_header){name->bytes, name->length, value->bytes, value->length};
    }
    buffer out = {0};
    if (http1_request(&out, parts[0].bytes, parts[0].length, parts[1].bytes, parts[1].length,
                      headers, header_count))
        read_back(&out, headers, header_count);
    else
        demand(buffer_length(&out) == 0);
    buffer_free(&out);
    return 0;
}
