#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_H

#include "transport/connection/connection.h"
#include "transport/common/options.h"
#include "transport/events/waker.h"

/*
 * The connections of a process, by key. A call takes one out, or the right to open one, or waits
 * its turn; it gives back the connection, or the right. A connection that speaks HTTP/2 (->http2)
 * is shared by as many calls as its server allows. Nothing here looks at sockets: the caller looks
 * at what it was given, and has it replaced if it will not do.
 */
typedef struct pool pool;

/* A call's dealings with the pool: embedded in the call, zeroed before its first use, and not moved
 * while it holds a right or waits. */
typedef struct pool_ticket {
    /* Where it holds a right to a connection, or waits for one; NULL: nowhere. */
    struct bucket *bucket;
    connection *granted; /* handed over while it waited */
    bool waiting;
    bool called;              /* atomic; there is something for it: see pool_called */
    bool may_share;           /* HTTP/2 may be spoken there */
    bool dialling;            /* the others wait to see whether the connection can be shared */
    bool in_vain;             /* set by the owner: the connection could not be opened */
    nanoseconds opened_after; /* set by the owner: connections that are older will not do; 0: all */
    uint32_t limit;
    nanoseconds idle_timeout;
    nanoseconds since; /* when it began to wait */
    uint32_t generation;
    waker *waker;         /* borrowed; woken when its turn has come */
    list_node queue_node; /* in its bucket's ->queue */
    list_node dial_node;  /* in the pool's ->diallers */
} pool_ticket;

/* For so long a call waits at the most to see whether another one's dial brings a connection that
 * can be shared; then it dials for itself. */
#define POOL_PATIENCE (250 * MILLISECOND)

#define POOL_KNOWN_SERVERS 256 /* of which something is known though there is no connection */

typedef enum {
    POOL_CONNECTION, /* *out is the caller's, or has a place for it; check it before use */
    POOL_DIAL,       /* the caller may open one: then pool_add or pool_cancel */
    POOL_WAIT,       /* the waiter is in the queue: its waker will be woken; then pool_turn */
    POOL_NO_MEMORY,
    POOL_CLOSED /* the pool was closed */
} pool_result;

pool *pool_new(uint32_t max_idle); /* one reference; NULL: no memory */
pool *pool_keep(pool *p);
void pool_release(pool *p); /* the last one closes what is idle */

/* Asks for a connection of `r`'s key: the one that was used last, or a right to open one while
 * fewer than options->max_connections are in use, or a place in the queue (first come, first
 * served). Where connections may be shared one is opened at a time. */
pool_result pool_acquire(pool *p, const route *r, const call_options *options, pool_ticket *t,
                         connection **out);

/* Is it the waiter's turn? POOL_WAIT while it is not. */
pool_result pool_turn(pool *p, pool_ticket *t, connection **out);

/* Need pool_turn be called for a waiter in the queue, as its waker was woken? Others share that. */
bool pool_called(const pool *p, const pool_ticket *t);

/* Why it has to wait, for a person to read: which limit is reached. Static. */
const char *pool_why_waiting(pool *p, const pool_ticket *t);

/* A driver has gone away (waker_depart): nobody waits for what it dials. */
void pool_driver_left(pool *p);

/* Closes `c`, which is not shared and will not do, and keeps its place: another idle one, or, when
 * there is none or with `fresh`, the right to open one. Never waits. */
pool_result pool_replace(pool *p, pool_ticket *t, connection *c, bool fresh, connection **out);

/* Leaves the queue, or gives up the right to dial; what was granted meanwhile goes to the next. */
void pool_cancel(pool *p, pool_ticket *t);

/* Takes a newly opened connection in, as in use: it fills the right to dial. */
void pool_add(pool *p, pool_ticket *t, connection *c);

/* Before `c`, which the pool gave, is used: is it alive, and younger than `max_age` (0: any age)?
 * `l`, or NULL: an event loop that may know without asking the socket. A shared one that is too old
 * takes no call from now on; the pool is to be told of it, as of one that is dead, by
 * pool_reconsider. */
bool pool_connection_usable(connection *c, nanoseconds max_age, event_loop *l, nanoseconds now);

/* Closes a connection that the pool does not have, and frees it; says goodbye when `notify`. Calls
 * that others have on a shared one go on. */
void pool_connection_close(connection *c, bool notify);

/* Gives a connection back, for others to use until `idle_until`. */
void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* Gives up a place on a shared connection; the last one leaves it idle until `idle_until`. */
void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until);

/* A shared connection carries more calls than before, or none any more. */
void pool_reconsider(pool *p, connection *c);

/* Closes a connection that was in use and frees its place. */
void pool_discard(pool *p, connection *c, bool notify);

/* Closes idle connections that `owner` opened (0: all), and those in use when they come back.
 * Returns how many were idle. */
uint32_t pool_close_idle(pool *p, uint64_t owner);

/* Descriptors are wanted: closes some idle connections of every pool, those that were idle longest;
 * or, when none was, the wakers that nobody uses. False: there is nothing left to close. */
bool pool_make_room(void);

/* No more calls: idle connections are closed now, those in use when they come back. */
void pool_close(pool *p);

typedef struct {
    uint64_t connections, idle, in_use, waiting, opened, reused, closed;
} pool_stats;

void pool_count(pool *p, pool_stats *out);

/* Around fork (see fork.c): all locks are taken before, so that the child finds everything whole;
 * the child closes its copies of the descriptors, says nothing on them, and starts empty. */
void pool_before_fork(void);
void pool_after_fork(bool child);

#endif
