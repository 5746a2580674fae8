#ifndef TRUNKLINE_TRANSPORT_TLS_SOCKET_IO_H
#define TRUNKLINE_TRANSPORT_TLS_SOCKET_IO_H

#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "transport/events/arrival.h"
#include "tls.h"

#include <stddef.h>

/* A socket, and the TLS session over it or NULL. Both are borrowed. */
typedef struct {
    int descriptor;
    tls *session;
    /* Without TLS: a read may wait (portable_let_recv_wait). With TLS see tls_wait_in_read. */
    bool waits;
    /* Borrowed; reads without TLS fill it in; NULL: not. With TLS see tls_record_arrivals. */
    arrival *arrived;
} socket_io;

/* As tls_read and tls_write; the end of a connection without TLS is IO_END. */
io_result socket_io_read(socket_io s, void *bytes, size_t length, size_t *count, failure *f);
io_result socket_io_write(socket_io s, const void *bytes, size_t length, size_t *count, failure *f);

#endif
