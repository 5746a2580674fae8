#include "json_driver.h"

/*
 * A stream of JSON, fed whole, byte by byte, and in pieces whose sizes the input contains: the
 * results must be the same.
 *
 * The input: flags, the path, the size of the first piece, the size of the later ones, then the
 * stream.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {"", "*", "a.*", "*.a", "1", "*.*", "a.b.0", "\xc3\xbc.*"};

static json_options options_of(const uint8_t *data) {
    return (json_options){
        .form = (json_form)(data[0] & 3),
        .path = json_driver_path((data[0] & 3) == JSON_DOCUMENT ? paths[data[1] & 7] : NULL),
        .value_bytes = data[0] & 4 ? 16 : SIZE_MAX,
        .max_nesting = data[0] & 8 ? 4 : 0,
        .nan = data[0] & 16,
        .trailing_comma = data[0] & 32,
        .control_characters = data[0] & 64,
        .invalid_escape = data[0] & 128,
    };
}

static void same(const buffer *a, const buffer *b) {
    size_t length = buffer_length(a);
    if (length == buffer_length(b) && memcmp(a->bytes, b->bytes, length) == 0) return;
    printf("%.*s\n--\n%.*s\n", (int)length, a->bytes, (int)buffer_length(b), b->bytes);
    fflush(stdout);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    const json_division divisions[] = {
        {SIZE_MAX, SIZE_MAX}, {1, 1}, {data[2] + 1u, data[3] % 64 + 1u}, {data[2] + 1u, SIZE_MAX}};
    buffer whole = {0};
    for (size_t i = 0; i < sizeof(divisions) / sizeof(divisions[0]); i++) {
        buffer output = {0};
        json_options options = options_of(data);
        json_drive(i == 0 ? &whole : &output, &options, data + 4, size - 4, divisions[i]);
        if (i > 0) same(&whole, &output);
        buffer_free(&output);
    }
    buffer_free(&whole);
    return 0;
}
