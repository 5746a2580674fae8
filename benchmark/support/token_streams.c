/* The least work with which a program can read concurrent model streams: non-blocking connections
 * and epoll. Prints JSON: the seconds from before the first connection was opened until the first
 * token of each stream, sorted; the number of all tokens; by how many bytes the process grew.
 *   token_streams PORT STREAMS */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 1024
#define BODY \
    "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

typedef struct {
    int socket;
    bool asked, begun;
    char rest[8192]; /* received bytes that end no event yet */
    size_t length;
} stream;

static stream streams[MOST];
static double firsts[MOST];
static int count, first_tokens, tokens;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void open_stream(int epoll, int port, stream *s) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->socket < 0) fail("socket");
    int connected = connect(s->socket, (struct sockaddr *)&address, sizeof(address));
    if (connected != 0 && errno != EINPROGRESS) fail("connect");
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = s};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->socket, &event) != 0) fail("epoll_ctl");
}

static void ask(int epoll, stream *s) {
    char request[1024];
    int length = snprintf(request, sizeof(request),
                          "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          strlen(BODY), BODY);
    if (write(s->socket, request, (size_t)length) != length) fail("write");
    s->asked = true;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, s->socket, &event) != 0) fail("epoll_ctl");
}

static void take_events(stream *s, double started) {
    char *at = s->rest, *end = s->rest + s->length, *stop;
    while ((stop = memmem(at, (size_t)(end - at), "\n\n", 2)) != NULL) {
        if (!s->begun) firsts[first_tokens++] = now() - started;
        s->begun = true;
        tokens++;
        at = stop + 2;
    }
    s->length = (size_t)(end - at);
    memmove(s->rest, at, s->length);
}

/* Returns false when the stream has ended. */
static bool read_stream(stream *s, double started) {
    ssize_t got = read(s->socket, s->rest + s->length, sizeof(s->rest) - s->length);
    if (got < 0 && errno == EAGAIN) return true;
    if (got < 0) fail("read");
    if (got == 0) return close(s->socket), false;
    s->length += (size_t)got;
    take_events(s, started);
    return true;
}

static int in_order(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static void print(long grown) {
    qsort(firsts, (size_t)first_tokens, sizeof(firsts[0]), in_order);
    printf("{\"firsts\":[");
    for (int i = 0; i < first_tokens; i++) printf("%s%.9f", i > 0 ? "," : "", firsts[i]);
    printf("],\"tokens\":%d,\"grown\":%ld}\n", tokens, grown);
}

int main(int argc, char **argv) {
    if (argc != 3 || (count = atoi(argv[2])) < 1 || count > MOST) return 2;
    int epoll = epoll_create1(EPOLL_CLOEXEC), left = count;
    long before = resident();
    double started = now();
    for (int i = 0; i < count; i++) open_stream(epoll, atoi(argv[1]), &streams[i]);
    while (left > 0) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, 30000);
        if (ready <= 0) fail("epoll_wait");
        for (int i = 0; i < ready; i++) {
            stream *s = events[i].data.ptr;
            if (!s->asked && (events[i].events & EPOLLOUT) != 0) ask(epoll, s);
            if ((events[i].events & (EPOLLIN | EPOLLHUP)) != 0 && !read_stream(s, started)) left--;
        }
    }
    print(resident() - before);
    return 0;
}
