#ifndef TRUNKLINE_TEST_POOL_ENDS_H
#define TRUNKLINE_TEST_POOL_ENDS_H

#include "transport/pool/pool.h"
#include "sockets.h"

/* Tests of the pool alone: its connections are ends of socket pairs, since the pool never reads
 * from them. */

#define MOST 16

static int far_ends[MOST];
static int far_count;

static const route here = {
    .host = "a", .label = "a:80", .key = "here", .key_length = 4, .key_hash = 1, .port = 80};
static const route there = {
    .host = "b", .label = "b:80", .key = "there", .key_length = 5, .key_hash = 17, .port = 80};

static connection *opened(const route *r, uint64_t owner_id) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) give_up("socketpair");
    far_ends[far_count++] = ends[1];
    dialled d = {.descriptor = ends[0]};
    return connection_new(&d, r, owner_id, clock_now());
}

static void close_far_ends(void) {
    while (far_count > 0) close(far_ends[--far_count]);
}

static bool far_end_is_closed(int which) {
    char byte;
    return recv(far_ends[which], &byte, 1, MSG_DONTWAIT) == 0;
}

static call_options limited(uint32_t connections) {
    return (call_options){.max_connections = connections, .idle_timeout = 60 * SECOND};
}

static pool_ticket with_waker(void) {
    return (pool_ticket){.waker = waker_take()};
}

static connection *open_one(pool *p, const route *r, const call_options *s, uint64_t owner_id) {
    pool_ticket w = {0};
    connection *c = NULL;
    CHECK(pool_acquire(p, r, s, &w, &c) == POOL_DIAL, "an empty pool lets a connection be opened");
    c = opened(r, owner_id);
    pool_add(p, &w, c);
    return c;
}

static void give_back(pool *p, connection *c) {
    nanoseconds now = clock_now();
    pool_checkin(p, c, now, now + 60 * SECOND);
}

static pool_stats counts(pool *p) {
    pool_stats stats;
    pool_count(p, &stats);
    return stats;
}

static const route maybe = {.host = "c",
                            .label = "c:443",
                            .key = "maybe",
                            .key_length = 5,
                            .key_hash = 3,
                            .port = 443,
                            .sharing = SHARING_OFFERED};

#endif
