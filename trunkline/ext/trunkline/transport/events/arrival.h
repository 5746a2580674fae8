#ifndef TRUNKLINE_TRANSPORT_EVENTS_ARRIVAL_H
#define TRUNKLINE_TRANSPORT_EVENTS_ARRIVAL_H

#include "clock.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * The time at which bytes arrived. A thread that waits for the GVL reads only when it holds the GVL
 * again; the kernel's timestamps (SO_TIMESTAMPNS; Linux, TCP) show how long the bytes were in the
 * socket by then.
 */
typedef struct {
    bool wanted;    /* the next arrival_recv sets ->at, which costs a little */
    nanoseconds at; /* when the bytes read last arrived; -1: not known */
} arrival;

/* Enables the kernel's timestamps for bytes that arrive on the socket, where it has them. */
void arrival_watch(int descriptor);

/* As recv(2). Sets a->at when a->wanted is set; `a` may be NULL. For bytes that arrived one after
 * another it is the time of the last. */
ssize_t arrival_recv(int descriptor, void *bytes, size_t length, int flags, arrival *a);

#endif
