#define _GNU_SOURCE
#include "failing_allocations.h"
#include "transport/exchange/exchange.h"
#include "tls_peer.h"

#include <netdb.h>

/*
 * Every allocation that transport/ makes during a call fails once: the n-th, for each n until a
 * whole call makes fewer. The call must report the failure, no descriptor may stay open, nothing
 * may leak (the address sanitizer checks that), and the next call must work.
 */

/* ---- the server, and the names ---- */

#define ANSWER                                                                  \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\nX-B: 2\r\n\r\n" \
    "5\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: yes\r\n\r\n"

static void serve_answers(tls_peer *p, SSL *ssl, int descriptor) {
    char bytes[4096];
    (void)p, (void)descriptor;
    while (SSL_read(ssl, bytes, sizeof(bytes)) > 0) SSL_write(ssl, ANSWER, sizeof(ANSWER) - 1);
}

static int look_up(const char *host, const char *service, const void *hints, void **result) {
    struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    (void)host, (void)service, (void)hints;
    return getaddrinfo("127.0.0.1", NULL, &numeric, (struct addrinfo **)result);
}

static void release(void *result) {
    freeaddrinfo(result);
}

static char ca_file[256];
static uint16_t port;

/* The CA file gets a new modification time each time, so that everything is created anew. */
static tls_context *make_context(failure *f) {
    static long time_of_change = 1000000000;
    struct timespec times[2] = {{.tv_sec = time_of_change}, {.tv_sec = time_of_change}};
    time_of_change++;
    utimensat(AT_FDCWD, ca_file, times, 0);
    tls_options options = {
        .verify = true, .ca_file = ca_file, .min_version = TLS1_2_VERSION, .alpn = "http/1.1"};
    return tls_context_obtain(&options, f);
}

/* ---- one call ---- */

/* Frees the exchange that the call before left for reuse: this call must allocate its own. */
static void forget_spare(void) {
    exchange *x = exchange_new();
    http1_free(&x->response);
    buffer_free(&x->input);
    buffer_free(&x->head_bytes);
    buffer_free(&x->body);
    free(x);
}

static failure_code call(pool *p, const route *r, const call_options *s, waker *w) {
    static const char head[] = "GET / HTTP/1.1\r\nHost: name.test\r\n\r\n";
    stop_request stop = {0};
    exchange_request out = {
        .to = r, .options = s, .head = head, .head_length = sizeof(head) - 1, .safe_method = true};
    exchange *x = exchange_new();
    if (x == NULL) return FAILURE_OUT_OF_MEMORY;
    exchange_begin(x, &out, p, w, NEVER);
    step_result step;
    do {
        step = exchange_step(x, clock_now());
        if (step == STEP_WAIT) step = exchange_drive(x, &stop);
    } while (step != STEP_DONE && step != STEP_FAILED);
    failure_code code = step == STEP_DONE ? FAILURE_NONE : x->why.code;
    exchange_free(x);
    return code;
}

static failure_code call_with(tls_context *context, pool *p, waker *w) {
    call_options s = {.total = 10 * SECOND,
                      .tls = context,
                      .limits = http1_default_limits,
                      .max_connections = 4,
                      .idle_timeout = 10 * SECOND,
                      .decode = true};
    route r = {.host = "name.test",
               .port = port,
               .tls_name = "localhost",
               .label = "name.test",
               .key = "torture",
               .key_length = 7,
               .key_hash = 7};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    resolve_clear();
    failure_code code = call(p, &r, &s, w);
    return code == FAILURE_NONE ? call(p, &r, &s, w) : code; /* the second call uses the same
                                                              * connection */
}

static failure_code whole_call(void) {
    failure f;
    tls_context *context = make_context(&f);
    if (context == NULL) return f.code;
    pool *p = pool_new(8);
    waker *w = waker_take();
    failure_code code = FAILURE_OUT_OF_MEMORY;
    if (p != NULL && w != NULL) code = call_with(context, p, w);
    if (p != NULL) pool_release(p);
    waker_drop(w);
    tls_context_release(context);
    return code;
}

static int open_descriptors(void) {
    int count = 0;
    for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

#define MOST_ALLOCATIONS 1000

static void torture(void) {
    long n = 0, reported = 0;
    int before = open_descriptors();
    do {
        forget_spare();
        __atomic_store_n(&failed, false, __ATOMIC_RELEASE);
        __atomic_store_n(&until_failure, ++n, __ATOMIC_RELEASE);
        failure_code was = whole_call();
        __atomic_store_n(&until_failure, 0, __ATOMIC_RELEASE);
        /* Failing to keep data for later (a session, a resolved name) is not reported. */
        CHECK(was == FAILURE_NONE || (failed && was == FAILURE_OUT_OF_MEMORY), "allocation %ld: %s",
              n, failure_words(was));
        reported += was == FAILURE_OUT_OF_MEMORY;
    } while (failed && n < MOST_ALLOCATIONS);
    CHECK(!failed && n > 10, "%ld allocations were made to fail", n - 1);
    CHECK(reported * 4 > n * 3, "%ld of %ld were told", reported, n - 1);
    CHECK(whole_call() == FAILURE_NONE, "after all that a call works");
    /* The server, a thread of this program, closes its end some time later. */
    for (int i = 0; i < 100 && open_descriptors() > before; i++) sleep_milliseconds(20);
    CHECK(open_descriptors() <= before, "no descriptor stays open: %d, not %d", open_descriptors(),
          before);
}

int main(void) {
    make_folder();
    identity authority = make_authority("Test CA");
    identity good = make_named("localhost", "DNS:localhost", &authority);
    write_pem("ca.pem", &authority, true, false);
    in_folder("ca.pem", ca_file, sizeof(ca_file));
    tls_peer p = {.shows = &good, .serve = serve_answers};
    peer_start(&p);
    port = p.port;
    resolve_set_lookup(look_up, release);
    CHECK(whole_call() == FAILURE_NONE, "a call works");
    RUN(torture());
    peer_stop(&p);
    free_identity(&authority);
    free_identity(&good);
    remove_folder((const char *const[]){"ca.pem", NULL});
    return check_report();
}
