#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_SWITCHED_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_SWITCHED_H

#include "exchange.h"

/*
 * A bidirectional byte stream, after a request that asked to switch protocols: the connection
 * itself after 101 (RFC 9110 7.8), or a stream of a shared one after an extended CONNECT (RFC
 * 8441). Its connection counts as in use until the byte stream is freed. No function waits. Used by
 * one thread at a time, though one may wait to read while another waits to write.
 */
typedef struct switched switched;

/* Takes the switched connection or stream from a complete exchange. Returns NULL, with x->why
 * unchanged, when the exchange has not switched, or when memory or descriptors run out; the caller
 * frees the result. */
switched *switched_take(exchange *x);

/* Ends the byte stream; returns a shared connection to the pool, and closes one that is not shared.
 * In a forked child nothing is sent. NULL is fine. */
void switched_free(switched *s);

/* Returns how much memory `s` uses, in bytes. */
size_t switched_size(const switched *s);

/* Reads at most `length` bytes. Returns IO_DONE with *count, IO_READ or IO_WRITE for what to wait
 * for on switched_descriptor, IO_END, IO_TRUNCATED, or IO_FAILED with *f. */
io_result switched_read(switched *s, void *bytes, size_t length, size_t *count, failure *f);

/* Accepts some of the bytes for sending, which may be written later; results as of
 * switched_read. */
io_result switched_write(switched *s, const void *bytes, size_t length, size_t *count, failure *f);

/* Returns IO_DONE when all accepted bytes were handed to the system; else what to wait for. */
io_result switched_flush(switched *s, failure *f);

/* To be called when a reader stops waiting, so that another call reads the shared connection. */
void switched_end_wait(switched *s);

/* Returns the descriptor to wait for, which `s` owns and which stays the same. Over HTTP/2 it
 * becomes readable for writers, too. */
int switched_descriptor(switched *s);

/* Ends all waits on `s`, in other threads too; later reads return its end. */
void switched_shutdown(switched *s);

/* Returns whether this system supports switching an HTTP/2 stream (it needs epoll). */
bool switched_shares(void);

#endif
