#ifndef TRUNKLINE_TEST_HTTP1_ROWS_H
#define TRUNKLINE_TEST_HTTP1_ROWS_H

#include "check.h"
#include "http1_driver.h"

/* Tables of bytes and expected results (see http1_driver.h). Each row is run whole, one byte at a
 * time, split at every point, with and without http1_consumed; then, if the response is complete,
 * followed by poison, which must not be consumed, and by a second response, whose result must not
 * depend on the first. */

typedef struct {
    const char *title;
    const char *bytes;
    size_t length;
    const char *expected;
    bool head_request;
    int ending;
    const http1_limits *limits; /* NULL: http1_default_limits */
} http1_row;

/* ROW(title, bytes, expected, .head_request = true, .ending = DRIVE_CLOSED, .limits = &own) */
#define ROW(words, in, out, ...) \
    { .title = words, .bytes = in, .length = sizeof(in) - 1, .expected = out, __VA_ARGS__ }

static inline bool ends_with(const buffer *text, const char *end) {
    size_t length = strlen(end);
    return buffer_length(text) >= length &&
           memcmp(text->bytes + text->end - length, end, length) == 0;
}

/* Runs the row's bytes, followed by `added`, by this plan. */
static inline void run_row(const http1_row *row, http1_response *r, const char *added,
                           size_t added_length, const drive_plan *plan, const char *how) {
    buffer bytes = {0}, out = {0};
    say(&bytes, row->bytes, row->length);
    say(&bytes, added, added_length);
    size_t own = drive(&out, r, bytes.bytes, buffer_length(&bytes), plan);
    bool same = buffer_length(&out) == strlen(row->expected) &&
                memcmp(out.bytes, row->expected, buffer_length(&out)) == 0;
    CHECK(same, "%s (%s: %zu, %zu): expected\n%s\n--- but was\n%.*s", row->title, how, plan->first,
          plan->then, row->expected, (int)buffer_length(&out), out.bytes);
    if (ends_with(&out, "done")) {
        CHECK(own == row->length, "%s (%s): %zu of %zu bytes taken", row->title, how, own,
              row->length);
    }
    buffer_free(&bytes);
    buffer_free(&out);
}

static inline void run_second(http1_response *r, const http1_row *first) {
    static const http1_row second =
        ROW("a second answer", "HTTP/1.1 200 \r\nContent-Length: 456\r\n\r\n",
            "1.1 200  length=456 persistent\nContent-Length: 456\n\n\nmore");
    drive_plan plan = {&http1_default_limits, false, DRIVE_OPEN, SIZE_MAX, 1, false};
    run_row(&second, r, "", 0, &plan, first->title);
}

static inline void run_every_way(const http1_row *row) {
    static const char poison[] = "\0\r\n0\r\n\r\nHTTP/1.1 666 EVIL\r\n";
    http1_response r = {0};
    size_t length = row->length;
    const http1_limits *limits = row->limits ? row->limits : &http1_default_limits;
    drive_plan whole = {limits, row->head_request, row->ending, SIZE_MAX, 1, false};
    drive_plan plan = whole;
    run_row(row, &r, "", 0, &whole, "whole");
    for (int direct = 0; direct < 2; direct++) {
        plan.direct = direct;
        plan.first = plan.then = 1;
        run_row(row, &r, "", 0, &plan, "byte by byte");
        plan.then = SIZE_MAX;
        for (plan.first = 1; plan.first < length; plan.first++)
            run_row(row, &r, "", 0, &plan, "split");
    }
    size_t end = strlen(row->expected);
    bool done = end >= 4 && strcmp(row->expected + end - 4, "done") == 0;
    if (done && row->ending == DRIVE_OPEN) {
        run_row(row, &r, poison, sizeof(poison) - 1, &whole, "before poison");
        run_second(&r, row);
        plan = whole;
        plan.first = plan.then = 3;
        run_row(row, &r, poison, sizeof(poison) - 1, &plan, "before poison, in threes");
    }
    run_second(&r, row);
    http1_free(&r);
}

static inline void run_rows(const char *table, const http1_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_case("%s: %s", table, rows[i].title);
        run_every_way(&rows[i]);
    }
}

#define RUN_ROWS(rows) run_rows(#rows, rows, sizeof(rows) / sizeof((rows)[0]))

#endif
