#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H

#include "exchange.h"

/* Between the files that make up an exchange; nobody else includes this. */

/* ---- exchange.c ---- */

/* Enters a phase (or stays in it, after progress): its timeout counts from `now`. */
void exchange_phase(exchange *x, call_phase phase, nanoseconds now);

/* The call is over: with a failure the connection is closed; without, it goes back to the pool if
 * it can be used again. */
step_result exchange_fail(exchange *x, failure_code code, const char *detail, int system_error);
step_result exchange_finish(exchange *x, nanoseconds now);

/* ---- exchange_queue.c ---- */

/* Which limit made it wait for a place, for a person to read; NULL: none did. Static. */
const char *exchange_why_queued(exchange *x);

/* It waits for a place from `now` on. */
void exchange_begin_wait(exchange *x, nanoseconds now);

/* Is it time for STEP_COLLECT? Once in a wait; if no answer is in its caller's hands now, one may
 * be later. */
bool exchange_wants_collection(exchange *x, nanoseconds now);

/* ---- exchange_dial.c ---- */

/* As dial_step, of x->dialling; closes idle connections when there are no descriptors. */
io_result exchange_dial(exchange *x, nanoseconds now, dialled *d);

/* Makes a connection that speaks HTTP/2 one to be shared. False: no memory, and it is gone. */
bool exchange_share(const exchange *x, connection *c);

/* ---- exchange_send.c ---- */

/* Readies the request for an attempt on x->connection. */
bool exchange_send_begin(exchange *x, nanoseconds now);

/* Sends as much as goes without waiting. IO_DONE: nothing is left to send for now (see
 * request_done, piece_wanted, awaits_continue). IO_READ, IO_WRITE: what to wait for. IO_FAILED: see
 * write_failure, or x->why when it is the caller's body that was wrong. */
io_result exchange_send(exchange *x, nanoseconds now);

/* Is what was fed neither more nor, at its end, less than was declared? False: x->why is set. */
bool exchange_fed_as_declared(exchange *x);

/* No more of the request: what is unsent stays so. */
void exchange_cut_request(exchange *x, nanoseconds now);

/* ---- exchange_deliver.c: common to HTTP/1.1 and HTTP/2 ---- */

#define BULK_READ (64 * 1024) /* for each read of a large body */

/* x->why is set; the exchange is not ended yet, so that another attempt may be made. STEP_FAILED.
 */
step_result exchange_broke(exchange *x, failure_code code, int system_error, const char *detail);

/* The connection ended in the midst of an answer: the same, and says how much of it there was. */
step_result exchange_cut_short(exchange *x, failure_code code, int system_error);

/* Something of an answer has come: the first of it in this attempt is noted. */
void exchange_first_byte(exchange *x, nanoseconds now);

/* x->answer holds the head of a 1xx, whose bytes these are. STEP_WAIT: go on. */
step_result exchange_informational(exchange *x, const uint8_t *bytes, nanoseconds now);

/* x->answer holds the answer's head, whose bytes these are: they are copied, and what is left of
 * the request is cut short unless the server goes along with it (RFC 9112 9.5). STEP_WAIT: go on.
 */
step_result exchange_head(exchange *x, const uint8_t *bytes, nanoseconds now);

/* A piece of the body, through its codings to x->body; what would unpack to more than a streaming
 * caller takes at once is kept. False: x->why is set. */
bool exchange_deliver(exchange *x, const uint8_t *bytes, size_t length);

/* Goes on with what was kept; to be done before anything else of the body is delivered, and before
 * it is complete. The same. */
bool exchange_unpack(exchange *x);

/* The same for what lies where it belongs already. */
bool exchange_delivered(exchange *x, size_t count);

/* Is it time to give a streaming caller what there is? */
bool exchange_has_enough(const exchange *x);

/* STEP_DONE, or STEP_FAILED when its coding wants more. */
step_result exchange_body_complete(exchange *x);

/* ---- exchange_receive.c ---- */

/* Reads and takes apart what is there. STEP_WAIT: x->events says what for; STEP_FAILED: x->why is
 * set but the exchange is not ended yet, so that another attempt may be made. */
step_result exchange_receive(exchange *x, nanoseconds now);

/* ---- exchange_http2.c ---- */

/* Readies x->call for an attempt on x->connection, which is shared. */
void exchange_http2_begin(exchange *x);

/* Goes as far as it can. STEP_DONE: the connection is still to be left; STEP_FAILED: x->why is set
 * but the exchange is not ended yet; ->displaced: no stream could be opened, and nothing was sent.
 */
step_result exchange_http2_talk(exchange *x, nanoseconds now);

/* Lets go of the stream, wherever it stands. */
void exchange_http2_stop(exchange *x);

/* Lets go of the connection. */
void exchange_http2_leave(exchange *x, nanoseconds now, nanoseconds idle_until);

#endif
