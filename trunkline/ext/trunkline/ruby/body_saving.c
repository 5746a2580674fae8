#include "engine.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Response#_save: writes a streamed body from its connection to a file, without making a String of
 * any piece. */

typedef struct {
    VALUE self;
    response *r;
    int descriptor;
    off_t offset; /* of the next byte in the file */
    nanoseconds until;
    int error; /* of pwrite */
} saving;

/* Runs without the GVL, because a disk may be slow. */
static void *write_nogvl(void *argument) {
    saving *s = argument;
    buffer *b = &s->r->live->body;
    while (buffer_length(b) > 0 && s->error == 0) {
        ssize_t written = pwrite(s->descriptor, buffer_head(b), buffer_length(b), s->offset);
        if (written < 0 && errno != EINTR) s->error = errno;
        if (written <= 0) continue;
        buffer_consume(b, (size_t)written);
        s->offset += written;
        s->r->saved += (uint64_t)written;
    }
    return NULL;
}

/* An interrupt may prevent writing; the next wait raises it. */
static void write_piece(saving *s) {
    rb_nogvl(write_nogvl, s, NULL, NULL, 0);
    if (s->error != 0) rb_syserr_fail(s->error, NULL);
}

static VALUE run_to_file(VALUE argument) {
    saving *s = (saving *)argument;
    response *r = s->r;
    for (;;) {
        write_piece(s);
        if (clock_now() >= s->until) return Qfalse;
        if (response_run(s->self, r) != STEP_DONE) continue;
        write_piece(s);
        response_conclude(s->self, r);
        return Qtrue;
    }
}

/* call-seq: _save(descriptor, offset, seconds) -> true or false
 *
 * Writes the body to a file, from offset on. Returns true when the body is complete; false when the
 * seconds are over, which is checked between two pieces only. Raises what reading raises, and
 * SystemCallError. _saved returns how many bytes were written, also after an exception. */
static VALUE response_save(VALUE self, VALUE descriptor, VALUE offset, VALUE seconds) {
    response *r = response_get(self);
    saving s = {.self = self,
                .r = r,
                .descriptor = NUM2INT(descriptor),
                .offset = NUM2OFFT(offset),
                .until = clock_after(clock_now(), engine_seconds(seconds))};
    if (r->live == NULL) {
        if (!r->complete) errors_raise_broken(r);
        return Qtrue;
    }
    if (!r->live->request.streaming || !NIL_P(r->held))
        rb_raise(rb_eArgError, "only a streamed body of which nothing was read can be saved");
    return response_guarded(run_to_file, (VALUE)&s, r);
}

/* call-seq: _saved -> Integer, bytes */
static VALUE response_saved(VALUE self) {
    return ULL2NUM(response_get(self)->saved);
}

void body_saving_init(void) {
    rb_define_method(cResponse, "_save", response_save, 3);
    rb_define_method(cResponse, "_saved", response_saved, 0);
}
