#ifndef TRUNKLINE_TRANSPORT_DIAL_DIAL_CONNECT_H
#define TRUNKLINE_TRANSPORT_DIAL_DIAL_CONNECT_H

#include "dial.h"

/*
 * The race of dial.c: one connection out of several addresses. The families take turns, the next
 * address starts when the one before has failed or after ATTEMPT_DELAY, and the first that connects
 * wins (RFC 8305, sections 4 and 5).
 */
#define ATTEMPT_DELAY (250 * MILLISECOND)

typedef struct connecting connecting;

/* `options` is borrowed. NULL: no memory. */
connecting *connecting_new(const endpoint *list, size_t count, const socket_options *options);

/* IO_DONE: *descriptor is the caller's, *peer is borrowed. IO_WAIT. IO_FAILED: none is left. */
io_result connecting_step(connecting *c, nanoseconds now, int *descriptor, const endpoint **peer,
                          failure *f);

nanoseconds connecting_due(const connecting *c); /* when to step in any case */
int connecting_entries(const connecting *c, struct pollfd *entries, int room);

/* The time is over: says who did not answer, and what went wrong before. */
void connecting_too_late(const connecting *c, const char *asked, failure *f);

void connecting_disown(connecting *c); /* its descriptors were the parent process's */
void connecting_free(connecting *c);   /* closes all that are under way; NULL is fine */

/* The endpoint of a Unix socket. False: the path does not fit. */
bool unix_endpoint(const char *path, endpoint *e, failure *f);

/* "127.0.0.1:80", "[::1]:80" or the path. */
void endpoint_words(const endpoint *e, char *text, size_t size);

#endif
