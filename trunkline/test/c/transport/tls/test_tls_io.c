#include "transport/tls/tls_internal.h"
#include "tls_peer.h"

/* Data of a TLS connection: reading, writing, and the counts of bytes; proper and improper ends;
 * and the check of an idle connection. */

static identity authority, good;
static tls_context *context;

static void set_up(void) {
    char path[256];
    failure f;
    make_folder();
    authority = make_authority("Test CA");
    good = make_named("localhost", "DNS:localhost", &authority);
    write_pem("ca.pem", &authority, true, false);
    tls_options options = {.verify = true,
                           .min_version = TLS1_2_VERSION,
                           .ca_file = in_folder("ca.pem", path, sizeof(path)),
                           .alpn = "http/1.1"};
    context = tls_context_obtain(&options, &f);
    CHECK(context != NULL, "a context is made: %s", f.detail);
}

static void tear_down(void) {
    tls_context_release(context);
    free_identity(&authority);
    free_identity(&good);
    remove_folder((const char *const[]){"ca.pem", NULL});
}

static tls_client connect_to(const tls_peer *p) {
    tls_client c = client_connect(context, p->port, "localhost", "io");
    CHECK(c.result == IO_DONE, "the handshake is done: %s", c.why.detail);
    return c;
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* ---- reading and writing ---- */

static void test_what_was_agreed_on_is_told(void) {
    for (int i = 0; i < 2; i++) {
        tls_peer p = {.shows = &good, .version = versions[i], .serve = serve_echo};
        peer_start(&p);
        tls_client c = connect_to(&p);
        CHECK(strcmp(tls_version(c.session), i == 0 ? "TLSv1.2" : "TLSv1.3") == 0,
              "the version: %s", tls_version(c.session));
        CHECK(strlen(tls_cipher(c.session)) > 8, "the cipher: %s", tls_cipher(c.session));
        CHECK(tls_protocol(c.session) != NULL && strcmp(tls_protocol(c.session), "http/1.1") == 0,
              "the protocol");
        client_close(&c, true);
        peer_stop(&p);
    }
}

static void test_bytes_go_both_ways(void) {
    static char sent[300000], got[300000];
    for (size_t i = 0; i < sizeof(sent); i++) sent[i] = (char)(i * 7 + i / 1000);
    tls_peer p = {.shows = &good, .serve = serve_echo};
    peer_start(&p);
    tls_client c = connect_to(&p);
    for (size_t at = 0; at < sizeof(sent); at += 100000) {
        CHECK(client_write(&c, sent + at, 100000) == IO_DONE, "they are written");
        CHECK(client_read(&c, got + at, 100000) == IO_DONE, "they come back");
    }
    CHECK(memcmp(sent, got, sizeof(sent)) == 0, "they are the same");
    CHECK(tls_sent(c.session) == sizeof(sent), "they are counted: %llu",
          (unsigned long long)tls_sent(c.session));
    client_close(&c, true);
    peer_stop(&p);
}

static void serve_nothing(tls_peer *p, SSL *ssl, int descriptor) {
    (void)ssl, (void)descriptor;
    while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) sleep_milliseconds(5);
}

/* The data is sent into a socket whose buffers fill up. */
static void test_what_was_sent_in_part_is_counted(void) {
    static char bytes[1 << 20];
    tls_peer p = {.shows = &good, .serve = serve_nothing};
    peer_start(&p);
    tls_client c = connect_to(&p);
    CHECK(tls_sent(c.session) == 0, "the handshake is no data");
    uint64_t taken = 0;
    size_t count;
    io_result result;
    do {
        result = tls_write(c.session, bytes, sizeof(bytes), &count, &c.why);
        taken += count;
    } while (result == IO_DONE);
    CHECK(result == IO_WRITE, "the buffers are full");
    uint64_t counted = tls_sent(c.session);
    CHECK(counted >= taken && counted <= taken + 16384, "%llu taken, %llu counted",
          (unsigned long long)taken, (unsigned long long)counted);
    __atomic_store_n(&p.stop, true, __ATOMIC_RELEASE);
    client_close(&c, true);
    peer_stop(&p);
}

/* ---- ends ---- */

static void serve_close_notify(tls_peer *p, SSL *ssl, int descriptor) {
    (void)p;
    SSL_write(ssl, "bye", 3);
    SSL_shutdown(ssl);
    shutdown(descriptor, SHUT_WR);
    serve_until_closed(descriptor);
}

static void serve_bare_end(tls_peer *p, SSL *ssl, int descriptor) {
    (void)p;
    SSL_write(ssl, "bye", 3);
    shutdown(descriptor, SHUT_WR);
    serve_until_closed(descriptor);
}

static void reset(int descriptor) {
    struct linger at_once = {1, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void serve_reset(tls_peer *p, SSL *ssl, int descriptor) {
    char byte;
    (void)p;
    SSL_read(ssl, &byte, 1);
    reset(descriptor);
}

static void check_end(void (*serve)(tls_peer *, SSL *, int), io_result expected, const char *what) {
    for (int i = 0; i < 2; i++) {
        char bytes[8];
        tls_peer p = {.shows = &good, .version = versions[i], .serve = serve};
        peer_start(&p);
        tls_client c = connect_to(&p);
        CHECK(client_read(&c, bytes, 3) == IO_DONE, "%s: the data before it", what);
        CHECK(client_read(&c, bytes, 1) == expected, "%s", what);
        client_close(&c, false);
        peer_stop(&p);
    }
}

static void test_a_clean_end_is_told_from_a_cut(void) {
    check_end(serve_close_notify, IO_END, "close_notify is an end");
    check_end(serve_bare_end, IO_TRUNCATED, "FIN alone is a cut");
}

/* SIGPIPE has its default action here: it would end this program. */
static void test_a_reset_is_an_error_and_no_signal(void) {
    char bytes[8];
    tls_peer p = {.shows = &good, .serve = serve_reset};
    peer_start(&p);
    tls_client c = connect_to(&p);
    client_write(&c, "x", 1);
    CHECK(client_read(&c, bytes, 1) == IO_FAILED && c.why.code == FAILURE_RESET, "it is told: %s",
          failure_words(c.why.code));
    CHECK(c.why.system_error == ECONNRESET && c.why.phase == PHASE_READ, "with errno and phase");
    io_result result = IO_DONE;
    for (int i = 0; i < 3 && result == IO_DONE; i++) result = client_write(&c, "y", 1);
    CHECK(result == IO_FAILED && c.why.phase == PHASE_WRITE, "writing fails as well");
    client_close(&c, true);
    peer_stop(&p);
}

static void raw_garbage(tls_peer *p, int descriptor) {
    char bytes[600];
    (void)p;
    recv(descriptor, bytes, sizeof(bytes), 0);
    send(descriptor, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
}

static void raw_close(tls_peer *p, int descriptor) {
    char bytes[2000];
    (void)p;
    recv(descriptor, bytes, sizeof(bytes), 0);
}

static void check_handshake_fails(tls_peer *p, tls_context *with, const char *words) {
    peer_start(p);
    tls_client c = client_connect(with, p->port, "localhost", "io");
    CHECK(c.result == IO_FAILED && c.why.code == FAILURE_TLS, "the handshake fails");
    CHECK(strstr(c.why.detail, words) != NULL, "\"%s\" is missing in: %s", words, c.why.detail);
    client_close(&c, true);
    peer_stop(p);
}

static void test_a_handshake_that_fails_says_why(void) {
    failure f;
    tls_options options = {.min_version = TLS1_3_VERSION};
    tls_context *modern = tls_context_obtain(&options, &f);
    check_handshake_fails(&(tls_peer){.shows = &good, .raw = raw_garbage}, context, "not TLS");
    check_handshake_fails(&(tls_peer){.shows = &good, .raw = raw_close}, context,
                          "closed the connection during the handshake");
    check_handshake_fails(&(tls_peer){.shows = &good, .version = TLS1_2_VERSION}, modern,
                          "protocol version");
    tls_context_release(modern);
}

/* ---- the check of an idle connection ---- */

static int to_server[2], to_client[2]; /* pipes: a byte tells the other side to continue */

static void wait_on(const int *ends) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) give_up("read");
}

static void tell(const int *ends) {
    if (write(ends[1], "x", 1) != 1) give_up("write");
}

/* Sends one byte back, and calls `then` when the client is idle. */
static void (*then)(SSL *ssl, int descriptor);

static void serve_then(tls_peer *p, SSL *ssl, int descriptor) {
    char byte;
    (void)p;
    if (SSL_read(ssl, &byte, 1) != 1 || SSL_write(ssl, &byte, 1) != 1) return;
    wait_on(to_server);
    then(ssl, descriptor);
    tell(to_client);
    wait_on(to_server);
}

static void send_ticket(SSL *ssl, int descriptor) {
    (void)descriptor;
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    SSL_new_session_ticket(ssl);
    SSL_do_handshake(ssl);
#else
    SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    SSL_do_handshake(ssl);
#endif
}

static void send_key_update(SSL *ssl, int descriptor) {
    (void)descriptor;
    SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ssl);
}

static void send_data(SSL *ssl, int descriptor) {
    (void)descriptor;
    SSL_write(ssl, "HTTP/1.1 200 OK\r\n\r\n", 19);
}

static void send_ticket_and_data(SSL *ssl, int descriptor) {
    send_ticket(ssl, descriptor);
    send_data(ssl, descriptor);
}

static void send_close_notify(SSL *ssl, int descriptor) {
    (void)descriptor;
    SSL_shutdown(ssl);
}

static void send_end(SSL *ssl, int descriptor) {
    (void)ssl;
    shutdown(descriptor, SHUT_WR);
}

static void send_reset(SSL *ssl, int descriptor) {
    (void)ssl;
    reset(descriptor);
    close(dup(descriptor));
    shutdown(descriptor, SHUT_RDWR);
}

static void send_half_a_record(SSL *ssl, int descriptor) {
    static const unsigned char half[] = {0x17, 3, 3, 0, 50, 1, 2, 3};
    (void)ssl;
    send(descriptor, half, sizeof(half), MSG_NOSIGNAL);
}

static void send_a_part_of_a_header(SSL *ssl, int descriptor) {
    (void)ssl;
    send(descriptor, "\x17\x03", 2, MSG_NOSIGNAL);
}

static void send_garbage(SSL *ssl, int descriptor) {
    (void)ssl;
    send(descriptor, "garbage garbage", 15, MSG_NOSIGNAL);
}

static bool echoes(tls_client *c) {
    char byte = 0;
    return client_write(c, "a", 1) == IO_DONE && client_read(c, &byte, 1) == IO_DONE && byte == 'a';
}

static bool look_after(int version, void (*what)(SSL *, int)) {
    then = what;
    tls_peer p = {.shows = &good, .version = version, .serve = serve_then};
    peer_start(&p);
    tls_client c = connect_to(&p);
    CHECK(echoes(&c), "it works at first");
    CHECK(tls_check_alive(c.session), "an idle connection with its first tickets is good");
    CHECK(tls_check_alive(c.session), "looking again changes nothing");
    tell(to_server);
    wait_on(to_client);
    wait_for_events(c.descriptor, POLLIN, SOON_MILLISECONDS);
    bool good_still = tls_check_alive(c.session);
    tell(to_server);
    client_close(&c, false);
    peer_stop(&p);
    return good_still;
}

static void test_what_a_look_finds(void) {
    if (pipe(to_server) != 0 || pipe(to_client) != 0) give_up("pipe");
    CHECK(look_after(TLS1_3_VERSION, send_ticket), "a ticket is no data");
    CHECK(look_after(TLS1_3_VERSION, send_key_update), "a key update is no data");
    CHECK(!look_after(TLS1_3_VERSION, send_ticket_and_data), "data behind a ticket is found");
    for (int i = 0; i < 2; i++) {
        CHECK(!look_after(versions[i], send_data), "an answer that nobody asked for is found");
        CHECK(!look_after(versions[i], send_close_notify), "close_notify is found");
        CHECK(!look_after(versions[i], send_end), "the end is found");
        CHECK(!look_after(versions[i], send_reset), "a reset is found");
        CHECK(!look_after(versions[i], send_half_a_record), "half a record is found");
        CHECK(!look_after(versions[i], send_a_part_of_a_header), "a part of a header is found");
        CHECK(!look_after(versions[i], send_garbage), "garbage is found");
    }
    for (int i = 0; i < 2; i++) {
        close(to_server[i]);
        close(to_client[i]);
    }
}

int main(void) {
    set_up();
    RUN(test_what_was_agreed_on_is_told());
    RUN(test_bytes_go_both_ways());
    RUN(test_what_was_sent_in_part_is_counted());
    RUN(test_a_clean_end_is_told_from_a_cut());
    RUN(test_a_reset_is_an_error_and_no_signal());
    RUN(test_a_handshake_that_fails_says_why());
    RUN(test_what_a_look_finds());
    tear_down();
    return check_report();
}
