#ifndef TRUNKLINE_TRANSPORT_DIAL_DIAL_CONNECT_INTERNAL_H
#define TRUNKLINE_TRANSPORT_DIAL_DIAL_CONNECT_INTERNAL_H

#include "dial.h"

/*
 * Connects to one of several addresses (RFC 8305, sections 4 and 5): address families alternate,
 * the next attempt starts when the previous one has failed or after ATTEMPT_DELAY, and the first
 * attempt that connects is used.
 */
#define ATTEMPT_DELAY (250 * MILLISECOND)

typedef struct connecting connecting;

/* The addresses are copied; `options` is borrowed. Returns NULL when out of memory. */
connecting *connecting_new(const endpoint *list, size_t count, const socket_options *options);

/* Returns IO_DONE (*descriptor is the caller's, *peer borrowed), IO_WAIT, or IO_FAILED when all
 * attempts have failed. */
io_result connecting_step(connecting *c, nanoseconds now, int *descriptor, const endpoint **peer,
                          failure *f);

nanoseconds connecting_due(const connecting *c); /* when to step even without an event */

/* As dial_wait: fills at most `room` entries and returns how many. */
int connecting_entries(const connecting *c, struct pollfd *entries, int room);

/* Fills in FAILURE_CONNECT_TIMEOUT with the addresses that did not answer, and those that
 * failed. */
void connecting_timed_out(const connecting *c, const char *limit, failure *f);

void connecting_disown(connecting *c); /* forgets the parent process's descriptors */
void connecting_free(connecting *c);   /* closes all attempts under way; NULL is fine */

/* Fills in the endpoint of a Unix socket. Returns false, with *f, when the path is too long. */
bool unix_endpoint(const char *path, endpoint *e, failure *f);

/* Writes "127.0.0.1:80", "[::1]:80" or the path. */
void endpoint_words(const endpoint *e, char *text, size_t size);

#endif
