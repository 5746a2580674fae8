#ifndef TRUNKLINE_TRANSPORT_COMMON_IO_RESULT_H
#define TRUNKLINE_TRANSPORT_COMMON_IO_RESULT_H

/* The result of a function that does not block. */
typedef enum {
    IO_DONE,      /* done; or bytes were read or written */
    IO_READ,      /* call again when the descriptor is readable */
    IO_WRITE,     /* call again when the descriptor is writable */
    IO_WAIT,      /* call again after an event, a wake-up of the waker, or the deadline */
    IO_END,       /* the peer closed the connection cleanly: FIN, or close_notify over TLS */
    IO_TRUNCATED, /* TLS only: FIN without close_notify */
    IO_FAILED     /* see the failure */
} io_result;

#endif
