#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_DEADLINES_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_DEADLINES_H

#include "exchange_loop.h"

/*
 * The deadlines of an exchange loop's members, soonest first: a binary heap. A deadline that moves
 * away, as each byte makes it do, is only looked at when the old one is due: most never are.
 */
typedef struct {
    member **heap; /* owned */
    int count, capacity;
} deadlines;

bool deadlines_set(deadlines *d, member *m, nanoseconds when); /* false: no memory */
void deadlines_remove(deadlines *d, member *m);
nanoseconds deadlines_next(const deadlines *d); /* at the latest; NEVER: none */

/* One whose deadline is over, taken out; NULL: none. */
member *deadlines_expired(deadlines *d, nanoseconds now);

void deadlines_free(deadlines *d);

#endif
