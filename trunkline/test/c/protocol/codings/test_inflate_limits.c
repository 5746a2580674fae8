#include "check.h"
#include "http1_driver.h"
#include "inflate_driver.h"
#include "packing.h"

static void ends(const char *title, const char *codings, inflater_limits limits, buffer *packed,
                 failure_code code, uint64_t most) {
    check_case("%s", title);
    static const size_t rooms[] = {65536, 1000, 999};
    for (size_t r = 0; r < sizeof(rooms) / sizeof(rooms[0]); r++) {
        buffer out = {0};
        bool stuck = false;
        failure_code was = unpack(&out, codings, &limits, packed->bytes, buffer_length(packed),
                                  SIZE_MAX, rooms[r], &stuck);
        CHECK(was == code && !stuck, "%s (%zu): expected %s, was %s", title, rooms[r],
              failure_name(code), failure_name(was));
        CHECK(buffer_length(&out) <= most, "%s (%zu): %zu bytes came out", title, rooms[r],
              buffer_length(&out));
        buffer_free(&out);
    }
}

static void zeros(buffer *out, const packing *p, size_t length) {
    void *bytes = calloc(1, length);
    if (bytes == NULL) abort();
    p->pack(out, bytes, length);
    free(bytes);
}

static void test_output(void) {
    for (size_t p = 0; p < PACKINGS; p++) {
        const char *coding = packings[p].coding;
        buffer packed = {0};
        zeros(&packed, &packings[p], 100000);
        ends("just so much", coding, (inflater_limits){100000, 0}, &packed, FAILURE_NONE, 100000);
        ends("a byte too much", coding, (inflater_limits){99999, 0}, &packed,
             FAILURE_BODY_TOO_LARGE, 100000);
        ends("far too much", coding, (inflater_limits){1, 0}, &packed, FAILURE_BODY_TOO_LARGE, 2);
        ends("no limit", coding, (inflater_limits){0, 0}, &packed, FAILURE_NONE, 100000);
        buffer_free(&packed);
    }
}

static void test_ratio(void) {
    const size_t mebibyte = 1024 * 1024;
    for (size_t p = 0; p < PACKINGS; p++) {
        const char *coding = packings[p].coding;
        buffer packed = {0};
        zeros(&packed, &packings[p], 16 * mebibyte);
        ends("16 mebibytes of nothing", coding, (inflater_limits){0, 1}, &packed, FAILURE_NONE,
             16 * mebibyte);
        buffer_clear(&packed);
        zeros(&packed, &packings[p], 32 * mebibyte);
        ends("a bomb", coding, (inflater_limits){0, 100}, &packed, FAILURE_CODING_RATIO,
             17 * mebibyte);
        ends("no limit", coding, (inflater_limits){0, 0}, &packed, FAILURE_NONE, 32 * mebibyte);
        buffer_free(&packed);
    }
}

/* The ratio limit also applies to the output of an inner coding: here the final output is empty. */
static void test_bomb_within(void) {
    buffer member = {0}, members = {0}, packed = {0};
    pack_gzip(&member, "", 0);
    while (buffer_length(&members) < 32 * 1024 * 1024)
        say(&members, member.bytes, buffer_length(&member));
    pack_gzip(&packed, members.bytes, buffer_length(&members));
    ends("empty members", "gzip, gzip", (inflater_limits){1000, 100}, &packed, FAILURE_CODING_RATIO,
         0);
    ends("which are right as such", "gzip, gzip", (inflater_limits){1000, 0}, &packed, FAILURE_NONE,
         0);
    buffer_free(&member);
    buffer_free(&members);
    buffer_free(&packed);
}

/* After a failure, the inflater consumes and produces nothing, and keeps the failure. */
static void test_failed_for_good(void) {
    const inflater_limits limits = {0, 0};
    inflater *i;
    bool known;
    uint8_t output[10];
    size_t consumed, produced;
    inflater_new(&i, &known, "gzip", 4, &limits);
    CHECK(inflater_feed(i, (const uint8_t *)"xx", 2, &consumed, output, 10, &produced) ==
              INFLATER_FAILED,
          "it fails");
    CHECK(inflater_feed(i, (const uint8_t *)"\x1f", 1, &consumed, output, 10, &produced) ==
                  INFLATER_FAILED &&
              consumed == 0 && produced == 0,
          "nothing more is taken");
    CHECK(inflater_failure(i) == FAILURE_CODING_DATA && inflater_finish(i) == FAILURE_CODING_DATA,
          "the failure stays");
    inflater_free(i);
}

static void test_no_room(void) {
    const inflater_limits limits = {0, 0};
    inflater *i;
    bool known;
    size_t consumed, produced;
    inflater_new(&i, &known, "gzip", 4, &limits);
    CHECK(inflater_feed(i, (const uint8_t *)"\x1f", 1, &consumed, NULL, 0, &produced) ==
                  INFLATER_FULL &&
              consumed == 0 && produced == 0,
          "no room is full");
    inflater_free(i);
}

int main(void) {
    RUN(test_output());
    RUN(test_ratio());
    RUN(test_bomb_within());
    RUN(test_failed_for_good());
    RUN(test_no_room());
    return check_report();
}
