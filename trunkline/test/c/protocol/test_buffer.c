#include "check.h"
#include "protocol/buffer.h"

static bool holds(buffer *b, const char *text) {
    size_t length = strlen(text);
    return buffer_length(b) == length && (length == 0 || memcmp(buffer_head(b), text, length) == 0);
}

static void test_order(void) {
    buffer b = {0};
    CHECK(buffer_length(&b) == 0 && buffer_room(&b) == 0, "a zeroed one is empty");
    CHECK(buffer_head(&b) == NULL && buffer_tail(&b) == NULL, "it has no memory");
    CHECK(buffer_append(&b, NULL, 0) && holds(&b, ""), "nothing can be appended to nothing");
    CHECK(buffer_append(&b, "hello ", 6) && buffer_append(&b, "world", 5), "bytes are appended");
    CHECK(holds(&b, "hello world"), "they are there in order");
    buffer_consume(&b, 6);
    CHECK(holds(&b, "world"), "they are taken from the front");
    buffer_consume(&b, 5);
    CHECK(holds(&b, "") && b.start == 0, "an emptied one begins at its front again");
    buffer_append(&b, "x", 1);
    buffer_clear(&b);
    CHECK(holds(&b, "") && b.capacity > 0, "a cleared one keeps its memory");
    buffer_free(&b);
    CHECK(b.bytes == NULL && b.capacity == 0, "a freed one is a zeroed one");
    buffer_free(&b);
}

static void test_room(void) {
    buffer b = {0};
    buffer_append(&b, "abc", 3);
    size_t room = buffer_room(&b);
    uint8_t *before = b.bytes;
    CHECK(buffer_reserve(&b, room) && b.bytes == before, "what fits is not moved");
    memset(buffer_tail(&b), 'd', room);
    buffer_commit(&b, room);
    CHECK(buffer_room(&b) == 0, "it is full");
    buffer_consume(&b, 2);
    CHECK(buffer_reserve(&b, 2) && b.bytes == before && b.start == 0 && *buffer_head(&b) == 'c',
          "room at the front is used before memory is");
    size_t capacity = b.capacity;
    CHECK(buffer_reserve(&b, 3 * capacity) && buffer_room(&b) >= 3 * capacity &&
              *buffer_head(&b) == 'c',
          "it grows by as much as is asked for");
    buffer_free(&b);
}

/* Sizes with which a sum or a doubling would overflow. */
static void test_absurd_sizes(void) {
    buffer b = {0};
    buffer_append(&b, "abc", 3);
    static const size_t absurd[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX / 2, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
        check_case("an absurd size: %zu", absurd[i]);
        CHECK(!buffer_reserve(&b, absurd[i]) && holds(&b, "abc"), "%zu bytes are refused",
              absurd[i]);
    }
    buffer_free(&b);
}

int main(void) {
    RUN(test_order());
    RUN(test_room());
    RUN(test_absurd_sizes());
    return check_report();
}
