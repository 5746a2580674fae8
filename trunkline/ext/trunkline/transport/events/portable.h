#ifndef TRUNKLINE_TRANSPORT_EVENTS_PORTABLE_H
#define TRUNKLINE_TRANSPORT_EVENTS_PORTABLE_H

#include "clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

/*
 * Functions that only some systems have, and replacements for the others. extconf.rb tests for each
 * function and defines HAVE_<FUNCTION>; -DTRUNKLINE_POLL chooses the replacements everywhere, for
 * tests.
 */

#if defined(HAVE_EPOLL_CREATE1) && !defined(TRUNKLINE_POLL)
#define USE_EPOLL 1
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* systems without it have SO_NOSIGPIPE */
#endif

/* As poll(2), for `span` nanoseconds (NEVER: no timeout): exact with ppoll, otherwise rounded up to
 * milliseconds. */
int portable_poll(struct pollfd *entries, nfds_t count, nanoseconds span);

/* Initialises a condition variable for portable_wait. */
void portable_condition(pthread_cond_t *condition);

/* As pthread_cond_timedwait, until a time of the monotonic clock. Returns false when that time was
 * reached. It may return early, as every wait for a condition variable. */
bool portable_wait(pthread_cond_t *condition, pthread_mutex_t *lock, nanoseconds until);

/* Opens a pipe, non-blocking and close-on-exec: ends[0] is the read end, ends[1] the write end.
 * Returns false, with errno, when it cannot be opened. */
bool portable_pipe(int ends[2]);

/* Lets a recv without MSG_DONTWAIT wait for up to about `span` on the socket. The socket becomes
 * blocking, so every other recv and send must have MSG_DONTWAIT. Returns false where that is not
 * possible; the socket stays non-blocking then. */
bool portable_let_recv_wait(int descriptor, nanoseconds span);

/* Opens a stream socket of `family`, non-blocking and close-on-exec; -1 with errno. */
int portable_socket(int family);

#endif
