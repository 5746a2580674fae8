#include "transport/events/arrival.h"
#include "sockets.h"

/* The arrival time of bytes is reported also when they are read much later. */

#define UNREAD (200 * MILLISECOND)
#define NEARLY (50 * MILLISECOND) /* tolerance for a busy machine */

#if defined(__linux__) && !defined(TRUNKLINE_POLL)
#define TOLD true
#else
#define TOLD false
#endif

static void connect_two(int ends[2]) {
    uint16_t port;
    int listener = listen_on_loopback(1, &port);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    arrival_watch(ends[0]);
    if (connect(ends[0], (struct sockaddr *)&address, sizeof(address)) != 0) give_up("connect");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
}

/* Writes a byte, and reads it after UNREAD. Returns the time right after the write. */
static nanoseconds send_and_receive(const int ends[2], arrival *a) {
    char byte;
    if (write(ends[1], "x", 1) != 1) give_up("write");
    nanoseconds sent = clock_now();
    usleep(UNREAD / 1000);
    CHECK(arrival_recv(ends[0], &byte, 1, 0, a) == 1 && byte == 'x', "it reads");
    return sent;
}

static void test_it_tells_when_bytes_came(void) {
    int ends[2];
    arrival a = {.wanted = true, .at = -1};
    connect_two(ends);
    nanoseconds sent = 0;
    /* the kernel begins to record arrival times some time after it was requested */
    for (int tries = 0; TOLD && tries < 10 && a.at < 0; tries++) sent = send_and_receive(ends, &a);
    if (TOLD) CHECK(a.at > sent - NEARLY && a.at < sent + NEARLY, "not when they were read");
    a.wanted = false;
    send_and_receive(ends, &a);
    CHECK(a.at == -1, "nor is it told of a read that did not want it");
    send_and_receive(ends, NULL);
    close(ends[0]);
    close(ends[1]);
}

static void test_it_tells_nothing_of_other_sockets(void) {
    int ends[2];
    arrival a = {.wanted = true, .at = 7};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) give_up("socketpair");
    arrival_watch(ends[0]);
    send_and_receive(ends, &a);
    CHECK(a.at == -1, "what the kernel does not tell is not known");
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    RUN(test_it_tells_when_bytes_came());
    RUN(test_it_tells_nothing_of_other_sockets());
    return check_report();
}
