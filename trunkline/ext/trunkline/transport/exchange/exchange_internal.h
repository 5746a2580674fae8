#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H

#include "exchange.h"

/* For the exchange's own files. */

/* ---- exchange.c ---- */

/* End the call and return STEP_FAILED or STEP_DONE. exchange_fail closes the connection;
 * exchange_finish gives it back to the pool if it can be used again. */
step_result exchange_fail(exchange *x, failure_code code, const char *detail, int system_error);
step_result exchange_finish(exchange *x, nanoseconds now);

/* Does a final answer with this status switch protocols, as the request asked? */
bool exchange_switches(const exchange *x, int status);

/* ---- exchange_time.c ---- */

/* Enters a phase (or stays in it, after progress): its timeout counts from `now`. */
void exchange_phase(exchange *x, call_phase phase, nanoseconds now);

/* Until when it waits for 100 (Continue) before it sends its body; NEVER: it does not wait. */
nanoseconds exchange_continue_deadline(const exchange *x);

/* Has the socket been full until the deadline? A write that it might take now would be no progress:
 * poll has not reported it writable. */
bool exchange_write_is_late(const exchange *x, nanoseconds now);

/* Ends a call whose time is over, and returns STEP_FAILED; STEP_WAIT: there is time left. */
step_result exchange_out_of_time(exchange *x, nanoseconds now);

/* ---- exchange_queue.c ---- */

/* Which limit makes it wait for a connection or a stream, for a person to read; NULL: none. Static.
 */
const char *exchange_why_queued(exchange *x);

/* It waits for a connection or a stream from `now` on. */
void exchange_begin_wait(exchange *x, nanoseconds now);

/* Is it time for STEP_COLLECT? At most once in a wait, and only while a streamed response is with
 * its caller. */
bool exchange_wants_collection(exchange *x, nanoseconds now);

/* ---- exchange_dial.c ---- */

/* As dial_step for x->dialling; closes idle connections when no descriptor is left. */
io_result exchange_dial(exchange *x, nanoseconds now, dialled *d);

/* Begins HTTP/2 on `c` if it was agreed. Returns false without memory; `c` is freed then. */
bool exchange_share(const exchange *x, connection *c);

/* ---- exchange_send.c ---- */

/* Readies the request for an attempt on x->connection. Returns false without memory. */
bool exchange_send_begin(exchange *x, nanoseconds now);

/* Sends as much as goes without waiting. Returns IO_DONE when nothing is left to send for now (see
 * request_done, piece_wanted, awaits_continue), IO_READ or IO_WRITE for what to wait for, or
 * IO_FAILED: see x->why when the caller's body was wrong, else write_failure. */
io_result exchange_send(exchange *x, nanoseconds now);

/* Notes that `bytes` of the body were handed to the connection, and whether that is to be told. */
void exchange_note_body(exchange *x, uint64_t bytes);

/* Does the fed body have its declared length so far? Returns false with x->why set when it is
 * longer, or has ended and is shorter. */
bool exchange_fed_as_declared(exchange *x);

/* Stops sending: the rest of the request is not sent. */
void exchange_cut_request(exchange *x, nanoseconds now);

/* ---- exchange_deliver.c: common to HTTP/1.1 and HTTP/2 ---- */

#define BULK_READ (64 * 1024) /* for each read of a large body */

/* Sets x->why and returns STEP_FAILED. The exchange is not over yet: another attempt may be made.
 */
step_result exchange_broke(exchange *x, failure_code code, int system_error, const char *detail);

/* The same for a connection that ended within a response; x->why says how much of it came. */
step_result exchange_cut_short(exchange *x, failure_code code, int system_error);

/* All that had come was read: what comes next is read at once. */
void exchange_caught_up(exchange *x);

/* To be called for bytes of a response that came at `came`; notes the first of this attempt. */
void exchange_first_byte(exchange *x, nanoseconds came);

/* To be called when x->answer holds the head of a 1xx in `bytes`. Returns STEP_WAIT to go on,
 * STEP_HINTS, or STEP_FAILED. */
step_result exchange_informational(exchange *x, const uint8_t *bytes, nanoseconds now);

/* To be called when x->answer holds the final head in `bytes`, which are copied. Stops sending when
 * the server refuses the request's body (RFC 9112 9.5). Returns STEP_WAIT to go on, STEP_HEAD, or
 * STEP_FAILED. */
step_result exchange_head(exchange *x, const uint8_t *bytes, nanoseconds now);

/* Decodes a piece of the body into x->body. Keeps the rest of it in x->packed once a streaming
 * caller has enough. Returns false with x->why set. */
bool exchange_deliver(exchange *x, const uint8_t *bytes, size_t length);

/* Decodes what lies in x->packed; to be called before more of the body is delivered. Returns false
 * with x->why set. */
bool exchange_unpack(exchange *x);

/* Counts body bytes that were written to their destination already. Returns false with x->why set
 * when they exceed the limit. */
bool exchange_delivered(exchange *x, size_t count);

/* Does x->body hold as much as a streaming caller takes at once? */
bool exchange_has_enough(const exchange *x);

/* Returns STEP_DONE, or STEP_FAILED when the body's coding is not complete. */
step_result exchange_body_complete(exchange *x);

/* ---- exchange_receive.c ---- */

/* Reads and parses what has arrived over HTTP/1.1. STEP_WAIT: x->events says what to wait for.
 * STEP_FAILED: x->why is set; the exchange is not over yet. */
step_result exchange_receive(exchange *x, nanoseconds now);

/* ---- exchange_http2.c ---- */

/* Readies x->call for an attempt on x->connection, which speaks HTTP/2. */
void exchange_http2_begin(exchange *x);

/* Moves the call as far as it goes. STEP_DONE: exchange_http2_leave is still to be called.
 * STEP_FAILED: x->why is set and the exchange is not over yet; with ->displaced the connection
 * takes no calls any more, and nothing was sent. */
step_result exchange_http2_talk(exchange *x, nanoseconds now);

/* Releases the stream; it is reset unless it is complete. */
void exchange_http2_stop(exchange *x);

/* Gives the shared connection back to the pool. */
void exchange_http2_leave(exchange *x, nanoseconds now, nanoseconds idle_until);

#endif
