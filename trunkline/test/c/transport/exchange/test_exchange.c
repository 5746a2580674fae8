#define _GNU_SOURCE
#include "exchange_peer.h"
#include "transport/tls/tls.h"

#include <netdb.h>
#include <openssl/ssl.h>

/* The states of one call: the path through them, and how the call ends in each of its phases. */

/* ---- names: a look-up ends when the test permits it ---- */

static int gate[2]; /* a byte for each look-up that may end, with its result */

static int look_up(const char *host, const char *service, const void *hints, void **result) {
    struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    char fails;
    (void)host, (void)service, (void)hints;
    if (read(gate[0], &fails, 1) != 1 || fails) return EAI_NONAME;
    return getaddrinfo("127.0.0.1", NULL, &numeric, (struct addrinfo **)result);
}

static void release(void *result) {
    freeaddrinfo(result);
}

static void end_look_up(bool fails) {
    char result = fails;
    if (write(gate[1], &result, 1) != 1) give_up("write");
}

static void use_a_name(void) {
    static char names[100][16];
    static int used;
    snprintf(names[used], sizeof(names[used]), "name%d.test", used);
    to.host = names[used++];
}

/* ---- calls that wait in a phase ---- */

static tls_context *context;
static char *large; /* more than the sockets' buffers hold */
#define LARGE (64 * 1024 * 1024)
#define LARGE_POST "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n"
#define HALF "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"

typedef struct {
    exchange *x;
    exchange *other; /* holds the only connection that is permitted; NULL: none does */
    int server;      /* the server's end; -1: none */
    int filling;     /* a connection that fills the listener's backlog; -1: the backlog is not
                      * full */
} stand;

static void fill_backlog(stand *s) {
    close(listener);
    listener = listen_on_loopback(0, &to.port);
    s->filling = connect_to_loopback(to.port);
}

static exchange_request large_request(void) {
    exchange_request request = post_request(large, LARGE);
    request.head = LARGE_POST;
    request.head_length = sizeof(LARGE_POST) - 1;
    return request;
}

/* Prepares the conditions of the phase before the call begins. */
static void prepare(stand *s, call_phase phase) {
    if (phase == PHASE_QUEUE) {
        options.max_connections = 1;
        s->other = begin(get_request());
        step(s->other);
        s->server = accept_one();
    }
    if (phase == PHASE_RESOLVE) use_a_name();
    if (phase == PHASE_CONNECT) fill_backlog(s);
    if (phase == PHASE_TLS) {
        options.tls = context;
        to.tls_name = "localhost";
    }
}

/* Makes a call that has reached this phase and waits in it. */
static stand stand_in(call_phase phase) {
    stand s = {.server = -1, .filling = -1};
    prepare(&s, phase);
    s.x = begin(phase == PHASE_WRITE ? large_request() : get_request());
    exchange_state state = phase == PHASE_QUEUE ? EXCHANGE_QUEUED
                           : phase <= PHASE_TLS ? EXCHANGE_DIALLING
                                                : EXCHANGE_TALKING;
    bool responded = phase == PHASE_READ;
    reach(s.x, state, responded ? PHASE_FIRST_BYTE : phase);
    if (phase >= PHASE_TLS) s.server = accept_one();
    if (responded) {
        send_text(s.server, HALF);
        reach(s.x, state, PHASE_READ);
    }
    CHECK(step(s.x) == STEP_WAIT, "it waits");
    return s;
}

static void leave(stand *s, call_phase phase) {
    exchange_free(s->x);
    exchange_free(s->other);
    if (s->server >= 0) close(s->server);
    if (s->filling >= 0) close(s->filling);
    if (phase == PHASE_RESOLVE) end_look_up(true);
}

/* ---- each phase, and how a call ends there ---- */

typedef struct {
    const char *title;
    sent_state sent;
    failure_code late, broken; /* failure after the phase's timeout; failure when the peer fails */
} phase_row;

static const phase_row phases[PHASE_COUNT] = {
    [PHASE_QUEUE] = {"queue", SENT_NONE, FAILURE_QUEUE_TIMEOUT, FAILURE_POOL_CLOSED},
    [PHASE_RESOLVE] = {"resolve", SENT_NONE, FAILURE_RESOLVE_TIMEOUT, FAILURE_RESOLVE},
    [PHASE_CONNECT] = {"connect", SENT_NONE, FAILURE_CONNECT_TIMEOUT, FAILURE_CONNECT},
    [PHASE_TLS] = {"tls", SENT_NONE, FAILURE_TLS_TIMEOUT, FAILURE_TLS},
    [PHASE_WRITE] = {"write", SENT_PARTIAL, FAILURE_WRITE_TIMEOUT, FAILURE_RESET},
    [PHASE_FIRST_BYTE] = {"first_byte", SENT_ALL, FAILURE_FIRST_BYTE_TIMEOUT, FAILURE_CLOSED},
    [PHASE_READ] = {"read", SENT_ALL, FAILURE_READ_TIMEOUT, FAILURE_TRUNCATED},
};

static void check_failed(const exchange *x, call_phase phase, failure_code code) {
    CHECK(x->state == EXCHANGE_FAILED && x->why.code == code && x->why.phase == phase,
          "%s in the phase %s", failure_words(x->why.code), phase_word(x->why.phase));
    CHECK(exchange_sent(x) == phases[phase].sent, "sent: %d", exchange_sent(x));
    CHECK(x->attempt_count == 1 && x->attempts[0].sent == phases[phase].sent &&
              x->attempts[0].code == code,
          "its one attempt says the same: %d", x->attempts[0].sent);
    CHECK(x->connection == NULL && x->timings.total >= 0, "it is over");
}

static void test_timeout(call_phase phase) {
    begin_test();
    options.timeouts[phase] = 60 * SECOND;
    stand s = stand_in(phase);
    CHECK(exchange_step(s.x, clock_now() + 50 * SECOND) == STEP_WAIT, "not a moment too soon");
    CHECK(exchange_step(s.x, clock_now() + 120 * SECOND) == STEP_FAILED, "but then");
    check_failed(s.x, phase, phases[phase].late);
    CHECK(s.x->allowed == 60 * SECOND, "the limit is told");
    leave(&s, phase);
    end_test();
}

static void test_total_timeout(call_phase phase) {
    begin_test();
    options.total = 60 * SECOND;
    stand s = stand_in(phase);
    nanoseconds due;
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    exchange_wait(s.x, entries, DIAL_MAX_ATTEMPTS, &due);
    CHECK(due <= s.x->began + 60 * SECOND, "it is waited for no longer");
    CHECK(exchange_step(s.x, s.x->began + 60 * SECOND - 1) == STEP_WAIT, "not a moment too soon");
    CHECK(exchange_step(s.x, s.x->began + 60 * SECOND) == STEP_FAILED, "but then");
    check_failed(s.x, phase, FAILURE_TOTAL_TIMEOUT);
    CHECK(s.x->allowed == 60 * SECOND, "the limit is told");
    leave(&s, phase);
    end_test();
}

static void test_abort(call_phase phase) {
    begin_test();
    stand s = stand_in(phase);
    exchange_abort(s.x);
    check_failed(s.x, phase, FAILURE_CANCELLED);
    CHECK(exchange_step(s.x, clock_now()) == STEP_FAILED, "and stays so");
    if (phase >= PHASE_TLS) CHECK(receives_end(s.server), "the server is told");
    leave(&s, phase);
    end_test();
}

static void break_off(stand *s, call_phase phase) {
    switch (phase) {
    case PHASE_QUEUE: pool_close(connections); break;
    case PHASE_RESOLVE: end_look_up(true); break;
    case PHASE_TLS: send_text(s->server, "this is no TLS record"); break;
    case PHASE_WRITE:
        reset(s->server);
        s->server = -1;
        break;
    default: shutdown(s->server, SHUT_WR);
    }
}

static void test_broken(call_phase phase) {
    begin_test();
    stand s = {.server = -1, .filling = -1};
    if (phase == PHASE_CONNECT) {
        close(listener);
        s.x = begin(get_request());
        listener = -1;
    } else {
        s = stand_in(phase);
        break_off(&s, phase);
    }
    nanoseconds until = clock_now() + SOON_MILLISECONDS * MILLISECOND;
    while (step(s.x) == STEP_WAIT && clock_now() < until) continue;
    check_failed(s.x, phase, phases[phase].broken);
    leave(&s, phase == PHASE_RESOLVE ? PHASE_QUEUE : phase);
    end_test();
}

static void test_each_phase(const char *title, void (*test)(call_phase)) {
    for (call_phase phase = 0; phase < PHASE_COUNT; phase++) {
        check_case("%s: %s", title, phases[phase].title);
        test(phase);
    }
}

/* ---- a successful call ---- */

static void test_through_all_states(void) {
    begin_test();
    options.max_connections = 1;
    exchange *other = begin(get_request());
    step(other);
    int server = accept_one();
    use_a_name();
    exchange *x = begin(get_request());
    CHECK(x->state == EXCHANGE_START, "nothing is done before the first step");
    CHECK(step(x) == STEP_WAIT && x->state == EXCHANGE_QUEUED, "the only place is taken");
    CHECK(x->stepped_at == 0, "when that step ended was not looked at");
    send_text(server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    CHECK(step(other) == STEP_DONE, "it becomes free");
    close(server);
    reach(x, EXCHANGE_DIALLING, PHASE_RESOLVE);
    end_look_up(false);
    reach(x, EXCHANGE_TALKING, PHASE_FIRST_BYTE);
    server = accept_one();
    CHECK(receives(server, GET), "the request comes");
    CHECK(exchange_step(x, clock_now()) == STEP_WAIT && x->stepped_at == 0, "nothing has come");
    send_text(server, OK_HELLO);
    CHECK(step(x) == STEP_DONE && x->state == EXCHANGE_DONE, "it is answered");
    CHECK(x->stepped_at == x->began + x->timings.total, "and then the step ended");
    CHECK(x->response.status == 200 && buffer_length(&x->body) == 5 && x->delivered == 5, "wholly");
    CHECK(x->timings.queue > 0 && x->timings.resolve > 0 && x->timings.connect > 0 &&
              x->timings.tls == -1 && x->timings.write >= 0 && x->timings.first_byte > 0 &&
              x->timings.total > x->timings.queue,
          "each phase that there was took its time");
    CHECK(exchange_sent(x) == SENT_ALL && x->attempt_count == 1 && !x->reused, "in one attempt");
    CHECK(exchange_step(x, clock_now()) == STEP_DONE, "and stays so");
    exchange_free(x);
    exchange_free(other);
    close(server);
    end_test();
}

/* Checks whether the connection is reused after this response. */
static void test_reuse(const char *title, const char *response, bool sends_close, bool kept) {
    check_case("%s", title);
    begin_test();
    exchange_request request = get_request();
    request.sends_close = sends_close;
    exchange *x = begin(request);
    step(x);
    int server = accept_one();
    send_text(server, response);
    CHECK(step(x) == STEP_DONE, "it is answered");
    CHECK(counts().idle == kept && counts().connections == kept, "%d lie idle", (int)counts().idle);
    exchange_free(x);
    close(server);
    end_test();
}

static void test_only_connecting_leaves_a_connection(void) {
    begin_test();
    exchange_request request = get_request();
    request.only_connects = true;
    exchange *x = begin(request);
    CHECK(step(x) == STEP_DONE && counts().idle == 1, "it lies idle");
    int server = accept_one();
    exchange *next = begin(get_request());
    CHECK(step(next) == STEP_WAIT && next->reused, "the next call takes it");
    CHECK(receives(server, GET), "which is the first that the server hears");
    exchange_free(x);
    exchange_free(next);
    close(server);
    end_test();
}

/* ---- results that a step returns to the caller before the end ---- */

static void test_a_body_is_asked_for_piece_by_piece(bool chunked) {
    begin_test();
    exchange_request request = post_request(NULL, chunked ? -1 : 5);
    request.fed = true;
    exchange *x = begin(request);
    CHECK(step(x) == STEP_BODY_WANTED, "first the head");
    CHECK(exchange_sent(x) == SENT_PARTIAL, "is sent");
    exchange_feed(x, "he", 2);
    CHECK(step(x) == STEP_BODY_WANTED, "then a piece");
    exchange_feed(x, "llo", 3);
    if (chunked) {
        CHECK(step(x) == STEP_BODY_WANTED, "whether there is more nobody knows");
        exchange_feed(x, NULL, 0);
    }
    CHECK(step(x) == STEP_WAIT && exchange_sent(x) == SENT_ALL, "that was all");
    int server = accept_one();
    CHECK(receives(server, chunked ? POST "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n" : POST "hello"),
          "bytes");
    exchange_free(x);
    close(server);
    end_test();
}

static void test_a_fed_body_of_another_length(const char *piece, bool ends, failure_code code) {
    begin_test();
    exchange_request request = post_request(NULL, 5);
    request.fed = true;
    exchange *x = begin(request);
    CHECK(step(x) == STEP_BODY_WANTED, "it is asked for");
    exchange_feed(x, piece, strlen(piece));
    if (ends) {
        CHECK(step(x) == STEP_BODY_WANTED, "more is asked for");
        exchange_feed(x, NULL, 0);
    }
    CHECK(step(x) == STEP_FAILED && x->why.code == code, "%s", failure_words(x->why.code));
    CHECK(exchange_sent(x) == SENT_PARTIAL && counts().connections == 0, "no more is sent");
    exchange_free(x);
    end_test();
}

/* The exchange waits for 100 (Continue) as long as the option says, and no longer. */
static void test_expect(bool comes) {
    begin_test();
    options.expect = 60 * SECOND;
    exchange_request request = post_request("hello", 5);
    request.expects = true;
    exchange *x = begin(request);
    CHECK(step(x) == STEP_WAIT && x->awaits_continue, "it waits");
    int server = accept_one();
    CHECK(receives(server, POST), "the head alone comes");
    CHECK(exchange_step(x, clock_now() + 50 * SECOND) == STEP_WAIT && x->awaits_continue, "on");
    if (comes) {
        send_text(server, "HTTP/1.1 100 Continue\r\n\r\n");
        CHECK(step(x) == STEP_WAIT, "the answer is still to come");
    } else {
        CHECK(exchange_step(x, clock_now() + 61 * SECOND) == STEP_WAIT, "it goes on without");
    }
    CHECK(receives(server, "hello") && exchange_sent(x) == SENT_ALL, "the body comes");
    exchange_free(x);
    close(server);
    end_test();
}

static void test_an_answer_in_place_of_100(void) {
    begin_test();
    options.expect = 60 * SECOND;
    exchange_request request = post_request("hello", 5);
    request.expects = true;
    exchange *x = begin(request);
    step(x);
    int server = accept_one();
    send_text(server, "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
    CHECK(step(x) == STEP_DONE && x->response.status == 417, "that is the answer");
    CHECK(exchange_sent(x) == SENT_PARTIAL && counts().connections == 0, "the body is not sent");
    exchange_free(x);
    close(server);
    end_test();
}

static void test_progress(void) {
    begin_test();
    bool over = true;
    exchange_request request = post_request("hello", 5);
    request.reports_progress = true;
    exchange *x = begin(request);
    CHECK(step(x) == STEP_PROGRESS && exchange_progress(x, &over) == 0 && !over, "the beginning");
    CHECK(step(x) == STEP_PROGRESS && exchange_progress(x, &over) == 5 && over, "the end");
    CHECK(step(x) == STEP_WAIT && !x->progress_due, "nothing more to tell");
    exchange_free(x);
    request = large_request();
    request.reports_progress = true;
    x = begin(request);
    CHECK(step(x) == STEP_PROGRESS && exchange_progress(x, &over) == 0, "the beginning of much");
    x->progress_at = 0;
    CHECK(step(x) == STEP_PROGRESS, "a part");
    uint64_t part = exchange_progress(x, &over);
    CHECK(part > 0 && part < LARGE && !over, "no more than the socket took");
    exchange_free(x);
    end_test();
}

#define BIG "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"

static void test_a_body_buffer_is_filled_and_given_room(void) {
    static uint8_t room[100000];
    begin_test();
    exchange *x = begin(get_request());
    step(x);
    int server = accept_one();
    send_text(server, BIG);
    CHECK(step(x) == STEP_HEAD, "a large body is announced");
    exchange_set_body_buffer(x, room, 60000);
    for (int i = 0; i < 10; i++) CHECK(send(server, large, 10000, MSG_NOSIGNAL) == 10000, "sent");
    CHECK(step(x) == STEP_BODY_BUFFER_FULL && x->delivered == 60000, "it is full");
    exchange_set_body_buffer(x, room + 60000, 40000);
    CHECK(step(x) == STEP_DONE && x->delivered == 100000, "all is there");
    CHECK(memcmp(room, large, 10000) == 0 && memcmp(room + 90000, large, 10000) == 0, "in place");
    exchange_free(x);
    close(server);
    end_test();
}

/* The permitted connection may be held by a streamed response that its caller dropped. */
static void test_a_long_wait_asks_for_a_collection(void) {
    begin_test();
    options.max_connections = 1;
    exchange *streamed = begin(get_request());
    step(streamed);
    int server = accept_one();
    exchange *x = begin(get_request());
    CHECK(step(x) == STEP_WAIT && x->state == EXCHANGE_QUEUED, "it waits");
    CHECK(exchange_step(x, clock_now() + SECOND) == STEP_WAIT, "nothing would help");
    exchange_set_held_by_caller(streamed, true);
    CHECK(exchange_step(x, clock_now() + 2 * SECOND) == STEP_COLLECT, "now it might");
    CHECK(exchange_step(x, clock_now() + 3 * SECOND) == STEP_WAIT, "which is asked for once");
    exchange_set_held_by_caller(streamed, false);
    exchange_free(streamed);
    CHECK(step(x) == STEP_WAIT && x->state != EXCHANGE_QUEUED, "it was that");
    exchange_free(x);
    close(server);
    end_test();
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    failure f;
    large = calloc(1, LARGE);
    context = tls_context_obtain(&(tls_options){.min_version = TLS1_2_VERSION}, &f);
    if (large == NULL || context == NULL || pipe(gate) != 0) give_up("set up");
    memset(large, 'x', 10000);
    resolve_set_lookup(look_up, release);
    RUN(test_through_all_states());
    RUN(test_each_phase("its timeout", test_timeout));
    RUN(test_each_phase("the timeout of the whole", test_total_timeout));
    RUN(test_each_phase("given up", test_abort));
    RUN(test_each_phase("the other side fails", test_broken));
    test_reuse("an answer with a length", OK_HELLO, false, true);
    test_reuse("the server closes",
               "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false, false);
    test_reuse("the client said so", OK_HELLO, true, false);
    test_reuse("bytes behind the answer", OK_HELLO "HTTP", false, false);
    RUN(test_only_connecting_leaves_a_connection());
    RUN(test_a_body_is_asked_for_piece_by_piece(false));
    RUN(test_a_body_is_asked_for_piece_by_piece(true));
    RUN(test_a_fed_body_of_another_length("hell", true, FAILURE_BODY_SHORT));
    RUN(test_a_fed_body_of_another_length("hello!", false, FAILURE_BODY_LONG));
    RUN(test_expect(true));
    RUN(test_expect(false));
    RUN(test_an_answer_in_place_of_100());
    RUN(test_progress());
    RUN(test_a_body_buffer_is_filled_and_given_room());
    RUN(test_a_long_wait_asks_for_a_collection());
    tls_context_release(context);
    free(large);
    return check_report();
}
