#ifndef TRUNKLINE_TEST_HTTP2_ROWS_H
#define TRUNKLINE_TEST_HTTP2_ROWS_H

#include "check.h"
#include "http2_driver.h"

/* Tables of frames and expected results (see frames.h and http2_driver.h); SETTINGS and their
 * acknowledgements are not recorded, unless the row is .bare. Each row is run whole, one byte at a
 * time, and in small pieces: the results must be the same. */

typedef struct {
    const char *title;
    const char *frames; /* sent after SETTINGS, unless .bare */
    const char *expected;
    http2_plan plan;
    bool bare;
} http2_row;

/* ROW(title, frames, expected, .plan.streams = 3) */
#define ROW(words, in, out, ...) \
    { .title = words, .frames = in, .expected = out, __VA_ARGS__ }

static inline void run_row(const http2_row *row, size_t piece) {
    http2_play p;
    buffer out = {0};
    CHECK(play_begin(&p, &row->plan), "%s: it begins", row->title);
    if (!row->bare) play_script(&p, "SETTINGS\nSETTINGS ack", piece);
    play_script(&p, row->frames, piece);
    say_play(&out, &p);
    say(&out, "", 1);
    const char *text = (const char *)out.bytes;
    const char *acknowledged = "sent SETTINGS 0 ack\n", *ack = strstr(text, acknowledged);
    if (!row->bare && ack != NULL) {
        size_t skip = strlen(acknowledged), rest = strlen(ack + skip) + 1;
        memmove(out.bytes + (ack - text), ack + skip, rest);
    }
    CHECK(strcmp(text, row->expected) == 0, "%s (pieces of %zu): expected\n%s--- but was\n%s",
          row->title, piece, row->expected, text);
    buffer_free(&out);
    play_end(&p);
}

static inline void run_rows(const char *table, const http2_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_case("%s: %s", table, rows[i].title);
        run_row(&rows[i], SIZE_MAX);
        run_row(&rows[i], 1);
        run_row(&rows[i], 13);
    }
}

#define RUN_ROWS(rows) run_rows(#rows, rows, sizeof(rows) / sizeof((rows)[0]))

#endif
