#ifndef TRUNKLINE_TEST_SOCKETS_H
#define TRUNKLINE_TEST_SOCKETS_H

#include "check.h"
#include "transport/events/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Real sockets on loopback for the tests of transport/. */

/* How long a test waits for an event that must happen. */
#define SOON_MILLISECONDS 10000

static inline void give_up(const char *what) {
    perror(what);
    exit(2);
}

/* Returns a listener on 127.0.0.1, with its port in *port. */
static inline int listen_on_loopback(int backlog, uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, length) != 0 ||
        listen(descriptor, backlog) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &length) != 0)
        give_up("listen on 127.0.0.1");
    *port = ntohs(address.sin_port);
    return descriptor;
}

static inline void set_nonblocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/* Returns a non-blocking connection to 127.0.0.1. */
static inline int connect_to_loopback(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0)
        give_up("connect to 127.0.0.1");
    set_nonblocking(descriptor);
    return descriptor;
}

static inline bool wait_for_events(int descriptor, short events, int milliseconds) {
    struct pollfd entry = {.fd = descriptor, .events = events};
    return poll(&entry, 1, milliseconds) == 1;
}

static inline void sleep_milliseconds(int milliseconds) {
    poll(NULL, 0, milliseconds);
}

static inline long milliseconds_since(nanoseconds start) {
    return (long)((clock_now() - start) / MILLISECOND);
}

/* Waits for a child that must not hang, and returns its exit status, or 128 plus the number of the
 * signal that ended it, or -1 when it hung and was killed. */
static inline int child_status(pid_t child) {
    for (int waited = 0; waited < SOON_MILLISECONDS; waited += 10) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        sleep_milliseconds(10);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

#endif
