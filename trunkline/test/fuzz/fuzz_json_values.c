#include "json_driver.h"
#include "protocol/json/json_number.h"
#include "protocol/json/json_string.h"

/*
 * A JSON number or string, parsed at once: it must be one for the scanner too, a float must equal
 * strtod's result, and a decoded string must not be longer than its source. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *words) {
    if (holds) return;
    printf("%s\n", words);
    fflush(stdout);
    abort();
}

/* Returns whether the scanner accepts the bytes as a single document. */
static bool is_document(const uint8_t *bytes, size_t length) {
    buffer output = {0};
    json_options options = {.form = JSON_DOCUMENT, .value_bytes = SIZE_MAX};
    json_failure failure =
        json_drive(&output, &options, bytes, length, (json_division){SIZE_MAX, SIZE_MAX});
    buffer_free(&output);
    return failure == JSON_NO_FAILURE;
}

static void read_number(const uint8_t *data, size_t size) {
    json_number number;
    double value;
    if (!json_number_read(&number, data, data + size))
        return require(!is_document(data, size), "no number");
    require(number.length <= size, "a number behind its end");
    require(is_document(data, number.length), "a number that is none");
    if (!json_number_double(&number, &value)) return;
    char *text = malloc(number.length + 1);
    if (text == NULL) return;
    memcpy(text, data, number.length);
    text[number.length] = '\0';
    double expected = strtod(text, NULL);
    free(text);
    require(memcmp(&value, &expected, sizeof(value)) == 0, "another double");
}

static void read_string(const uint8_t *data, size_t size) {
    bool escaped;
    size_t length;
    const uint8_t *stop = json_string_end(data + 1, data + size, &escaped);
    if (stop == NULL) return require(!is_document(data, size), "no string");
    require(is_document(data, (size_t)(stop + 1 - data)), "a string that is none");
    size_t count = (size_t)(stop - data - 1);
    uint8_t *out = malloc(count > 0 ? count : 1);
    if (out == NULL) return;
    bool decoded = json_string_decode(data + 1, count, out, &length);
    require(decoded || escaped, "a plain string that is not decoded");
    if (decoded) require(length <= count, "more bytes than the string has");
    if (decoded && !escaped) require(memcmp(out, data + 1, count) == 0, "other bytes");
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (data[0] == '"')
        read_string(data, size);
    else if (data[0] == '-' || (data[0] >= '0' && data[0] <= '9'))
        read_number(data, size);
    return 0;
}
