#ifndef TRUNKLINE_LINE_CONNECTION_H
#define TRUNKLINE_LINE_CONNECTION_H

#include "clock.h"
#include "dial.h"
#include "failure.h"
#include "io.h"
#include "tls.h"

struct bucket;

/*
 * One connection. While a call has it, that call's driver alone touches it; while it is idle, the
 * pool does. The links are the pool's.
 */
typedef struct connection {
    int descriptor; /* owned; -1 once closed, or in the child after fork */
    tls *session;   /* owned; NULL: plain */
    uint64_t id;
    uint64_t owner; /* the client family that opened it */
    uint32_t uses;  /* calls that it has carried, the present one included */
    nanoseconds born;
    nanoseconds idle_since;
    nanoseconds idle_until;
    char address[80]; /* "127.0.0.1:443", "[::1]:80", or the path of a Unix socket */
    struct bucket *bucket;
    struct connection *below;                     /* the idle stack of its bucket */
    struct connection *idle_previous, *idle_next; /* all idle ones, oldest first */
    struct connection *all_previous, *all_next;   /* all of the pool's */
} connection;

/* Takes what a dial yielded. NULL: no memory (`d` is closed then). */
connection *connection_new(const dialled *d, const route *r, uint64_t owner, nanoseconds now);

/* As tls_read and tls_write; IO_END is the end of a plain connection too. */
io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f);
io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f);

/* Is more there to be read that poll would not tell of? */
bool connection_pending(const connection *c);

/* The look before reuse: true when nothing lies there, neither bytes nor the end. */
bool connection_look(connection *c);

/* Closes and frees; says goodbye (TLS close_notify) when `notify`. */
void connection_free(connection *c, bool notify);

#endif
