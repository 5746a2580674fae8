#include "check.h"
#include "event_driver.h"

#define LIMIT 64

/* `events` contains "type|data|id|retry\n" for each event. */
#define ROW(title, bytes, events) \
    { title, bytes, events, sizeof(bytes) - 1, sizeof(events) - 1 }

static const struct {
    const char *title, *bytes, *events;
    size_t length, events_length;
} rows[] = {
    ROW("nothing", "", ""),
    ROW("one event", "data: x\n\n", "|x||-1\n"),
    ROW("without a space", "data:x\n\n", "|x||-1\n"),
    ROW("one space alone is left out", "data:  x \n\n", "| x ||-1\n"),
    ROW("carriage returns", "data: x\r\rdata: y\r\r", "|x||-1\n|y||-1\n"),
    ROW("both", "data: x\r\n\r\ndata: y\r\n\r\n", "|x||-1\n|y||-1\n"),
    ROW("line ends mixed", "data: a\rdata: b\ndata: c\r\n\n\rdata: d\r\r\n",
        "|a\nb\nc||-1\n|d||-1\n"),
    ROW("LF CR is two line ends", "data: x\n\rdata: y\n\n", "|x||-1\n|y||-1\n"),
    ROW("several lines of data", "data: a\ndata\ndata:\ndata: b\n\n", "|a\n\n\nb||-1\n"),
    ROW("data without a colon", "data\n\n", "|||-1\n"),
    ROW("two lines of it", "data\ndata\n\n", "|\n||-1\n"),
    ROW("two lines of it, then text", "data\ndata:\ndata:x\n\n", "|\n\nx||-1\n"),
    ROW("data of several events", "data: a\ndata: b\n\ndata\ndata: c\n\n", "|a\nb||-1\n|\nc||-1\n"),
    ROW("not ended", "data: a\n\ndata: b\n", "|a||-1\n"),
    ROW("not even its line", "data: a\n\ndata: b", "|a||-1\n"),
    ROW("no data", "event: a\nid: 1\n\n", ""),
    ROW("its id counts", "id: 1\n\ndata: x\n\n", "|x|1|-1\n"),
    ROW("its type does not", "event: a\n\ndata: x\n\n", "|x||-1\n"),
    ROW("its retry is not the next's", "retry: 7\n\ndata: x\n\n", "|x||-1\n"),
    ROW("a type", "event: a\ndata: x\n\ndata: y\n\n", "a|x||-1\n|y||-1\n"),
    ROW("the last type", "event: a\nevent: b\ndata: x\n\n", "b|x||-1\n"),
    ROW("an empty type", "event: a\nevent:\ndata: x\n\n", "|x||-1\n"),
    ROW("an id lasts", "data: x\nid: 1\n\ndata: y\n\n", "|x|1|-1\n|y|1|-1\n"),
    ROW("an id is taken back", "id: 1\ndata: x\n\nid\ndata: y\n\n", "|x|1|-1\n|y||-1\n"),
    ROW("an id of an event that is not ended", "id: 1\ndata: x\n\nid: 2\ndata: y\n", "|x|1|-1\n"),
    ROW("an id with a NUL", "id: 1\ndata: x\n\nid: 2\0\ndata: y\n\n", "|x|1|-1\n|y|1|-1\n"),
    ROW("data with a NUL", "data: \0\n\n", "|\0||-1\n"),
    ROW("retry", "retry: 1500\ndata: x\n\n", "|x||1500\n"),
    ROW("no retries", "retry: 1.5\nretry: -1\nretry: \nretry\nretry: 5 \nretry:  5\ndata: x\n\n",
        "|x||-1\n"),
    ROW("comments", ":\n: a\n:data: y\ndata: x\n:\n\n", "|x||-1\n"),
    ROW("fields nobody knows", "dat: a\ndatax: b\nDATA: c\n data: d\nfoo\nids: 3\ndata: x\n\n",
        "|x||-1\n"),
    ROW("a byte order mark",
        "\xEF\xBB\xBF"
        "data: x\n\n",
        "|x||-1\n"),
    ROW("the second is a part of the line",
        "\xEF\xBB\xBF\xEF\xBB\xBF"
        "data: x\n\ndata: y\n\n",
        "|y||-1\n"),
    ROW("so is a half",
        "\xEF\xBB"
        "data: x\n\ndata: y\n\n",
        "|y||-1\n"),
    ROW("a half is no comment", "\xEF:data: x\n\ndata: y\n\n", "|y||-1\n"),
    ROW("and one that comes later",
        "\n\xEF\xBB\xBF"
        "data: x\n\ndata: y\n\n",
        "|y||-1\n"),
    ROW("bytes that are no UTF-8", "data: a\xFF\xC3\n\n", "|a\xFF\xC3||-1\n"),
    ROW("a comment of any size",
        ": 0123456789012345678901234567890123456789012345678901234567890123456789\ndata: x\n\n",
        "|x||-1\n"),
    ROW("as many bytes as are allowed",
        "id: 6789\r\ndata: 67890123456789012345678901234567890123456789012345\r\n\r\nid: 1\n",
        "|67890123456789012345678901234567890123456789012345|6789|-1\n"),
};

static void check_row(size_t row, size_t first, size_t piece) {
    event_stream s;
    buffer events = {0};
    event_stream_begin(&s, LIMIT);
    size_t expected = rows[row].events_length;
    event_stream_result result =
        read_events(&events, &s, rows[row].bytes, rows[row].length, first, piece);
    CHECK(result == EVENT_STREAM_MORE, "split at %zu and by %zu: result %d", first, piece, result);
    CHECK(buffer_length(&events) == expected &&
              (expected == 0 || memcmp(events.bytes, rows[row].events, expected) == 0),
          "split at %zu and by %zu: %.*s", first, piece, (int)buffer_length(&events), events.bytes);
    buffer_free(&events);
    event_stream_free(&s);
}

static void test_streams(void) {
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        check_case("%s", rows[row].title);
        size_t length = rows[row].length;
        check_row(row, 1, 1);
        for (size_t at = 0; at <= length; at++) check_row(row, at, length + 1);
    }
}

static void test_limits(void) {
    static const char *const streams[] = {
        "data: 67890123456789012345678901234567890123456789012345678901234",
        "data: 6789012345678901234567890123456789012345678901234567890123\nx\n",
        "data: 6789012345678901234567890123456789012345678901234567890123\nx",
        "foo: 567890123456789012345678901234567890123456789012345678901234",
        "id: 67890\nid: 67890\nid: 67890\nid: 67890\nid: 67890\nid: 67890\nid: 67890\nid",
    };
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        for (size_t at = 0; at < 90; at++) {
            check_case("a limit: %zu, split at %zu", i, at);
            event_stream s;
            server_event event;
            buffer events = {0}, stream = {0};
            if (!buffer_append(&stream, "data: x\n\n", 9) ||
                !buffer_append(&stream, streams[i], strlen(streams[i])))
                abort();
            event_stream_begin(&s, LIMIT);
            CHECK(read_events(&events, &s, stream.bytes, buffer_length(&stream), at, 100) ==
                      EVENT_STREAM_TOO_LARGE,
                  "it was taken");
            CHECK(buffer_length(&events) == 7, "the event before it is there");
            event_stream_feed(&s, "\n\n\n", 3);
            CHECK(event_stream_next(&s, &event) == EVENT_STREAM_TOO_LARGE, "it stays refused");
            buffer_free(&events);
            buffer_free(&stream);
            event_stream_free(&s);
        }
    }
}

static void test_what_the_stream_says(void) {
    event_stream s;
    buffer events = {0};
    event_stream_begin(&s, LIMIT);
    CHECK(!s.has_id && s.retry == -1, "nothing at first");
    CHECK(event_stream_set_id(&s, "0", 1) && s.has_id && s.id_changed, "an id to begin with");
    static const char stream[] = "data: x\n\nretry: 99999999999999999999\nid: 2";
    read_events(&events, &s, stream, sizeof(stream) - 1, 9, 20);
    CHECK(buffer_length(&events) == 8 && memcmp(events.bytes, "|x|0|-1\n", 8) == 0,
          "events have it");
    CHECK(s.retry > 1000000000, "a large retry stays large");
    CHECK(buffer_length(&s.id) == 1 && s.id.bytes[0] == '0', "the next is not there yet");
    buffer_free(&events);
    event_stream_free(&s);
}

int main(void) {
    RUN(test_streams());
    RUN(test_limits());
    RUN(test_what_the_stream_says());
    return check_report();
}
