#include "transport/tls/tls_internal.h"
#include "tls_peer.h"

/* Requests of a server long after the handshake: for the client's certificate, and for
 * renegotiation. */

static identity authority, good, wrong, client;
static char ca_file[256], client_file[256];

static void set_up(void) {
    make_folder();
    authority = make_authority("Test CA");
    good = make_named("localhost", "DNS:localhost", &authority);
    wrong = make_named("wrong", "DNS:wrong.test", &authority);
    client = make_named("client", "DNS:client", &authority);
    write_pem("ca.pem", &authority, true, false);
    write_pem("client.pem", &client, true, true);
    in_folder("ca.pem", ca_file, sizeof(ca_file));
    in_folder("client.pem", client_file, sizeof(client_file));
}

static void tear_down(void) {
    free_identity(&authority);
    free_identity(&good);
    free_identity(&wrong);
    free_identity(&client);
    remove_folder((const char *const[]){"ca.pem", "client.pem", NULL});
}

/* ---- the server ---- */

typedef enum { ASK, BEGIN_ANEW, SHOW_ANOTHER } demand;

static demand wanted;
static int demands;

static void renegotiate(SSL *ssl) {
    char nothing;
    SSL_renegotiate(ssl);
    SSL_do_handshake(ssl);
    SSL_peek(ssl, &nothing, 0); /* processes the client's part of the handshake */
}

static void ask(SSL *ssl) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    if (SSL_version(ssl) < TLS1_3_VERSION) {
        renegotiate(ssl);
    } else {
        char nothing;
        SSL_verify_client_post_handshake(ssl);
        SSL_do_handshake(ssl);
        SSL_peek(ssl, &nothing, 0);
    }
}

static void show_another(SSL *ssl) {
    SSL_use_certificate(ssl, wrong.certificate);
    SSL_use_PrivateKey(ssl, wrong.key);
    renegotiate(ssl);
}

static bool knows_client(SSL *ssl) {
    X509 *shown = SSL_get1_peer_certificate(ssl);
    bool known = shown != NULL && X509_cmp(shown, client.certificate) == 0;
    X509_free(shown);
    return known;
}

/* Reads a byte, makes `demands` requests of the kind `wanted`, and responds 'k' if the client has
 * sent its certificate, else 'u'. */
static void serve_late(tls_peer *p, SSL *ssl, int descriptor) {
    char byte;
    (void)p, (void)descriptor;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)), authority.certificate);
    SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY); /* SSL_peek must return when the handshake ends */
    SSL_set_options(ssl, SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION);
    if (SSL_read(ssl, &byte, 1) != 1) return;
    for (int i = 0; i < demands; i++)
        if (wanted == ASK)
            ask(ssl);
        else if (wanted == BEGIN_ANEW)
            renegotiate(ssl);
        else
            show_another(ssl);
    SSL_write(ssl, knows_client(ssl) ? "k" : "u", 1);
    SSL_shutdown(ssl);
}

/* ---- the client ---- */

/* Returns the response; 0 when the connection fails, with the reason in *why. */
static char answer_to(tls_options options, int version, const char *protocol, failure *why) {
    options.verify = true;
    options.min_version = TLS1_2_VERSION;
    options.ca_file = ca_file;
    options.alpn = "h2,http/1.1";
    tls_context *context = tls_context_obtain(&options, why);
    CHECK(context != NULL, "a context is made");
    tls_peer p = {.shows = &good, .version = version, .protocol = protocol, .serve = serve_late};
    peer_start(&p);
    tls_client c = client_connect(context, p.port, "localhost", "late");
    CHECK(c.result == IO_DONE, "the handshake is done: %s", c.why.detail);
    char byte = 0;
    client_write(&c, "x", 1);
    client_read(&c, &byte, 1);
    *why = c.why;
    client_close(&c, false);
    peer_stop(&p);
    tls_context_release(context);
    return byte;
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void test_a_certificate_is_shown_late(void) {
    failure why;
    wanted = ASK;
    demands = 1;
    for (int i = 0; i < 2; i++) {
        tls_options known = {.client_cert = client_file};
        CHECK(answer_to(known, versions[i], NULL, &why) == 'k', "it is: %s", why.detail);
        CHECK(answer_to((tls_options){0}, versions[i], NULL, &why) == 'u', "none: %s", why.detail);
    }
}

static void test_over_http2_none_is_shown(void) {
    failure why;
    wanted = ASK;
    demands = 1;
    tls_options known = {.client_cert = client_file};
    CHECK(answer_to(known, TLS1_2_VERSION, "\x02h2", &why) != 'k', "not by TLS 1.2");
    CHECK(answer_to(known, TLS1_3_VERSION, "\x02h2", &why) == 0, "nor by TLS 1.3");
}

static void test_renegotiations_have_an_end(void) {
    failure why;
    wanted = BEGIN_ANEW;
    demands = TLS_RENEGOTIATIONS;
    CHECK(answer_to((tls_options){0}, TLS1_2_VERSION, NULL, &why) == 'u', "some are taken part in");
    demands++;
    CHECK(answer_to((tls_options){0}, TLS1_2_VERSION, NULL, &why) == 0, "one more is not");
}

static void test_another_certificate_is_verified(void) {
    failure why;
    wanted = SHOW_ANOTHER;
    demands = 1;
    for (int i = 0; i < 2; i++) {
        tls_options options = {.common_name = i == 1};
        CHECK(answer_to(options, TLS1_2_VERSION, NULL, &why) == 0, "it is for another name");
        CHECK(why.code == FAILURE_TLS_IO, "the connection broke");
        CHECK(strstr(why.detail, "wrong.test") != NULL, "the name is told: %s", why.detail);
    }
}

int main(void) {
    set_up();
    RUN(test_a_certificate_is_shown_late());
    RUN(test_over_http2_none_is_shown());
    RUN(test_renegotiations_have_an_end());
    RUN(test_another_certificate_is_verified());
    tear_down();
    return check_report();
}
