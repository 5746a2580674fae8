#include "socket_io.h"
#include "transport/events/portable.h"

#include <errno.h>

static bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

static io_result report_io_error(call_phase phase, failure *f) {
    failure_set(f, FAILURE_RESET, phase, errno, NULL);
    return IO_FAILED;
}

static io_result result_of_read(ssize_t got, size_t *count, failure *f) {
    if (got > 0) {
        *count = (size_t)got;
        return IO_DONE;
    }
    if (got == 0) return IO_END;
    return would_block(errno) ? IO_READ : report_io_error(PHASE_READ, f);
}

static io_result plain_read(socket_io s, void *bytes, size_t length, size_t *count, failure *f) {
    ssize_t got;
    do {
        got = arrival_recv(s.descriptor, bytes, length, s.waits ? 0 : MSG_DONTWAIT, s.arrived);
        s.waits = false;
    } while (got < 0 && errno == EINTR);
    return result_of_read(got, count, f);
}

static io_result plain_write(int descriptor, const void *bytes, size_t length, size_t *count,
                             failure *f) {
    ssize_t put;
    do {
        put = send(descriptor, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (put < 0 && errno == EINTR);
    if (put >= 0) {
        *count = (size_t)put;
        return IO_DONE;
    }
    return would_block(errno) ? IO_WRITE : report_io_error(PHASE_WRITE, f);
}

io_result socket_io_read(socket_io s, void *bytes, size_t length, size_t *count, failure *f) {
    return s.session != NULL ? tls_read(s.session, bytes, length, count, f)
                             : plain_read(s, bytes, length, count, f);
}

io_result socket_io_write(socket_io s, const void *bytes, size_t length, size_t *count,
                          failure *f) {
    return s.session != NULL ? tls_write(s.session, bytes, length, count, f)
                             : plain_write(s.descriptor, bytes, length, count, f);
}
