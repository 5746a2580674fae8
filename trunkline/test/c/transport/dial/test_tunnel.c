#define _GNU_SOURCE
#include "transport/dial/tunnel.h"
#include "sockets.h"

/* The bytes that are sent to proxies, over a socket pair: the test acts as the proxy. */

static call_options options;
static int theirs;

static proxy make_proxy(proxy_kind kind) {
    return (proxy){.kind = kind, .tunnel = true, .host = "127.0.0.1", .port = 1, .label = "p:1"};
}

static route make_route(const proxy *p) {
    return (route){.host = "api.test", .port = 443, .label = "api.test:443", .proxy = p};
}

static int open_pair(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) give_up("socketpair");
    set_nonblocking(ends[0]);
    theirs = ends[1];
    return ends[0];
}

static void say(const void *bytes, size_t length) {
    if (write(theirs, bytes, length) != (ssize_t)length) give_up("write");
}

static bool received(const void *bytes, size_t length) {
    uint8_t got[600];
    ssize_t count = recv(theirs, got, sizeof(got), MSG_DONTWAIT);
    return count == (ssize_t)length && memcmp(got, bytes, length) == 0;
}

#define SAY(text) say(text, sizeof(text) - 1)
#define RECEIVED(text) received(text, sizeof(text) - 1)

typedef struct {
    int ours;
    tunnel *t;
    failure why;
} talk;

static talk begin(const route *r, const endpoint *target) {
    talk k = {.ours = open_pair()};
    k.t = tunnel_new(r, &options, (socket_io){k.ours, NULL, false, NULL}, target, &k.why);
    return k;
}

static void end(talk *k) {
    tunnel_free(k->t);
    close(k->ours);
    close(theirs);
}

static void test_connect(void) {
    proxy p = make_proxy(PROXY_HTTP);
    route r = make_route(&p);
    p.authorization = "Basic cm9iaW4=";
    talk k = begin(&r, NULL);
    CHECK(tunnel_step(k.t, &k.why) == IO_READ, "it waits for the answer");
    CHECK(RECEIVED("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n"
                   "Proxy-Authorization: Basic cm9iaW4=\r\n\r\n"),
          "the request");
    SAY("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Le");
    CHECK(tunnel_step(k.t, &k.why) == IO_READ, "half a head is none");
    SAY("ngth: 5\r\n\r\n");
    CHECK(tunnel_step(k.t, &k.why) == IO_DONE, "open; a length means nothing");
    CHECK(tunnel_refusal(k.t) == NULL, "nothing was refused");
    end(&k);
}

static void test_connect_to_ipv6(void) {
    proxy p = make_proxy(PROXY_HTTP);
    route r = make_route(&p);
    r.host = "::1";
    talk k = begin(&r, NULL);
    tunnel_step(k.t, &k.why);
    CHECK(RECEIVED("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"), "brackets");
    end(&k);
}

static void test_bytes_after_connect(void) {
    proxy p = make_proxy(PROXY_HTTP);
    route r = make_route(&p);
    talk k = begin(&r, NULL);
    SAY("HTTP/1.1 200 OK\r\n\r\nx");
    CHECK(tunnel_step(k.t, &k.why) == IO_FAILED, "they are not the server's");
    CHECK(k.why.code == FAILURE_PROXY, "the proxy's fault");
    end(&k);
}

static void test_refusal(void) {
    proxy p = make_proxy(PROXY_HTTP);
    route r = make_route(&p);
    talk k = begin(&r, NULL);
    SAY("HTTP/1.1 407 Who\r\nContent-Length: 6\r\n\r\nsecret");
    CHECK(tunnel_step(k.t, &k.why) == IO_FAILED, "refused");
    CHECK(k.why.code == FAILURE_PROXY_REFUSED, "by its own code");
    CHECK(strcmp(k.why.detail, "proxy p:1: 407 Who") == 0, "in words");
    refusal *refused = tunnel_refusal(k.t);
    CHECK(refused != NULL && refused->response.status == 407, "the status");
    CHECK(refused != NULL && buffer_length(&refused->body) == 6, "the body");
    CHECK(tunnel_refusal(k.t) == NULL, "it is ours now");
    refusal_free(refused);
    end(&k);
}

static void test_refusal_that_stalls(void) {
    proxy p = make_proxy(PROXY_HTTP);
    route r = make_route(&p);
    talk k = begin(&r, NULL);
    SAY("HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\nsec");
    CHECK(tunnel_step(k.t, &k.why) == IO_READ, "half of it");
    tunnel_timed_out(k.t, "within 1 s", &k.why);
    CHECK(k.why.code == FAILURE_PROXY_REFUSED, "half a refusal is one");
    end(&k);

    k = begin(&r, NULL);
    CHECK(tunnel_step(k.t, &k.why) == IO_READ, "nothing");
    tunnel_timed_out(k.t, "within 1 s", &k.why);
    CHECK(k.why.code == FAILURE_CONNECT_TIMEOUT, "silence is a timeout");
    end(&k);
}

/* Sends the proxy's response byte by byte. */
static io_result drip(talk *k, const uint8_t *bytes, size_t length) {
    io_result result = IO_READ;
    for (size_t i = 0; i < length && result == IO_READ; i++) {
        say(bytes + i, 1);
        result = tunnel_step(k->t, &k->why);
    }
    return result;
}

#define DRIP(k, text) drip(k, (const uint8_t *)(text), sizeof(text) - 1)

static void test_socks_with_a_name(void) {
    proxy p = make_proxy(PROXY_SOCKS5H);
    route r = make_route(&p);
    talk k = begin(&r, NULL);
    tunnel_step(k.t, &k.why);
    CHECK(RECEIVED("\x05\x01\x00"), "no credentials, none offered");
    CHECK(DRIP(&k, "\x05\x00") == IO_READ, "on to the request");
    CHECK(RECEIVED("\x05\x01\x00\x03\x08"
                   "api.test\x01\xbb"),
          "the name goes as it is");
    CHECK(DRIP(&k, "\x05\x00\x00\x03\x03"
                   "abc\x00\x50") == IO_DONE,
          "open");
    SAY("server");
    CHECK(wait_for_events(k.ours, POLLIN, 1000), "what follows lies there untouched");
    end(&k);
}

static void test_socks_with_an_address_and_a_password(void) {
    proxy p = make_proxy(PROXY_SOCKS5);
    route r = make_route(&p);
    endpoint target = {.length = sizeof(struct sockaddr_in)};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&target.address;
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(0x7F000001);
    p.user = "robin";
    p.password = "pw";
    talk k = begin(&r, &target);
    tunnel_step(k.t, &k.why);
    CHECK(RECEIVED("\x05\x02\x00\x02"), "both ways are offered");
    DRIP(&k, "\x05\x02");
    CHECK(RECEIVED("\x01\x05robin\x02pw"), "the password");
    DRIP(&k, "\x01\x00");
    CHECK(RECEIVED("\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb"), "the address");
    CHECK(DRIP(&k, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00") == IO_DONE, "open");
    end(&k);
}

static void test_socks_lengths(void) {
    char long_text[300];
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    proxy p = make_proxy(PROXY_SOCKS5H);
    route r = make_route(&p);
    r.host = long_text;
    talk k = begin(&r, NULL);
    CHECK(k.t == NULL && k.why.code == FAILURE_PROXY, "a name of 299 bytes");
    CHECK(recv(theirs, long_text, 1, MSG_DONTWAIT) < 0, "nothing was sent");
    end(&k);

    r.host = "api.test";
    p.user = "robin";
    p.password = "";
    k = begin(&r, NULL);
    CHECK(k.t == NULL && k.why.code == FAILURE_PROXY, "an empty password");
    end(&k);
}

static void test_socks_refusals(void) {
    proxy p = make_proxy(PROXY_SOCKS5H);
    route r = make_route(&p);
    talk k = begin(&r, NULL);
    DRIP(&k, "\x05\x00");
    CHECK(DRIP(&k, "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00") == IO_FAILED, "refused");
    CHECK(strstr(k.why.detail, "connection refused") != NULL, "in words");
    end(&k);

    k = begin(&r, NULL);
    tunnel_step(k.t, &k.why);
    close(theirs);
    theirs = open("/dev/null", O_RDONLY);
    CHECK(tunnel_step(k.t, &k.why) == IO_FAILED && k.why.code == FAILURE_PROXY, "it left");
    end(&k);
}

int main(void) {
    options = (call_options){.total = NEVER, .limits = http1_default_limits};
    RUN(test_connect());
    RUN(test_connect_to_ipv6());
    RUN(test_bytes_after_connect());
    RUN(test_refusal());
    RUN(test_refusal_that_stalls());
    RUN(test_socks_with_a_name());
    RUN(test_socks_with_an_address_and_a_password());
    RUN(test_socks_lengths());
    RUN(test_socks_refusals());
    return check_report();
}
