#define _GNU_SOURCE
#include "exchange_peer.h"

/* Responses whose body is streamed to the caller in pieces. */

static void test_streaming(void) {
    begin_test();
    exchange_request request = get_request();
    request.streaming = request.reports_hints = true;
    exchange *x = begin(request);
    step(x);
    int server = accept_one();
    send_text(server, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
    CHECK(step(x) == STEP_HINTS && x->hints != NULL && x->hints->field_count == 1, "hints");
    send_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
    CHECK(step(x) == STEP_HEAD && x->head != NULL, "the head");
    CHECK(step(x) == STEP_DATA && buffer_length(&x->body) == 2, "some of the body");
    buffer_clear(&x->body);
    CHECK(step(x) == STEP_WAIT, "no more yet");
    send_text(server, "llo");
    CHECK(step(x) == STEP_DONE && buffer_length(&x->body) == 3, "the rest");
    exchange_free(x);
    close(server);
    end_test();
}

#define SMALL_ROOM (16 * 1024)
#define CLOSES "HTTP/1.1 200 OK\r\n\r\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* There may be many streams of tokens, so a stream's buffer grows only when it was full. */
static void test_room_of_a_stream(const char *head, const char *piece, const char *large_begins) {
    static const char large[50000];
    begin_test();
    exchange_request request = get_request();
    request.streaming = true;
    exchange *x = begin(request);
    step(x);
    int server = accept_one();
    send_text(server, head);
    CHECK(step(x) == STEP_HEAD, "the head");
    for (int i = 0; i < 3; i++) {
        send_text(server, piece);
        CHECK(step(x) == STEP_DATA && buffer_length(&x->body) == 5, "a piece");
        CHECK(x->body.capacity + x->input.capacity <= SMALL_ROOM + 2048, "little room");
        buffer_clear(&x->body);
    }
    send_text(server, large_begins);
    CHECK(send(server, large, sizeof(large), MSG_NOSIGNAL) == sizeof(large), "sent");
    size_t taken = 0;
    for (int i = 0; i < 20 && taken < sizeof(large); i++) {
        if (step(x) == STEP_DATA) taken += buffer_length(&x->body);
        buffer_clear(&x->body);
    }
    CHECK(taken == sizeof(large), "all of a large one");
    CHECK(x->body.capacity > SMALL_ROOM || x->input.capacity > SMALL_ROOM, "more room");
    exchange_free(x);
    close(server);
    end_test();
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    RUN(test_streaming());
    RUN(test_room_of_a_stream(CLOSES, "hello", ""));
    RUN(test_room_of_a_stream(CHUNKED, "5\r\nhello\r\n", "c350\r\n"));
    return check_report();
}
