#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_INTERNAL_H

#include "exchange.h"

/* Functions that the exchange_*.c files share. */

/* ---- exchange.c ---- */

/* Both end the call; they return STEP_FAILED and STEP_DONE. exchange_fail closes the connection;
 * exchange_finish returns it to the pool if it can be used again. */
step_result exchange_fail(exchange *x, failure_code code, const char *detail, int system_error);
step_result exchange_finish(exchange *x, nanoseconds now);

/* Returns whether a final response with this status switches protocols, as the request asked. */
bool exchange_switches(const exchange *x, int status);

/* ---- exchange_time.c ---- */

/* Enters a phase, or stays in it after progress: the phase's timeout starts at `now`. */
void exchange_phase(exchange *x, call_phase phase, nanoseconds now);

/* Returns the time until which `x` waits for 100 (Continue) before it sends its body; NEVER: it
 * does not wait. */
nanoseconds exchange_continue_deadline(const exchange *x);

/* Returns whether the socket was full until the deadline. A write that the socket might accept now
 * would be no progress: poll has not reported it writable. */
bool exchange_write_is_late(const exchange *x, nanoseconds now);

/* Ends a call whose timeout is over, and returns STEP_FAILED; STEP_WAIT: no timeout is over. */
step_result exchange_check_timeouts(exchange *x, nanoseconds now);

/* ---- exchange_queue.c ---- */

/* Returns the limit that makes `x` wait for a connection or a stream, as text for an error message;
 * NULL: none. Static. */
const char *exchange_why_queued(exchange *x);

/* Records that `x` waits for a connection or a stream from `now` on. */
void exchange_begin_wait(exchange *x, nanoseconds now);

/* Returns whether the next step is STEP_COLLECT: at most once per wait, and only while a caller
 * holds a streamed response. */
bool exchange_wants_collection(exchange *x, nanoseconds now);

/* ---- exchange_dial.c ---- */

/* Calls dial_step for x->dialling; when no descriptor is left, closes idle connections and dials
 * again. */
io_result exchange_dial(exchange *x, nanoseconds now, dialled *d);

/* Begins HTTP/2 on `c` if ALPN or the route chose it. Returns false when out of memory; `c` is
 * freed then. */
bool exchange_share(const exchange *x, connection *c);

/* ---- exchange_send.c ---- */

/* Prepares the request for an attempt on x->connection. Returns false when out of memory. */
bool exchange_send_begin(exchange *x, nanoseconds now);

/* Sends as much as possible without waiting. Returns IO_DONE when nothing is left to send for now
 * (see request_done, piece_wanted, awaits_continue), IO_READ or IO_WRITE for what to wait for, or
 * IO_FAILED: see x->why when the caller's body was wrong, else write_failure. */
io_result exchange_send(exchange *x, nanoseconds now);

/* Records that `bytes` of the body were handed to the connection, and whether STEP_PROGRESS is
 * due. */
void exchange_note_body(exchange *x, uint64_t bytes);

/* Returns whether the fed body agrees with its declared length so far. Returns false with x->why
 * set when the body is longer, or has ended and is shorter. */
bool exchange_fed_as_declared(exchange *x);

/* Stops sending: the rest of the request is not sent. */
void exchange_cut_request(exchange *x, nanoseconds now);

/* ---- exchange_deliver.c: common to HTTP/1.1 and HTTP/2 ---- */

#define BULK_READ (64 * 1024) /* bytes for each read of a large body */

/* Sets x->why and returns STEP_FAILED. The exchange has not ended yet: another attempt may be
 * made. */
step_result exchange_attempt_failed(exchange *x, failure_code code, int system_error,
                                    const char *detail);

/* As exchange_attempt_failed, for a connection that ended within a response; x->why records how
 * much of it arrived. */
step_result exchange_cut_short(exchange *x, failure_code code, int system_error);

/* Records that all bytes that had arrived were read, so that later ones do not count as delayed. */
void exchange_caught_up(exchange *x);

/* To be called for bytes of a response that arrived at `came`; records the first byte of this
 * attempt. */
void exchange_first_byte(exchange *x, nanoseconds came);

/* To be called when x->response holds the head of a 1xx response in `bytes`. Returns STEP_WAIT to
 * continue, STEP_HINTS, or STEP_FAILED. */
step_result exchange_informational(exchange *x, const uint8_t *bytes, nanoseconds now);

/* To be called when x->response holds the final head in `bytes`, which are copied. Stops sending
 * when the server refuses the request's body (RFC 9112 9.5). Returns STEP_WAIT to continue,
 * STEP_HEAD, or STEP_FAILED. */
step_result exchange_head(exchange *x, const uint8_t *bytes, nanoseconds now);

/* Decodes a piece of the body into x->body. Keeps the rest of it in x->undecoded once a streaming
 * caller has enough. Returns false with x->why set. */
bool exchange_deliver(exchange *x, const uint8_t *bytes, size_t length);

/* Decodes the bytes in x->undecoded; to be called before more of the body is delivered. Returns
 * false with x->why set. */
bool exchange_decode_more(exchange *x);

/* Counts body bytes that have already been written to their destination. Returns false with x->why
 * set when they exceed the limit. */
bool exchange_count_delivered(exchange *x, size_t count);

/* Returns whether x->body holds as much as a streaming caller takes at once. */
bool exchange_has_enough(const exchange *x);

/* Returns `count`, or less if x->body has room for fewer bytes, as a streaming caller takes at most
 * EXCHANGE_PIECE at once. */
size_t exchange_at_most(const exchange *x, size_t count);

/* Returns STEP_DONE, or STEP_FAILED when the body's coding is not complete. */
step_result exchange_body_complete(exchange *x);

/* ---- exchange_receive.c ---- */

/* Reads and parses what has arrived over HTTP/1.1. STEP_WAIT: x->events is what to wait for.
 * STEP_FAILED: x->why is set; the exchange has not ended yet. */
step_result exchange_receive(exchange *x, nanoseconds now);

/* ---- exchange_http2.c ---- */

/* Prepares x->call for an attempt on x->connection, which uses HTTP/2. */
void exchange_http2_begin(exchange *x);

/* Advances the call as far as possible. STEP_DONE: exchange_http2_leave must still be called.
 * STEP_FAILED: x->why is set and the exchange has not ended yet; with ->needs_other_connection the
 * connection takes no further calls, and nothing was sent. */
step_result exchange_http2_talk(exchange *x, nanoseconds now);

/* Releases the stream, and resets it unless it is complete. */
void exchange_http2_stop(exchange *x);

/* Returns the shared connection to the pool. */
void exchange_http2_leave(exchange *x, nanoseconds now, nanoseconds idle_until);

#endif
