#ifndef TRUNKLINE_PROTOCOL_BUDGET_H
#define TRUNKLINE_PROTOCOL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits how many bytes of unread responses all HTTP/2 streams of the process may buffer. A stream
 * reserves its window, which the server may fill at any time, and releases it when it is freed. All
 * functions may be called by any thread.
 */

/* Reserves `bytes`. Returns false when fewer than `bytes` + `margin` bytes are left. */
bool budget_reserve(uint64_t bytes, uint64_t margin);

/* Releases `bytes` that were reserved. */
void budget_release(uint64_t bytes);

/* Sets the limit in bytes; 0 restores the default of 256 MiB. Existing reservations are kept. */
void budget_set(uint64_t most);

/* Return the limit, and the bytes reserved now. */
uint64_t budget_limit(void);
uint64_t budget_used(void);

/* Clears all reservations; to be called in the child after fork. */
void budget_forked(void);

#endif
