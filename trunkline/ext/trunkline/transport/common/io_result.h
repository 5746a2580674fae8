#ifndef TRUNKLINE_TRANSPORT_COMMON_IO_RESULT_H
#define TRUNKLINE_TRANSPORT_COMMON_IO_RESULT_H

/* What came of a step that must not block. */
typedef enum {
    IO_DONE,      /* it is done (or: bytes were moved) */
    IO_READ,      /* come back when the descriptor is readable */
    IO_WRITE,     /* come back when it is writable */
    IO_WAIT,      /* come back when one of its descriptors, its waker or its deadline is due */
    IO_END,       /* the peer has ended cleanly: FIN, or close_notify over TLS */
    IO_TRUNCATED, /* TLS only: FIN without close_notify */
    IO_FAILED     /* see the failure */
} io_result;

#endif
