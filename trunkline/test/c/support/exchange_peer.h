#ifndef TRUNKLINE_TEST_EXCHANGE_PEER_H
#define TRUNKLINE_TEST_EXCHANGE_PEER_H

#include "transport/exchange/exchange.h"
#include "sockets.h"

#include <pthread.h>

/* One thread runs both sides of a call: it steps the exchange, and between the steps acts as the
 * server on a socket. So each state lasts as long as a test needs, and the test sets the time. */

static pool *connections;
static call_options options;
static route to;
static waker *call_waker;
static int listener;

/* Starts each test with a new pool, new options, and a server on a free port. */
static inline void begin_test(void) {
    options = (call_options){.total = NEVER,
                             .limits = http1_default_limits,
                             .max_connections = 8,
                             .idle_timeout = 60 * SECOND};
    for (int i = 0; i < PHASE_COUNT; i++) options.timeouts[i] = NEVER;
    to = (route){.host = "127.0.0.1", .label = "test", .key = "key", .key_length = 3};
    listener = listen_on_loopback(8, &to.port);
    connections = pool_new(8);
    call_waker = waker_take();
}

static inline pool_stats counts(void) {
    pool_stats stats;
    pool_count(connections, &stats);
    return stats;
}

static inline void end_test(void) {
    CHECK(counts().in_use == 0, "%d connections are still in use", (int)counts().in_use);
    pool_close(connections);
    pool_release(connections);
    waker_drop(call_waker);
    close(listener);
}

/* ---- the client ---- */

#define GET "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"

static inline exchange_request get_request(void) {
    return (exchange_request){.to = &to,
                              .options = &options,
                              .head = GET,
                              .head_length = sizeof(GET) - 1,
                              .safe_method = true};
}

static inline exchange_request post_request(const char *body, int64_t length) {
    return (exchange_request){.to = &to,
                              .options = &options,
                              .head = POST,
                              .head_length = sizeof(POST) - 1,
                              .body = body,
                              .body_length = length};
}

static inline exchange *begin(exchange_request request) {
    exchange *x = exchange_new();
    exchange_begin(x, &request, connections, call_waker, NEVER);
    return x;
}

/* Waits at most `milliseconds` until the exchange can continue; returns false if it cannot. */
static inline bool wait_until_ready(exchange *x, int milliseconds) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS + 1];
    nanoseconds due;
    int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &due);
    entries[count] = (struct pollfd){.fd = waker_descriptor(call_waker), .events = POLLIN};
    if (due <= clock_now()) return true;
    int ready = poll(entries, (nfds_t)count + 1, milliseconds);
    if (ready > 0 && entries[count].revents != 0) waker_clear(call_waker);
    return ready > 0;
}

/* Steps the exchange until the result is not STEP_WAIT, or nothing can happen any more. */
static inline step_result step(exchange *x) {
    step_result result;
    do {
        result = exchange_step(x, clock_now());
    } while (result == STEP_WAIT && wait_until_ready(x, 50));
    return result;
}

/* Steps the exchange until it reaches this state and phase, which must happen soon. */
static inline void reach(exchange *x, exchange_state state, call_phase phase) {
    nanoseconds until = clock_now() + SOON_MILLISECONDS * MILLISECOND;
    while ((x->state != state || x->phase != phase) && clock_now() < until)
        if (exchange_step(x, clock_now()) == STEP_WAIT) wait_until_ready(x, 10);
    CHECK(x->state == state && x->phase == phase, "state %d, phase %s", x->state,
          phase_word(x->phase));
}

/* ---- the server ---- */

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static inline int accept_one(void) {
    if (!wait_for_events(listener, POLLIN, SOON_MILLISECONDS)) give_up("nobody connects");
    return accept(listener, NULL, NULL);
}

static inline void send_text(int descriptor, const char *text) {
    CHECK(send(descriptor, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text), "sent");
}

/* Returns whether exactly this text was received. */
static inline bool receives(int descriptor, const char *text) {
    static char bytes[65536];
    size_t length = 0;
    while (length < strlen(text) && wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS)) {
        ssize_t count = recv(descriptor, bytes + length, sizeof(bytes) - length, 0);
        if (count <= 0) break;
        length += (size_t)count;
    }
    return length == strlen(text) && memcmp(bytes, text, length) == 0;
}

/* Returns whether the client closes or resets the connection; data that it sent before is
 * dropped. */
static inline bool receives_end(int descriptor) {
    static char bytes[65536];
    ssize_t count = 1;
    while (count > 0 && wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS))
        count = recv(descriptor, bytes, sizeof(bytes), 0);
    return count <= 0;
}

static inline void reset(int descriptor) {
    struct linger at_once = {.l_onoff = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(descriptor);
}

/* Makes a connection that has carried one call and is idle; returns the server's descriptor. */
static inline int idle_connection(void) {
    exchange *x = begin(get_request());
    step(x);
    int server = accept_one();
    CHECK(receives(server, GET), "the request comes");
    send_text(server, OK_EMPTY);
    CHECK(step(x) == STEP_DONE, "the call is over");
    exchange_free(x);
    return server;
}

#endif
