#include "transport/fork.h"
#include "transport/tls/tls_internal.h"
#include "tls_peer.h"

/* Which certificates are accepted, how sessions are resumed, and what may arrive on an idle
 * connection. test_tls_io.c tests reading and writing. */

static identity authority, stranger, good;
static tls_context *verifying, *trusting;
static char ca_file[256];

static tls_context *context_with(tls_options options) {
    failure f;
    if (options.min_version == 0) options.min_version = TLS1_2_VERSION;
    options.alpn = "http/1.1";
    tls_context *c = tls_context_obtain(&options, &f);
    CHECK(c != NULL, "a context is made: %s", f.detail);
    return c;
}

static void set_up(void) {
    make_folder();
    authority = make_authority("Test CA");
    stranger = make_authority("Strange CA");
    good = make_named("localhost", "DNS:localhost,DNS:*.wild.test,IP:127.0.0.1,IP:::1", &authority);
    write_pem("ca.pem", &authority, true, false);
    write_pem("good.pem", &good, true, true);
    in_folder("ca.pem", ca_file, sizeof(ca_file));
    verifying = context_with((tls_options){.verify = true, .ca_file = ca_file});
    trusting = context_with((tls_options){.verify = false});
}

static void tear_down(void) {
    tls_context_release(verifying);
    tls_context_release(trusting);
    free_identity(&authority);
    free_identity(&stranger);
    free_identity(&good);
    remove_folder(
        (const char *const[]){"ca.pem", "good.pem", "key.pem", "keys.log", "rotated.pem", NULL});
}

/* ---- certificates ---- */

static void check_accepted(const identity *shown, const char *name) {
    tls_peer p = {.shows = shown};
    peer_start(&p);
    tls_client c = client_connect(verifying, p.port, name, name);
    CHECK(c.result == IO_DONE, "%s is accepted: %s", name, c.why.detail);
    client_close(&c, true);
    peer_stop(&p);
}

/* The detail names the certificate, the fault, and what was expected. */
static void check_refused(const identity *shown, const char *name, const char *const *parts) {
    tls_peer p = {.shows = shown};
    peer_start(&p);
    tls_client c = client_connect(verifying, p.port, name, name);
    CHECK(c.result == IO_FAILED, "%s is refused", name);
    CHECK(c.why.code == FAILURE_CERTIFICATE && c.why.phase == PHASE_TLS, "%s: for its certificate",
          name);
    for (; *parts != NULL; parts++) {
        CHECK(strstr(c.why.detail, *parts) != NULL, "\"%s\" is missing in: %s", *parts,
              c.why.detail);
    }
    client_close(&c, false);
    c = client_connect(trusting, p.port, name, name);
    CHECK(c.result == IO_DONE, "%s is accepted when nothing is verified: %s", name, c.why.detail);
    client_close(&c, false);
    peer_stop(&p);
}

#define REFUSED(shown, name, ...) \
    check_refused(shown, name, (const char *const[]){__VA_ARGS__, NULL})

static void test_names_are_verified(void) {
    check_accepted(&good, "localhost");
    check_accepted(&good, "localhost.");
    check_accepted(&good, "127.0.0.1");
    check_accepted(&good, "::1");
    check_accepted(&good, "::1%lo");
    check_accepted(&good, "a.wild.test");
    REFUSED(&good, "other.test", "CN=localhost", "depth 0", "localhost, *.wild.test",
            "not for other.test");
    REFUSED(&good, "10.0.0.1", "127.0.0.1", "not for the address 10.0.0.1");
    REFUSED(&good, "a.b.wild.test", "not for a.b.wild.test");
    identity partial = make_named("partial", "DNS:f*.wild.test", &authority);
    REFUSED(&partial, "foo.wild.test", "f*.wild.test", "not for foo.wild.test");
    free_identity(&partial);
    identity common = make_named("common.test", NULL, &authority);
    REFUSED(&common, "common.test", "CN=common.test", "no name at all");
    free_identity(&common);
}

static void test_chains_are_verified(void) {
    certificate_request late = {"late", "DNS:localhost", -3 * DAY, -2 * DAY, false};
    certificate_request early = {"early", "DNS:localhost", DAY, 2 * DAY, false};
    identity expired = make_identity(&late, &authority);
    identity future = make_identity(&early, &authority);
    identity alone = make_named("alone", "DNS:localhost", NULL);
    identity unknown = make_named("unknown", "DNS:localhost", &stranger);
    REFUSED(&expired, "localhost", "CN=late", "expired, on 20", "UTC");
    REFUSED(&future, "localhost", "CN=early", "not valid before 20");
    REFUSED(&alone, "localhost", "CN=alone", "self-signed", ca_file);
    REFUSED(&unknown, "localhost", "CN=unknown", "issuer CN=Strange CA is not in", ca_file);
    free_identity(&expired);
    free_identity(&future);
    free_identity(&alone);
    free_identity(&unknown);
}

static void test_there_must_be_a_name_to_verify(void) {
    failure f;
    static const char *const names[] = {"", ".", ".test"};
    for (int i = 0; i < 3; i++) {
        CHECK(tls_new(verifying, 0, names[i], "k", 1, &f) == NULL && f.code == FAILURE_TLS,
              "\"%s\" is not verified", names[i]);
    }
}

static void test_client_certificates(void) {
    char path[256];
    tls_peer p = {.shows = &good, .asks_for = &authority, .serve = serve_echo};
    in_folder("good.pem", path, sizeof(path));
    tls_context *with =
        context_with((tls_options){.verify = true, .ca_file = ca_file, .client_cert = path});
    char bytes[8];
    peer_start(&p);
    tls_client c = client_connect(with, p.port, "localhost", "k");
    client_write(&c, "hello", 5);
    CHECK(client_read(&c, bytes, 5) == IO_DONE, "it is let in with its certificate");
    client_close(&c, true);
    c = client_connect(verifying, p.port, "localhost", "k");
    io_result result = c.result == IO_DONE ? client_read(&c, bytes, 1) : c.result;
    CHECK(result == IO_FAILED && strstr(c.why.detail, "certificate required") != NULL,
          "without one it is told so: %s", c.why.detail);
    client_close(&c, true);
    peer_stop(&p);
    tls_context_release(with);
}

static io_result result_of(tls_context *c, const tls_peer *p) {
    tls_client client = client_connect(c, p->port, "localhost", "rotated");
    client_close(&client, true);
    return client.result;
}

/* The files that were read before stay in use until all new ones are valid. */
static void test_files_that_change_are_followed(void) {
    char path[256];
    identity strange = make_named("localhost", "DNS:localhost", &stranger);
    tls_peer ours = {.shows = &good}, theirs = {.shows = &strange};
    write_pem("rotated.pem", &authority, true, false);
    in_folder("rotated.pem", path, sizeof(path));
    tls_context *c = context_with((tls_options){.verify = true, .ca_file = path});
    uint64_t id = tls_context_id(c);
    peer_start(&ours);
    peer_start(&theirs);
    CHECK(result_of(c, &ours) == IO_DONE, "the first authority's server is accepted");
    write_pem("rotated.pem", &stranger, false, true);
    CHECK(result_of(c, &ours) == IO_DONE, "a file without a certificate changes nothing");
    CHECK(result_of(c, &ours) == IO_DONE, "nor does it at the next connection");
    remove(path);
    CHECK(result_of(c, &ours) == IO_DONE, "nor does a file that is gone");
    write_pem("rotated.pem", &stranger, true, false);
    CHECK(result_of(c, &theirs) == IO_DONE, "the second authority's server is accepted");
    CHECK(result_of(c, &ours) == IO_FAILED, "and the first's not any more, nor its session");
    CHECK(tls_context_id(c) == id, "it is still the same context");
    peer_stop(&ours);
    peer_stop(&theirs);
    tls_context_release(c);
    free_identity(&strange);
}

static void check_no_context(tls_options options, const char *words) {
    failure f = {0};
    options.min_version = TLS1_2_VERSION;
    CHECK(tls_context_obtain(&options, &f) == NULL, "no context: %s", words);
    CHECK(f.code == FAILURE_TLS_OPTIONS && strstr(f.detail, words) != NULL,
          "\"%s\" is missing in: %s", words, f.detail);
}

static void test_options_that_cannot_be_used_are_named(void) {
    char pem[256], key[256];
    write_pem("key.pem", &stranger, false, true);
    in_folder("good.pem", pem, sizeof(pem));
    in_folder("key.pem", key, sizeof(key));
    check_no_context((tls_options){.verify = true, .ca_file = "/nowhere/ca.pem"},
                     "ca_file /nowhere/ca.pem: No such file");
    check_no_context((tls_options){.verify = true, .ca_path = "/nowhere"},
                     "ca_path /nowhere: No such");
    check_no_context((tls_options){.verify = true, .ca_file = key}, "no certificate");
    check_no_context((tls_options){.client_cert = "/nowhere/c.pem"}, "client_cert /nowhere/c.pem");
    check_no_context((tls_options){.client_cert = pem, .client_key = "/nowhere/k"},
                     "client_key /nowhere/k");
    check_no_context((tls_options){.client_cert = pem, .client_key = key}, "key.pem");
    check_no_context((tls_options){.client_cert = "-----BEGIN SECRET"},
                     "client_cert given as text: ");
    check_no_context((tls_options){.client_cert = pem, .client_key = "-----BEGIN SECRET"},
                     "client_key given as text: ");
    check_no_context((tls_options){.keylog = "/nowhere/keys"}, "keylog /nowhere/keys");
    check_no_context((tls_options){.alpn = ",h2"}, "ALPN");
    check_no_context((tls_options){.ciphers = "NOSUCH"}, "ciphers NOSUCH: ");
    check_no_context((tls_options){.ciphersuites = "TLS_NO_SUCH"}, "ciphersuites TLS_NO_SUCH: ");
}

static void test_the_same_options_give_the_same_context(void) {
    tls_context *again = context_with((tls_options){.verify = true, .ca_file = ca_file});
    CHECK(again == verifying, "the same options, the same context");
    CHECK(tls_context_id(again) != tls_context_id(trusting), "others have another one");
    tls_context_release(again);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    utimensat(AT_FDCWD, ca_file, times, 0);
    again = context_with((tls_options){.verify = true, .ca_file = ca_file});
    CHECK(again != verifying, "a file that has changed is read again");
    tls_context_release(again);
}

static void test_every_choice_has_a_context_of_its_own(void) {
    const tls_options choices[] = {
        {.verify = true, .ca_file = ca_file, .max_version = TLS1_2_VERSION},
        {.verify = true, .ca_file = ca_file, .limit_depth = true},
        {.verify = true, .ca_file = ca_file, .limit_depth = true, .verify_depth = 1},
        {.verify = true, .ca_file = ca_file, .ciphers = "ECDHE+AESGCM"},
        {.verify = true, .ca_file = ca_file, .ciphersuites = "TLS_AES_128_GCM_SHA256"},
    };
    enum { COUNT = sizeof(choices) / sizeof(choices[0]) };
    tls_context *made[COUNT];
    for (int i = 0; i < COUNT; i++) {
        made[i] = context_with(choices[i]);
        for (int j = 0; j < i; j++)
            CHECK(made[i] != made[j], "choices %d and %d are kept apart", j, i);
    }
    for (int i = 0; i < COUNT; i++) tls_context_release(made[i]);
}

static void test_the_environment_names_the_systems_bundle(void) {
    setenv("SSL_CERT_FILE", ca_file, 1);
    tls_context *system = context_with((tls_options){.verify = true});
    unsetenv("SSL_CERT_FILE");
    tls_context *plain = context_with((tls_options){.verify = true});
    tls_peer p = {.shows = &good};
    peer_start(&p);
    tls_client c = client_connect(system, p.port, "localhost", "k");
    CHECK(c.result == IO_DONE, "SSL_CERT_FILE is honoured: %s", c.why.detail);
    client_close(&c, true);
    c = client_connect(plain, p.port, "localhost", "k");
    CHECK(c.result == IO_FAILED && strstr(c.why.detail, "the system's CA certificates") != NULL,
          "the test's CA is not one of the system's: %s", c.why.detail);
    client_close(&c, true);
    peer_stop(&p);
    tls_context_release(system);
    tls_context_release(plain);
}

static void test_many_contexts_do_not_stay(void) {
    char alpn[16];
    uint64_t first = 0;
    for (int i = 0; i < 40; i++) {
        failure f;
        snprintf(alpn, sizeof(alpn), "p%d", i);
        tls_options options = {.min_version = TLS1_2_VERSION, .alpn = alpn};
        tls_context *c = tls_context_obtain(&options, &f);
        first = i == 0 ? tls_context_id(c) : first;
        tls_context_release(c);
    }
    failure f;
    tls_options options = {.min_version = TLS1_2_VERSION, .alpn = "p0"};
    tls_context *c = tls_context_obtain(&options, &f);
    CHECK(tls_context_id(c) != first, "one that nobody used has left");
    tls_context_release(c);
}

/* ---- sessions ---- */

/* Makes one exchange, so that the tickets arrive. Returns whether the session was resumed. */
static bool exchange(tls_context *c, uint16_t port, const char *key, bool notify) {
    char bytes[5];
    tls_client client = client_connect(c, port, "localhost", key);
    CHECK(client.result == IO_DONE, "the handshake is done: %s", client.why.detail);
    client_write(&client, "hello", 5);
    CHECK(client_read(&client, bytes, 5) == IO_DONE, "the answer comes");
    bool resumed = tls_resumed(client.session);
    client_close(&client, notify);
    return resumed;
}

static void check_resumption(int version, bool notify) {
    tls_peer p = {.shows = &good, .version = version, .serve = serve_echo};
    char key[32];
    snprintf(key, sizeof(key), "resume %x %d", (unsigned)version, notify);
    peer_start(&p);
    CHECK(!exchange(verifying, p.port, key, notify), "%s: the first is not resumed", key);
    for (int i = 0; i < 5; i++)
        CHECK(exchange(verifying, p.port, key, notify), "%s: number %d is resumed", key, i + 2);
    CHECK(!exchange(verifying, p.port, "another key", notify), "%s: another key has none", key);
    CHECK(!exchange(trusting, p.port, key, notify), "%s: another context has none", key);
    peer_stop(&p);
}

static void test_sessions_are_resumed(void) {
    check_resumption(TLS1_2_VERSION, false);
    check_resumption(TLS1_2_VERSION, true);
    check_resumption(TLS1_3_VERSION, false);
    check_resumption(TLS1_3_VERSION, true);
}

static void test_a_ticket_serves_once(void) {
    tls_peer p = {.shows = &good, .version = TLS1_3_VERSION, .serve = serve_echo};
    peer_start(&p);
    exchange(verifying, p.port, "once", false);
    static const char key[] = "once\0localhost";
    SSL_SESSION *first = tls_session_take(verifying->id, key, sizeof(key) - 1);
    SSL_SESSION *second = tls_session_take(verifying->id, key, sizeof(key) - 1);
    SSL_SESSION *third = tls_session_take(verifying->id, key, sizeof(key) - 1);
    CHECK(first != NULL && second != NULL && first != second, "a server gives two tickets");
    CHECK(third == NULL, "and no more");
    SSL_SESSION_free(first);
    SSL_SESSION_free(second);
    peer_stop(&p);
}

/* A session that was established without verification must not be accepted by a verifying context,
 * even when it is in that context's cache. */
static void check_trap(int version, const identity *shown, const char *name, const char *words) {
    tls_peer p = {.shows = shown, .version = version, .serve = serve_echo};
    peer_start(&p);
    exchange(trusting, p.port, "trap", false);
    static const char made[] = "trap\0localhost";
    SSL_SESSION *session = tls_session_take(trusting->id, made, sizeof(made) - 1);
    CHECK(session != NULL, "there is a session that was not verified");
    char key[64] = "trap";
    size_t length = 5 + (size_t)snprintf(key + 5, sizeof(key) - 5, "%s", name);
    tls_session_keep(verifying->id, key, length, session);
    tls_client c = client_connect(verifying, p.port, name, "trap");
    CHECK(tls_resumed(c.session), "OpenSSL resumes it");
    CHECK(c.result == IO_FAILED && c.why.code == FAILURE_CERTIFICATE, "it is refused");
    CHECK(strstr(c.why.detail, words) != NULL, "\"%s\" is missing in: %s", words, c.why.detail);
    client_close(&c, false);
    peer_stop(&p);
}

static void test_a_session_that_was_not_verified_opens_nothing(void) {
    identity unknown = make_named("unknown", "DNS:localhost", &stranger);
    check_trap(TLS1_3_VERSION, &unknown, "localhost", "Strange CA");
    check_trap(TLS1_2_VERSION, &unknown, "localhost", "Strange CA");
    check_trap(TLS1_3_VERSION, &unknown, "other.test", "CN=unknown");
    free_identity(&unknown);
}

/* The session was verified, but for another name. */
static void test_a_session_of_another_name_opens_nothing(void) {
    tls_peer p = {.shows = &good, .serve = serve_echo};
    peer_start(&p);
    exchange(verifying, p.port, "name", false);
    static const char made[] = "name\0localhost", wanted[] = "name\0other.test";
    SSL_SESSION *session = tls_session_take(verifying->id, made, sizeof(made) - 1);
    tls_session_keep(verifying->id, wanted, sizeof(wanted) - 1, session);
    tls_client c = client_connect(verifying, p.port, "other.test", "name");
    CHECK(tls_resumed(c.session), "OpenSSL resumes it");
    CHECK(c.result == IO_FAILED && strstr(c.why.detail, "not for other.test") != NULL,
          "it is refused: %s", c.why.detail);
    client_close(&c, false);
    peer_stop(&p);
}

/* Keeps the same good session under `keys` keys, `times` times each; returns how many are kept. */
static int count_kept(SSL_SESSION *session, int keys, int times) {
    const uint64_t nobody = 1 << 20;
    int kept = 0;
    for (int i = 0; i < keys * times; i++) {
        int key = i / times;
        SSL_SESSION_up_ref(session);
        tls_session_keep(nobody, &key, sizeof(key), session);
    }
    for (int key = 0; key < keys; key++)
        for (SSL_SESSION *s; (s = tls_session_take(nobody, &key, sizeof(key))) != NULL; kept++)
            SSL_SESSION_free(s);
    return kept;
}

static void test_sessions_are_bounded(void) {
    static const char made[] = "many\0localhost";
    tls_peer p = {.shows = &good, .version = TLS1_3_VERSION, .serve = serve_echo};
    peer_start(&p);
    exchange(verifying, p.port, "many", false);
    SSL_SESSION *session = tls_session_take(verifying->id, made, sizeof(made) - 1);
    CHECK(session != NULL, "there is a session");
    CHECK(count_kept(session, 10, 1) == 10, "a few are kept");
    int kept = count_kept(session, 600, 1);
    CHECK(kept == 512, "of 600 keys 512 are kept, not %d", kept);
    kept = count_kept(session, 1, 20);
    CHECK(kept == 8, "of 20 sessions of one key 8 are kept, not %d", kept);
    SSL_SESSION_free(session);
    peer_stop(&p);
}

static int in_child(uint16_t port) {
    int failed = checks.failed;
    bool resumed = exchange(verifying, port, "fork", true);
    return checks.failed == failed && !resumed ? 0 : 1;
}

static void test_a_child_makes_connections_of_its_own(void) {
    tls_peer p = {.shows = &good, .serve = serve_echo};
    peer_start(&p);
    exchange(verifying, p.port, "fork", true);
    pid_t child = fork();
    if (child == 0) _exit(in_child(p.port));
    CHECK(child_status(child) == 0, "the child connects, without its parent's tickets");
    CHECK(exchange(verifying, p.port, "fork", true), "the parent still has them");
    peer_stop(&p);
}

static void test_keys_are_logged(void) {
    char path[256], line[512];
    struct stat about;
    tls_peer p = {.shows = &good, .serve = serve_echo};
    in_folder("keys.log", path, sizeof(path));
    tls_context *c =
        context_with((tls_options){.verify = true, .ca_file = ca_file, .keylog = path});
    peer_start(&p);
    exchange(c, p.port, "keys", true);
    peer_stop(&p);
    FILE *log = fopen(path, "r");
    int lines = 0;
    while (log != NULL && fgets(line, sizeof(line), log) != NULL) {
        lines += strncmp(line, "CLIENT_", 7) == 0 || strncmp(line, "SERVER_", 7) == 0 ||
                 strncmp(line, "EXPORTER_", 9) == 0;
    }
    CHECK(lines >= 5, "each key is a line, %d are there", lines);
    CHECK(stat(path, &about) == 0 && (about.st_mode & 0777) == 0600, "nobody else may read it");
    if (log != NULL) fclose(log);
    tls_context_release(c);
}

int main(void) {
    if (fork_guard() != 0) give_up("pthread_atfork");
    set_up();
    RUN(test_names_are_verified());
    RUN(test_chains_are_verified());
    RUN(test_there_must_be_a_name_to_verify());
    RUN(test_client_certificates());
    RUN(test_files_that_change_are_followed());
    RUN(test_options_that_cannot_be_used_are_named());
    RUN(test_the_environment_names_the_systems_bundle());
    RUN(test_sessions_are_resumed());
    RUN(test_a_ticket_serves_once());
    RUN(test_a_session_that_was_not_verified_opens_nothing());
    RUN(test_a_session_of_another_name_opens_nothing());
    RUN(test_sessions_are_bounded());
    RUN(test_a_child_makes_connections_of_its_own());
    RUN(test_keys_are_logged());
    RUN(test_every_choice_has_a_context_of_its_own());
    RUN(test_the_same_options_give_the_same_context());
    RUN(test_many_contexts_do_not_stay());
    tear_down();
    return check_report();
}
