#ifndef TRUNKLINE_TRANSPORT_POOL_CAPACITY_H
#define TRUNKLINE_TRANSPORT_POOL_CAPACITY_H

#include "protocol/list.h"
#include "transport/events/waker.h"

#include <stdint.h>

/*
 * Limits how many connections the calls of the whole process use at a time, over all pools; idle
 * connections do not count. A slot is taken and given back without a lock while slots are free;
 * otherwise claims wait in a queue, first come, first served. No other lock is taken while this
 * one is held.
 */

typedef enum { CLAIM_NONE, CLAIM_WAITING, CLAIM_GRANTED } claim_state;

/* Embedded in the bucket whose calls wait; zeroed before its first use, and not moved while it
 * waits. The pool's lock is held for each call with it. */
typedef struct {
    claim_state state; /* atomic */
    waker *waker;      /* borrowed; woken when a slot has been granted */
    list_node node;    /* in the queue */
} capacity_claim;

/* Takes a slot and returns true; or queues the claim, with `w` as its waker, and returns false. `w`
 * is woken when a slot is granted, which another call of this takes. A claim whose driver is away
 * is passed over, and its waker woken, so that it asks again. */
bool capacity_take(capacity_claim *c, waker *w);

/* Has a slot been granted that was not taken yet? */
bool capacity_granted(const capacity_claim *c);

/* Replaces the waker; wakes `w` at once when a slot has been granted already. */
void capacity_hand_over(capacity_claim *c, waker *w);

/* Leaves the queue, or passes a granted slot on to the next claim. Nothing happens for a claim that
 * does not wait. */
void capacity_cancel(capacity_claim *c);

/* Gives a slot back; the first claim in the queue gets it. */
void capacity_give(void);

/* The number of slots. By default, and after capacity_set(0), half of the descriptors that the
 * process may open: a call may need another one besides its connection. */
void capacity_set(uint32_t most);
uint32_t capacity_most(void);
uint32_t capacity_used(void);

/* After fork, in the child: nothing is in use. */
void capacity_forked(void);

#endif
