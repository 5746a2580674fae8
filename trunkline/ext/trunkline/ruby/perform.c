#include "engine.h"

#include <ruby/fiber/scheduler.h>

/*
 * Engine.perform: drives one exchange in the caller's thread, and reads streamed responses. All
 * code that may raise runs under rb_protect; after an exception the exchange is aborted, so that
 * its connection is closed and not reused.
 */

/* ---- driving ---- */

/* Returns whether there is data received before a failure, which a streaming caller gets first; its
 * next read raises. */
static bool holds_data(const exchange *x) {
    return x->request.streaming && buffer_length(&x->body) > 0;
}

/* The only call of the process sends a small request with the GVL, because releasing it costs more.
 * Steps that may take long run without the GVL, and so do all steps while other calls, which need
 * it, are under way, except when getting it back would take long (wait_keeps_gvl). */
#define SMALL_REQUEST (64 * 1024)

static bool better_without_gvl(const exchange *x) {
    if (x->request.body_length > SMALL_REQUEST || buffer_length(&x->frame) > SMALL_REQUEST)
        return true;
    return (x->head != NULL || !exchange_is_only_one()) && !wait_keeps_gvl();
}

step_result response_run(VALUE self, response *r) {
    exchange *x = r->live;
    step_result step;
    nanoseconds last_yield = x->began;
    bool goes_on;
    x->in_fiber = !NIL_P(rb_fiber_scheduler_current());
    do {
        bool without_gvl = better_without_gvl(x);
        step = without_gvl ? STEP_WAIT : exchange_step(x, clock_now());
        if (step == STEP_WAIT) step = wait_drive(x, without_gvl);
        if (step == STEP_FAILED && !holds_data(x)) errors_raise(x, r->request);
        goes_on = response_handle_step(self, r, step);
        if (goes_on && x->in_fiber) wait_yield_to_fibers(&last_yield);
    } while (goes_on);
    if (step == STEP_HEAD) response_take_head(r);
    return step;
}

static VALUE run_to_result(VALUE self) {
    response *r = response_get(self);
    if (response_run(self, r) == STEP_DONE) response_conclude(self, r);
    return self;
}

/* A thread that reads a large body takes the GVL again at once, and would starve other threads, so
 * that it yields after this many bytes. A thread that waits for a few bytes at a time, such as a
 * language model's tokens, does not yield, because it would wait for the GVL twice for each. */
#define BYTES_OF_A_TURN (16 * 1024)

static void yield_gvl(response *r, size_t bytes) {
    r->bytes_since_yield += bytes;
    if (r->bytes_since_yield < BYTES_OF_A_TURN || rb_thread_alone()) return;
    r->bytes_since_yield = 0;
    rb_thread_schedule();
}

static VALUE run_to_piece(VALUE self) {
    response *r = response_get(self);
    exchange *x = r->live;
    step_result step = response_run(self, r);
    yield_gvl(r, buffer_length(&x->body));
    VALUE piece = buffer_length(&x->body) > 0 ? response_take_body(x, r->into) : Qnil;
    if (step == STEP_DONE) response_conclude(self, r);
    return piece;
}

static void refuse_busy(const response *r) {
    if (r->busy) rb_raise(rb_eThreadError, "the response is being read elsewhere");
}

VALUE response_guarded(VALUE (*body)(VALUE), VALUE argument, response *r) {
    refuse_busy(r);
    int state = 0;
    r->busy = true;
    if (r->live != NULL) exchange_set_held_by_caller(r->live, false);
    VALUE result = rb_protect(body, argument, &state);
    r->busy = false;
    if (r->live != NULL) exchange_set_held_by_caller(r->live, true);
    if (state != 0) {
        response_end(r);
        if (r->body_is_buffer) {
            rb_str_set_len(r->body, 0);
            r->body_is_buffer = false;
        }
        rb_jump_tag(state);
    }
    return result;
}

/* ---- Engine.perform, Engine.connect ---- */

/* call-seq: Engine.perform(pool, request, deadline, begun) -> Response; see lib/trunkline/engine.rb
 */
static VALUE perform(VALUE module, VALUE pool_object, VALUE request, VALUE deadline, VALUE begun) {
    (void)module;
    VALUE self = response_begin(pool_object, request, deadline, false, NULL);
    if (!NIL_P(begun)) {
        Check_Type(begun, T_ARRAY);
        rb_ary_push(begun, self);
    }
    return response_guarded(run_to_result, self, response_get(self));
}

static VALUE run_to_connection(VALUE self) {
    response *r = response_get(self);
    response_run(self, r);
    response_end(r);
    return self;
}

/* call-seq: Engine.connect(pool, request) -> Response; see lib/trunkline/engine.rb */
static VALUE connect_ahead(VALUE module, VALUE pool_object, VALUE request) {
    (void)module;
    VALUE self = response_begin(pool_object, request, Qnil, true, NULL);
    return response_guarded(run_to_connection, self, response_get(self));
}

/* ---- reading a response ---- */

/* Returns the next piece, as the String `into` or (nil) a new one; nil: the body is complete. When
 * a response is incomplete (it failed, its reader was interrupted, or it was closed early), each
 * further read raises, so that a part is not mistaken for the whole body. */
static VALUE read_piece(VALUE self, VALUE into) {
    response *r = response_get(self);
    if (r->live != NULL) {
        if (!r->busy) RB_OBJ_WRITE(self, &r->into, into);
        return response_guarded(run_to_piece, self, r);
    }
    if (!r->complete && r->head != NULL) errors_raise_broken(r);
    return Qnil;
}

/* call-seq: _read(buffer) -> String or nil */
static VALUE response_read(VALUE self, VALUE buffer) {
    if (!NIL_P(buffer)) {
        Check_Type(buffer, T_STRING);
        rb_check_frozen(buffer);
    }
    return read_piece(self, buffer);
}

static void set_body(VALUE self, response *r, VALUE body) {
    RB_OBJ_WRITE(self, &r->body, body);
    response_set_encoding(r, body);
}

/* Returns the held bytes (see body_reading.c) in a new String, and clears them. */
static VALUE take_held(VALUE self) {
    VALUE held = response_take_held(response_get(self));
    if (NIL_P(held)) return rb_str_new(NULL, 0);
    VALUE bytes = rb_str_new(RSTRING_PTR(held), RSTRING_LEN(held));
    RB_GC_GUARD(held); /* nothing else refers to it, and the allocation may collect or move it */
    return bytes;
}

static void read_rest(VALUE self, response *r) {
    VALUE all = take_held(self);
    if (r->live != NULL && !r->busy) exchange_keep_rest(r->live);
    for (VALUE piece; !NIL_P(piece = read_piece(self, Qnil));)
        all = RSTRING_LEN(all) == 0 ? piece : rb_str_buf_append(all, piece);
    set_body(self, r, all);
}

/* call-seq: response.body -> String; for a streamed response: the part that has not been read */
static VALUE response_body(VALUE self) {
    response *r = response_get(self);
    if (NIL_P(r->body)) read_rest(self, r);
    return r->body;
}

/* The time to wait for the rest of a body so that its connection can be kept. */
#define SETTLED_WITHIN SECOND

/* call-seq: _settle(bytes) -> nil
 *
 * Reads a streamed response to its end, and stores it as the body. If it is larger than `bytes`,
 * stores the first `bytes`, and closes the response. The rest must arrive within SETTLED_WITHIN.
 * Raises what reading raises. */
static VALUE response_settle(VALUE self, VALUE bytes) {
    response *r = response_get(self);
    size_t most = NUM2SIZET(bytes);
    if (r->live == NULL) return Qnil;
    nanoseconds limit = clock_now() + SETTLED_WITHIN;
    r->live->total_deadline = clock_earlier(r->live->total_deadline, limit);
    VALUE all = take_held(self), piece;
    while ((size_t)RSTRING_LEN(all) <= most && !NIL_P(piece = read_piece(self, Qnil)))
        rb_str_buf_append(all, piece);
    response_end(r);
    bool larger = (size_t)RSTRING_LEN(all) > most;
    if (larger) rb_str_set_len(all, (long)most);
    if (larger || r->complete) set_body(self, r, all);
    return Qnil;
}

static VALUE response_close(VALUE self) {
    response *r = response_get(self);
    refuse_busy(r);
    response_end(r);
    return Qnil;
}

void perform_init(void) {
    rb_define_singleton_method(mEngine, "perform", perform, 4);
    rb_define_singleton_method(mEngine, "connect", connect_ahead, 2);
    rb_define_method(cResponse, "body", response_body, 0);
    rb_define_method(cResponse, "close", response_close, 0);
    rb_define_private_method(cResponse, "_read", response_read, 1);
    rb_define_private_method(cResponse, "_settle", response_settle, 1);
}
