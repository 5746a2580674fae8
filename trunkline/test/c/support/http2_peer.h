#ifndef TRUNKLINE_TEST_HTTP2_PEER_H
#define TRUNKLINE_TEST_HTTP2_PEER_H

#include "transport/exchange/exchange.h"
#include "transport/fork.h"
#include "sockets.h"

#include <pthread.h>
#include <stdio.h>

/*
 * Calls that share a connection, and their server, which sends hand-written HTTP/2 frames. A
 * program calls peer_start, runs its tests, and calls peer_stop.
 */

#define CALLS 60

/* ---- the server: its action for each request, in the order of their arrival ---- */

#define ANSWER 'a'
#define REFUSE 'r'    /* RST_STREAM with REFUSED_STREAM */
#define HANG 'h'      /* never responds */
#define LATE 'l'      /* responds when the next request or GOAWAY has arrived */
#define ANSWER_GO 'g' /* responds, then sends GOAWAY; continues reading */
#define CLOSE 'c'     /* closes without a response */

static uint16_t port;
static char script[CALLS + 1]; /* requests beyond its end get a response */
static int requests, accepted, resets, pings;
static bool mute; /* the server does not acknowledge PINGs */
static uint32_t most_streams = 100;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline void send_frame(int descriptor, uint8_t type, uint8_t flags, uint32_t stream,
                              const void *payload, size_t length) {
    uint8_t bytes[128] = {0, 0, (uint8_t)length, type, flags};
    for (int i = 0; i < 4; i++) bytes[5 + i] = (uint8_t)(stream >> (24 - 8 * i));
    if (length > 0) memcpy(bytes + 9, payload, length);
    send(descriptor, bytes, 9 + length, MSG_NOSIGNAL);
}

static inline void respond(int descriptor, uint32_t stream) {
    send_frame(descriptor, 1, 4, stream, "\x88", 1);  /* HEADERS, END_HEADERS: ":status: 200" */
    send_frame(descriptor, 0, 1, stream, "hello", 5); /* DATA, END_STREAM */
}

static inline char next_action(void) {
    pthread_mutex_lock(&lock);
    size_t length = strlen(script);
    char action = requests < (int)length ? script[requests] : ANSWER;
    requests++;
    pthread_mutex_unlock(&lock);
    return action;
}

/* Waits at most 10 s until `count` requests have arrived, so that requests sent over another
 * connection afterwards arrive later. */
static inline void await_requests(int count) {
    bool come = false;
    for (int i = 0; i < 10000 && !come; i++) {
        if (i > 0) sleep_milliseconds(1);
        pthread_mutex_lock(&lock);
        come = requests >= count;
        pthread_mutex_unlock(&lock);
    }
}

/* Returns false when the connection must be closed. */
static inline bool handle(int descriptor, uint32_t stream, uint32_t *late) {
    static const uint8_t refused[4] = {0, 0, 0, 7};
    uint8_t goaway[8] = {0, 0, 0, (uint8_t)stream};
    if (*late != 0) respond(descriptor, *late);
    *late = 0;
    switch (next_action()) {
    case REFUSE: send_frame(descriptor, 3, 0, stream, refused, 4); return true;
    case HANG: return true;
    case LATE: *late = stream; return true;
    case ANSWER_GO:
        respond(descriptor, stream);
        send_frame(descriptor, 7, 0, 0, goaway, 8);
        return true;
    case CLOSE: return false;
    default: respond(descriptor, stream); return true;
    }
}

static inline bool receive(int descriptor, void *bytes, size_t length) {
    for (size_t had = 0; had < length;) {
        ssize_t got = recv(descriptor, (char *)bytes + had, length - had, 0);
        if (got <= 0) return false;
        had += (size_t)got;
    }
    return true;
}

static inline void *serve(void *argument) {
    int descriptor = (int)(intptr_t)argument;
    uint8_t head[9], payload[16384];
    uint8_t limit[6] = {0, 3, 0, 0, (uint8_t)(most_streams >> 8), (uint8_t)most_streams};
    uint32_t late = 0;
    bool goes_on = receive(descriptor, payload, 24);
    send_frame(descriptor, 4, 0, 0, limit, 6); /* SETTINGS_MAX_CONCURRENT_STREAMS */
    while (goes_on && receive(descriptor, head, 9)) {
        size_t length = (size_t)head[1] << 8 | head[2];
        uint32_t stream = (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
        if (length > 0 && !receive(descriptor, payload, length)) break;
        if (head[3] == 1) goes_on = handle(descriptor, stream, &late);
        if (head[3] == 3) __atomic_add_fetch(&resets, 1, __ATOMIC_SEQ_CST);
        if (head[3] == 4 && head[4] == 0) send_frame(descriptor, 4, 1, 0, NULL, 0);
        if (head[3] == 7 && late != 0) {
            respond(descriptor, late);
            late = 0;
        }
        if (head[3] == 6 && head[4] == 0) {
            if (!mute) send_frame(descriptor, 6, 1, 0, payload, 8);
            __atomic_add_fetch(&pings, 1, __ATOMIC_SEQ_CST);
        }
    }
    close(descriptor);
    return NULL;
}

static inline void *accept_all(void *argument) {
    int listener = (int)(intptr_t)argument, descriptor;
    while ((descriptor = accept(listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        accepted++;
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)descriptor);
        pthread_detach(thread);
    }
    return NULL;
}

static inline void play(const char *what) {
    pthread_mutex_lock(&lock);
    snprintf(script, sizeof(script), "%s", what);
    requests = accepted = 0;
    mute = false;
    __atomic_store_n(&resets, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&pings, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
}

/* ---- calls ---- */

static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
static pool *connections;
static route to = {
    .host = "127.0.0.1", .label = "test", .key = "key", .key_length = 3, .sharing = SHARING_ALWAYS};

static inline call_options make_options(uint32_t limit) {
    call_options s = {.total = 10 * SECOND,
                      .limits = http1_default_limits,
                      .max_connections = limit,
                      .idle_timeout = 600 * SECOND,
                      .http = HTTP_TWO};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    return s;
}

static inline exchange *begin_call(const call_options *s, waker *w) {
    exchange_request out = {.to = &to,
                            .options = s,
                            .head = head,
                            .head_length = sizeof(head) - 1,
                            .safe_method = true};
    exchange *x = exchange_new();
    exchange_begin(x, &out, connections, w, NEVER);
    return x;
}

static inline step_result drive_to_end(exchange *x) {
    stop_request stop = {0};
    step_result step = exchange_step(x, clock_now());
    return step == STEP_WAIT ? exchange_drive(x, &stop) : step;
}

static inline bool succeeded(const exchange *x) {
    buffer body = x->body;
    return x->state == EXCHANGE_DONE && x->response.status == 200 && buffer_length(&body) == 5 &&
           memcmp(buffer_head(&body), "hello", 5) == 0;
}

static inline exchange *call(const call_options *s) {
    waker *w = waker_take();
    exchange *x = begin_call(s, w);
    drive_to_end(x);
    waker_drop(w);
    return x;
}

static inline pool_stats counts(void) {
    pool_stats stats;
    pool_count(connections, &stats);
    return stats;
}

static inline void begin_test(const char *what) {
    play(what);
    connections = pool_new(8);
}

static inline void end_test(void) {
    pool_release(connections);
}

/* ---- the program ---- */

static int peer_listener;
static pthread_t peer_thread;

static inline void peer_start(void) {
    signal(SIGPIPE, SIG_IGN);
    if (fork_guard() != 0) give_up("pthread_atfork");
    peer_listener = listen_on_loopback(CALLS, &port);
    to.port = port;
    pthread_create(&peer_thread, NULL, accept_all, (void *)(intptr_t)peer_listener);
}

static inline void peer_stop(void) {
    shutdown(peer_listener, SHUT_RDWR);
    pthread_join(peer_thread, NULL);
}

#endif
