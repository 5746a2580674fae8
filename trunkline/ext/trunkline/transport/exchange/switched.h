#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_SWITCHED_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_SWITCHED_H

#include "exchange.h"

/*
 * Bytes both ways, after a request that asked to switch protocols: the connection itself after 101
 * (RFC 9110 7.8), or a stream of a shared one after an extended CONNECT (RFC 8441). It counts as in
 * use until it is freed. Nothing here waits. Used by one thread at a time, though one may wait to
 * read while another waits to write.
 */
typedef struct switched switched;

/* Takes what a complete exchange has switched. Returns NULL, with x->why unchanged, when it has not
 * switched, or without memory or a descriptor; the caller frees the result. */
switched *switched_take(exchange *x);

/* Ends it, and gives its connection back. In a forked child nothing is sent. NULL is fine. */
void switched_free(switched *s);

/* How much memory it has, in bytes. */
size_t switched_size(const switched *s);

/* Reads at most `length` bytes. Returns IO_DONE with *count, IO_READ or IO_WRITE for what to wait
 * for on switched_descriptor, IO_END, IO_TRUNCATED, or IO_FAILED with *f. */
io_result switched_read(switched *s, void *bytes, size_t length, size_t *count, failure *f);

/* Takes some of the bytes, to be sent; results as above. Those that it took may leave later. */
io_result switched_write(switched *s, const void *bytes, size_t length, size_t *count, failure *f);

/* Returns IO_DONE when all that was taken has been handed to the system; else what to wait for. */
io_result switched_flush(switched *s, failure *f);

/* The reader that was to wait does not wait any more: others read the shared connection then. */
void switched_rest(switched *s);

/* The descriptor to wait for, the same for its life: its own. Over HTTP/2 it becomes readable for
 * writers, too. */
int switched_descriptor(switched *s);

/* Ends the waits for it, in other threads too; reads find the end from now on. */
void switched_shutdown(switched *s);

/* Can a stream be switched on this system? */
bool switched_shares(void);

#endif
