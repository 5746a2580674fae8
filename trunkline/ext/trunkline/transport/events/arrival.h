#ifndef TRUNKLINE_TRANSPORT_EVENTS_ARRIVAL_H
#define TRUNKLINE_TRANSPORT_EVENTS_ARRIVAL_H

#include "clock.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * When bytes came. A thread that waits for Ruby's lock reads what has come meanwhile when it has
 * the lock; how long that lay in the socket is the kernel's knowledge (SO_TIMESTAMPNS; Linux, TCP).
 */
typedef struct {
    bool wanted;    /* by the next arrival_recv: it costs a little */
    nanoseconds at; /* when what was read last had come; -1: not known */
} arrival;

/* Has the kernel note when bytes come for the socket, where it can. */
void arrival_watch(int descriptor);

/* As recv(2). Sets a->at when that is wanted; `a` may be NULL. Of bytes that came one after another
 * it is that of the last. */
ssize_t arrival_recv(int descriptor, void *bytes, size_t length, int flags, arrival *a);

#endif
