#define _GNU_SOURCE
#include "exchange_peer.h"

/* Whether a request is sent again when its connection fails, and what is recorded of its
 * attempts. */

typedef enum { CLOSES, RESETS, ANSWERS_A_PART, HINTS_AND_CLOSES } ending;

typedef struct {
    const char *title;
    bool fresh; /* the connection carries its first call */
    ending ending;
    bool unsafe, body, fed, replay_safe;
    uint32_t attempts; /* 2: the request was sent again, and got a response */
    failure_code code; /* of the first attempt */
} row;

static const row rows[] = {
    {"kept, closed", .ending = CLOSES, .attempts = 1, .code = FAILURE_CLOSED},
    {"kept, reset", .ending = RESETS, .attempts = 1, .code = FAILURE_RESET},
    {"kept, closed, may be replayed", .ending = CLOSES, .replay_safe = true, .attempts = 2,
     .code = FAILURE_CLOSED},
    {"kept, reset, may be replayed", .ending = RESETS, .replay_safe = true, .attempts = 2,
     .code = FAILURE_RESET},
    {"fresh, closed, may be replayed", .fresh = true, .ending = CLOSES, .replay_safe = true,
     .attempts = 1, .code = FAILURE_CLOSED},
    {"fresh, reset, may be replayed", .fresh = true, .ending = RESETS, .replay_safe = true,
     .attempts = 1, .code = FAILURE_RESET},
    {"no safe method", .ending = CLOSES, .unsafe = true, .replay_safe = true, .attempts = 1,
     .code = FAILURE_CLOSED},
    {"a body", .ending = CLOSES, .body = true, .replay_safe = true, .attempts = 1,
     .code = FAILURE_CLOSED},
    {"a body that is fed", .ending = CLOSES, .body = true, .fed = true, .replay_safe = true,
     .attempts = 1, .code = FAILURE_CLOSED},
    {"an answer before the answer came", .ending = HINTS_AND_CLOSES, .replay_safe = true,
     .attempts = 1, .code = FAILURE_CLOSED},
    {"a part of an answer came", .ending = ANSWERS_A_PART, .replay_safe = true, .attempts = 1,
     .code = FAILURE_TRUNCATED_HEAD},
};

static exchange_request request_of(const row *r) {
    exchange_request request = r->body ? post_request(r->fed ? NULL : "hello", 5) : get_request();
    request.fed = r->fed;
    request.safe_method = !r->unsafe;
    return request;
}

static void end_connection(int server, ending how) {
    if (how == ANSWERS_A_PART) send_text(server, "HTTP/1.1 200 OK\r\nConte");
    if (how == HINTS_AND_CLOSES) send_text(server, "HTTP/1.1 103 Early Hints\r\n\r\n");
    if (how == RESETS)
        reset(server);
    else
        shutdown(server, SHUT_WR);
}

static void answer_again(exchange *x) {
    int server = accept_one();
    CHECK(receives(server, GET), "all of the request comes again");
    send_text(server, OK_HELLO);
    CHECK(step(x) == STEP_DONE, "the second attempt is answered");
    CHECK(x->attempts[1].reason == ATTEMPT_REPLAYED && x->attempts[1].code == FAILURE_NONE,
          "and is a replay");
    close(server);
}

static void run_row(const row *r) {
    begin_test();
    options.replay_safe = r->replay_safe;
    int server = r->fresh ? -1 : idle_connection();
    exchange *x = begin(request_of(r));
    step_result before = step(x);
    if (r->fresh) server = accept_one();
    if (r->fed) {
        CHECK(before == STEP_BODY_WANTED, "it asks for its body");
        exchange_feed(x, "hello", 5);
        step(x);
    }
    CHECK(x->reused == !r->fresh, "on the connection that was meant");
    CHECK(receives(server, r->body ? POST "hello" : GET), "all of the request comes");
    end_connection(server, r->ending);
    step_result result = step(x);
    if (r->attempts == 2)
        answer_again(x);
    else
        CHECK(result == STEP_FAILED && x->why.code == r->code, "%s", failure_words(x->why.code));
    CHECK(x->attempt_count == r->attempts, "%u attempts", x->attempt_count);
    CHECK(x->attempts[0].reason == ATTEMPT_FIRST && x->attempts[0].code == r->code &&
              x->attempts[0].sent == SENT_ALL,
          "the first attempt: %s, sent %d", failure_words(x->attempts[0].code),
          x->attempts[0].sent);
    exchange_free(x);
    if (r->ending != RESETS) close(server);
    end_test();
}

/* On this connection no byte of a request can be sent, so that any request may be sent again on
 * another one. The server's side is open, so the check before reuse does not find the fault. */
static int connection_that_takes_nothing(void) {
    exchange *x = begin(get_request());
    step(x);
    int server = accept_one();
    CHECK(receives(server, GET), "the request comes");
    send_text(server, OK_EMPTY);
    shutdown(x->connection->descriptor, SHUT_WR);
    CHECK(step(x) == STEP_DONE, "the call is over");
    exchange_free(x);
    return server;
}

static void test_what_was_not_sent_moves(bool body) {
    begin_test();
    int server = connection_that_takes_nothing();
    exchange *x = begin(body ? post_request("hello", 5) : get_request());
    CHECK(step(x) == STEP_WAIT && x->reused, "an answer may lie there all the same");
    close(server);
    step(x);
    server = accept_one();
    CHECK(receives(server, body ? POST "hello" : GET), "all of the request comes once");
    send_text(server, OK_HELLO);
    CHECK(step(x) == STEP_DONE && x->attempt_count == 2, "the second attempt is answered");
    CHECK(x->attempts[0].sent == SENT_NONE && x->attempts[1].sent == SENT_ALL, "it says so");
    CHECK(x->attempts[1].reason == ATTEMPT_MOVED, "and why");
    exchange_free(x);
    close(server);
    end_test();
}

/* Another idle connection may have failed like the one on which the request was sent. */
static void test_a_second_attempt_has_a_new_connection(void) {
    begin_test();
    options.replay_safe = true;
    exchange *calls[2] = {begin(get_request()), begin(get_request())};
    int servers[2];
    uint64_t ids[2];
    for (int i = 0; i < 2; i++) {
        step(calls[i]);
        servers[i] = accept_one();
    }
    for (int i = 0; i < 2; i++) {
        send_text(servers[i], OK_EMPTY);
        CHECK(step(calls[i]) == STEP_DONE, "connection %d lies idle", i);
        ids[i] = calls[i]->connection_id;
        exchange_free(calls[i]);
    }
    exchange *x = begin(get_request());
    CHECK(step(x) == STEP_WAIT && counts().idle == 1, "one of them is taken");
    close(servers[x->connection_id == ids[0] ? 0 : 1]);
    step(x);
    answer_again(x);
    CHECK(x->connection_id != ids[0] && x->connection_id != ids[1] && counts().idle == 2,
          "and the other lies idle all the time");
    exchange_free(x);
    end_test();
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("%s", rows[i].title);
        run_row(&rows[i]);
    }
    RUN(test_what_was_not_sent_moves(false));
    RUN(test_what_was_not_sent_moves(true));
    RUN(test_a_second_attempt_has_a_new_connection());
    return check_report();
}
