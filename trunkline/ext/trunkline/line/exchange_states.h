#ifndef TRUNKLINE_LINE_EXCHANGE_STATES_H
#define TRUNKLINE_LINE_EXCHANGE_STATES_H

#include "exchange.h"

/* Between the files that make up an exchange; nobody else includes this. */

/* ---- exchange.c ---- */

/* Enters a phase (or stays in it, after progress): its timeout counts from `now`. */
void exchange_phase(exchange *x, call_phase phase, nanoseconds now);

/* The call is over: with a failure the connection is closed; without, it goes back to the pool if
 * it can be used again. */
step_result exchange_fail(exchange *x, failure_code code, const char *detail, int system_error);
step_result exchange_finish(exchange *x, nanoseconds now);

/* ---- exchange_send.c ---- */

/* Readies the request for an attempt on x->line. */
bool exchange_send_begin(exchange *x, nanoseconds now);

/* Sends as much as goes without waiting. IO_DONE: nothing is left to send for now (see
 * request_done, piece_wanted, awaits_continue). IO_READ, IO_WRITE: what to wait for. IO_FAILED: see
 * write_failure, or x->why when it is the caller's body that was wrong. */
io_result exchange_send(exchange *x, nanoseconds now);

/* No more of the request: what is unsent stays so. */
void exchange_cut_request(exchange *x, nanoseconds now);

/* ---- exchange_receive.c ---- */

/* Reads and takes apart what is there. STEP_WAIT: x->events says what for; STEP_FAILED: x->why is
 * set but the exchange is not ended yet, so that another attempt may be made. */
step_result exchange_receive(exchange *x, nanoseconds now);

#endif
