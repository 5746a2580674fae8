#include "sockets.h"
#include "transport/connection/connection.h"

/* One connection: the check before it is used again, and its age. */

static int server; /* the other end */

static connection *opened(void) {
    static const route to = {.host = "a", .label = "a:80", .port = 80};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) give_up("socketpair");
    server = ends[1];
    dialled d = {.descriptor = ends[0]};
    return connection_new(&d, &to, 1, clock_now());
}

static void close_server(void) {
    if (server >= 0) close(server);
    server = -1;
}

static void close_both(connection *c) {
    connection_free(c, false);
    close_server();
}

static void send_byte(void) {
    if (send(server, "x", 1, 0) != 1) give_up("send");
}

static void send_and_close(void) {
    send_byte();
    close_server();
}

static void test_the_check_before_reuse(void) {
    static const struct {
        const char *title;
        void (*happens)(void); /* at the server's end */
        bool alive;
    } rows[] = {
        {"a quiet connection", NULL, true},
        {"a byte without a request", send_byte, false},
        {"the end of the connection", close_server, false},
        {"a byte and the end", send_and_close, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("%s", rows[i].title);
        connection *c = opened();
        if (rows[i].happens != NULL) rows[i].happens();
        CHECK(connection_check_alive(c, NULL, clock_now()) == rows[i].alive, "alive: %d",
              !rows[i].alive);
        CHECK(connection_check_alive(c, NULL, clock_now()) == rows[i].alive, "a second check");
        close_both(c);
    }
}

/* The check must not take bytes that a read is to get. */
static void test_the_check_takes_no_bytes(void) {
    connection *c = opened();
    send_byte();
    connection_check_alive(c, NULL, clock_now());
    char byte = 0;
    size_t count = 0;
    failure f = {0};
    io_result io = connection_read(c, &byte, 1, &count, &f);
    CHECK(io == IO_DONE && count == 1 && byte == 'x', "the byte is still there: %d", io);
    io = connection_read(c, &byte, 1, &count, &f);
    CHECK(io == IO_READ, "and is the only one: %d", io);
    close_both(c);
}

/* Connections that were opened together do not end together. */
static void test_the_age(void) {
    static const nanoseconds ages[] = {SECOND, 60 * SECOND, 3600 * SECOND};
    connection *c = opened();
    check_case("no limit");
    CHECK(connection_due(c, 0) == NEVER, "it ends");
    for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
        check_case("an age of %lld s", (long long)(ages[i] / SECOND));
        nanoseconds first = NEVER, last = 0;
        for (c->id = 1; c->id <= 16; c->id++) {
            nanoseconds age = connection_due(c, ages[i]) - c->opened_at;
            CHECK(age <= ages[i] && age >= ages[i] - ages[i] / 8, "%lld", (long long)age);
            first = clock_earlier(first, age);
            if (age > last) last = age;
        }
        CHECK(last == ages[i] && first < last, "from %lld to %lld", (long long)first,
              (long long)last);
    }
    close_both(c);
}

int main(void) {
    RUN(test_the_check_before_reuse());
    RUN(test_the_check_takes_no_bytes());
    RUN(test_the_age());
    return check_report();
}
