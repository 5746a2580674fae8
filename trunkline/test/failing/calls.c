#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Preloaded before Ruby: makes the n-th call of one function fail if the extension makes it; calls
 * of other code, identified by the return address, do not fail. Calls are counted in all threads.
 * Ruby arms and disarms it through Fiddle: see calls.rb.
 */

static uintptr_t from, to; /* the address range of the extension's code */
static char wanted[32];
static int failure;   /* an errno */
static long left = 0; /* counts down; at 0 and below no call fails */
static int hit = 0;

/*
 * Makes the `nth` call of `name` from code between `begin` and `end` fail with the errno `number`.
 * "malloc" includes all functions that allocate.
 */
void failing_arm(void *begin, void *end, const char *name, long nth, int number);
void failing_arm(void *begin, void *end, const char *name, long nth, int number) {
    from = (uintptr_t)begin;
    to = (uintptr_t)end;
    strncpy(wanted, name, sizeof(wanted) - 1);
    failure = number;
    hit = 0;
    __atomic_store_n(&left, nth, __ATOMIC_RELEASE);
}

/* Returns 1 when the n-th call was made and has failed. */
int failing_disarm(void);
int failing_disarm(void) {
    __atomic_store_n(&left, 0, __ATOMIC_RELEASE);
    return __atomic_load_n(&hit, __ATOMIC_ACQUIRE);
}

static bool fails(const char *name, void *caller) {
    if (__atomic_load_n(&left, __ATOMIC_ACQUIRE) <= 0) return false;
    if ((uintptr_t)caller < from || (uintptr_t)caller >= to || strcmp(name, wanted) != 0)
        return false;
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_ACQ_REL) != 0) return false;
    __atomic_store_n(&hit, 1, __ATOMIC_RELEASE);
    errno = failure;
    return true;
}

/* ---- the descriptors that epoll watches ---- */

#define WATCHED 1024 /* descriptors */

static struct {
    int epoll; /* plus 1; 0: the descriptor is not watched */
    struct epoll_event event;
} watching[WATCHED];

static void note_watch(int epoll, int what, int on, const struct epoll_event *event) {
    if (on < 0 || on >= WATCHED || what == EPOLL_CTL_DEL) return;
    watching[on].epoll = epoll + 1;
    watching[on].event = *event;
}

/*
 * After a real EAGAIN, the kernel reports the descriptor to epoll as soon as it is ready. This
 * descriptor is ready all the time, so edge-triggered epoll would never report it without this
 * EPOLL_CTL_MOD.
 */
static void tell_again(int fd) {
    if (failure != EAGAIN || fd < 0 || fd >= WATCHED || watching[fd].epoll == 0) return;
    static int (*next)(int, int, int, struct epoll_event *);
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "epoll_ctl");
    struct epoll_event event = watching[fd].event;
    next(watching[fd].epoll - 1, EPOLL_CTL_MOD, fd, &event);
    errno = failure;
}

/* ---- memory: functions by glibc's internal names, since dlsym allocates ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    return fails("malloc", CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails("malloc", CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return fails("malloc", CALLER) ? NULL : __libc_realloc(memory, size);
}

char *strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = fails("malloc", CALLER) ? NULL : __libc_malloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* ---- functions that return -1 and set errno ---- */

#define FAILING(type, name, parameters, arguments)                   \
    type name parameters {                                           \
        static type(*next) parameters;                               \
        if (fails(#name, CALLER)) return -1;                         \
        if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name); \
        return next arguments;                                       \
    }

#define TRANSFERRING(name, parameters, arguments)                    \
    ssize_t name parameters {                                        \
        static ssize_t(*next) parameters;                            \
        if (fails(#name, CALLER)) {                                  \
            tell_again(fd);                                          \
            return -1;                                               \
        }                                                            \
        if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name); \
        return next arguments;                                       \
    }

FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILING(int, bind, (int fd, const struct sockaddr *to_, socklen_t size), (fd, to_, size))
TRANSFERRING(send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
TRANSFERRING(recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
TRANSFERRING(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
TRANSFERRING(read, (int fd, void *bytes, size_t size), (fd, bytes, size))
TRANSFERRING(write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
TRANSFERRING(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
FAILING(int, epoll_create1, (int flags), (flags))
FAILING(int, epoll_wait, (int fd, struct epoll_event *events, int most, int wait),
        (fd, events, most, wait))
FAILING(int, eventfd, (unsigned int count, int flags), (count, flags))
FAILING(int, getsockopt, (int fd, int level, int name_, void *value, socklen_t *size),
        (fd, level, name_, value, size))
FAILING(int, setsockopt, (int fd, int level, int name_, const void *value, socklen_t size),
        (fd, level, name_, value, size))
FAILING(int, poll, (struct pollfd * fds, nfds_t count, int wait), (fds, count, wait))
FAILING(int, ppoll,
        (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask),
        (fds, count, wait, mask))

int epoll_ctl(int epoll, int what, int on, struct epoll_event *event) {
    static int (*next)(int, int, int, struct epoll_event *);
    if (fails("epoll_ctl", CALLER)) return -1;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "epoll_ctl");
    int result = next(epoll, what, on, event);
    if (result == 0) note_watch(epoll, what, on, event);
    return result;
}

/* A connect that is interrupted by a signal continues in the background. */
int connect(int fd, const struct sockaddr *peer, socklen_t size) {
    static int (*next)(int, const struct sockaddr *, socklen_t);
    bool failed = fails("connect", CALLER);
    if (failed && failure != EINTR) return -1;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "connect");
    int result = next(fd, peer, size);
    if (failed && result < 0 && errno == EINPROGRESS) errno = EINTR;
    return result;
}

/* ---- functions that return their error ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails("pthread_create", CALLER)) return failure;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, body, argument);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (fails("getaddrinfo", CALLER)) return EAI_SYSTEM;
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    return next(host, service, hints, found);
}
