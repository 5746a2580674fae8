#ifndef TRUNKLINE_TRANSPORT_TLS_SOCKET_IO_H
#define TRUNKLINE_TRANSPORT_TLS_SOCKET_IO_H

#include "transport/common/failure.h"
#include "transport/common/io_result.h"
#include "tls.h"

#include <stddef.h>

/* The bytes of one connection: a socket that does not block, and TLS over it or NULL. Both are
 * borrowed. */
typedef struct {
    int descriptor;
    tls *session;
} socket_io;

/* As tls_read and tls_write; IO_END is the end of a plain connection too. */
io_result socket_io_read(socket_io s, void *bytes, size_t length, size_t *count, failure *f);
io_result socket_io_write(socket_io s, const void *bytes, size_t length, size_t *count, failure *f);

#endif
