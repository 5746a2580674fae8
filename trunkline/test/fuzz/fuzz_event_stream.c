#include "event_driver.h"

/*
 * An event stream, fed whole and in pieces: both must give the same events, the same end, and the
 * same last event ID; no event is larger than the limit.
 *
 * The input: the limit, the size of the first piece and that of the later ones, then the stream.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what) {
    if (holds) return;
    printf("%s\n", what);
    fflush(stdout);
    abort();
}

static bool same(const buffer *one, const buffer *other) {
    size_t length = buffer_length(one);
    return length == buffer_length(other) &&
           (length == 0 || memcmp(one->bytes, other->bytes, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) return 0;
    size_t limit = data[0] * 4u + 1u, first = data[1], piece = data[2] % 16u + 1u;
    event_stream whole, split;
    buffer events = {0}, pieces = {0};
    event_stream_begin(&whole, limit);
    event_stream_begin(&split, limit);
    event_stream_result one = read_events(&events, &whole, data + 3, size - 3, size, size);
    event_stream_result other = read_events(&pieces, &split, data + 3, size - 3, first, piece);
    demand(one == other, "only one way of feeding fails");
    demand(same(&events, &pieces), "other events came out");
    demand(same(&whole.id, &split.id) && whole.has_id == split.has_id, "another last event ID");
    demand(whole.retry == split.retry, "another time to wait");
    demand(buffer_length(&split.line) <= limit + 3 && buffer_length(&split.data.own) <= limit,
           "more than the limit is kept");
    buffer_free(&events);
    buffer_free(&pieces);
    event_stream_free(&whole);
    event_stream_free(&split);
    return 0;
}
