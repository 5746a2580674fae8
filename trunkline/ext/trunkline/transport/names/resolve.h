#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_H

#include "transport/events/clock.h"
#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "transport/events/waker.h"

#include <stdbool.h>

#include <stdint.h>
#include <sys/socket.h>

/*
 * Names to addresses by getaddrinfo, in a bounded set of native threads (see resolve_queue.h for
 * their number, and for what they do first), with a cache: one look-up a name at a time, however
 * many ask. A name leaves the queue with the last caller that waits for it; the answer of a look-up
 * that runs by then is kept in the cache.
 */
typedef struct {
    struct sockaddr_storage address;
    socklen_t length;
} endpoint;

typedef struct resolution resolution;

/* Asks for `host` (a name or a literal). IO_DONE: *out is answered at once (literal, or by the
 * cache, whose answer came less than `max_age` ago). IO_WAIT: `w` will be woken (it is kept until
 * then). IO_FAILED: see `f`. *out is the caller's, to be released with resolve_release. */
io_result resolve_start(const char *host, uint16_t port, nanoseconds max_age, waker *w,
                        resolution **out, failure *f);

/* IO_WAIT: still asked for. IO_DONE: `list` (owned by the resolution, in the order of RFC 6724) and
 * `count` are set. IO_FAILED: see `f` (FAILURE_RESOLVE with the resolver's words). */
io_result resolve_result(resolution *r, const endpoint **list, size_t *count, failure *f);

void resolve_release(resolution *r); /* also while it is asked for; NULL is fine */

/* Every address of this name failed: the next caller asks anew. */
void resolve_forget(const char *host);

void resolve_clear(void); /* empties the cache */

/* Test seam: what is asked instead of getaddrinfo; NULL puts it back. */
typedef int (*resolve_lookup)(const char *host, const char *service, const void *hints,
                              void **result);
void resolve_set_lookup(resolve_lookup lookup, void (*release)(void *));

/* Around fork: before it waits for look-ups that have just begun and takes the lock; the parent
 * goes on; the child starts anew. */
#define RESOLVE_FORK_PATIENCE (50 * MILLISECOND) /* from the start of the newest look-up */
void resolve_before_fork(void);
void resolve_after_fork(bool child);

#endif
