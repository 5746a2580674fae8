#include "engine.h"

#include <ruby/fiber/scheduler.h>

/*
 * Engine::Multi: many exchanges, driven by the thread that calls `run`. It keeps a Response and the
 * caller's tag for each exchange until that is over. While a thread is in `run`, no other thread
 * may change the Multi. The running thread may do so at any time: in a callback that an exchange
 * calls, or in another fiber. Therefore an entry that is being served is only marked when it is
 * cancelled; `serve` removes it.
 */

/* The low bits of an id are the entry's slot in the table, the high bits the number of the call. */
#define SLOT_BITS 24

typedef struct entry {
    VALUE response, tag;
    response *r; /* the data of `response` */
    uint64_t id; /* 0: the entry is free */
    uint32_t slot;
    bool cancelled; /* cancelled while it was served */
    member member;
    list_node node; /* in `all` or `free_entries` */
} entry;

typedef struct {
    VALUE pool;
    VALUE results;    /* the Array passed to `run`; nil outside of `run` */
    bool has_results; /* this `run` has added to `results` */
    waker *waker;
    exchange_loop *loop;
    entry **table; /* owned, with its entries */
    uint32_t table_size, table_used;
    list all;          /* entries of calls */
    list free_entries; /* entries without a call */
    uint32_t count;
    uint64_t last_call;
    VALUE driver;  /* the thread that is in `run`; nil: none */
    entry *served; /* the entry that is being served; NULL: none */
    loop_waits waits;
    thread_stop stop;
} multi;

static void multi_mark(void *data) {
    multi *m = data;
    rb_gc_mark(m->pool);
    rb_gc_mark(m->results);
    rb_gc_mark(m->driver);
    LIST_EACH (entry, e, &m->all, node) {
        rb_gc_mark(e->response);
        rb_gc_mark(e->tag);
    }
}

/* The Responses free their exchanges. The exchange loop only borrows the exchanges, and does not
 * use them when it is freed. */
static void multi_free(void *data) {
    multi *m = data;
    for (uint32_t i = 0; i < m->table_used; i++) free(m->table[i]);
    free(m->table);
    exchange_loop_free(m->loop);
    waker_drop(m->waker);
    ruby_xfree(m);
}

static size_t multi_size_of(const void *data) {
    const multi *m = data;
    return sizeof(*m) + m->table_size * sizeof(*m->table) + m->table_used * sizeof(entry);
}

/* Without write barriers, because its entries change with every call. */
static const rb_data_type_t multi_type = {
    .wrap_struct_name = "Trunkline::Engine::Multi",
    .function = {.dmark = multi_mark, .dfree = multi_free, .dsize = multi_size_of},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static multi *multi_get(VALUE self) {
    multi *m = engine_data(self, &multi_type);
    if (m->loop == NULL) rb_raise(rb_eArgError, "the multi is closed, or was not initialized");
    return m;
}

static bool is_running(const multi *m) {
    return !NIL_P(m->driver);
}

/* For methods that change the Multi: raises while another thread is in `run`. */
static multi *multi_get_mutable(VALUE self) {
    multi *m = multi_get(self);
    if (is_running(m) && m->driver != rb_thread_current())
        rb_raise(rb_eThreadError, "the multi is run by another thread");
    return m;
}

static VALUE multi_s_allocate(VALUE class) {
    multi *m;
    VALUE self = TypedData_Make_Struct(class, multi, &multi_type, m);
    m->pool = m->results = m->driver = Qnil;
    return self;
}

/* call-seq: Multi.new(pool) */
static VALUE multi_initialize(VALUE self, VALUE pool_object) {
    multi *m = rb_check_typeddata(self, &multi_type);
    pool_get(pool_object);
    if (m->loop != NULL) rb_raise(rb_eArgError, "the multi is initialized already");
    m->pool = pool_object;
    if (m->waker == NULL) m->waker = descriptors_waker(Qnil);
    m->loop = descriptors_exchange_loop(m->waker, Qnil);
    return self;
}

/* ---- entries ---- */

static bool table_has_room(multi *m) {
    if (m->table_used < m->table_size) return true;
    if (m->table_size == 1u << SLOT_BITS) return false;
    uint32_t size = m->table_size ? m->table_size * 2 : 16;
    entry **wider = realloc(m->table, size * sizeof(*wider));
    if (wider == NULL) return false;
    m->table = wider;
    m->table_size = size;
    return true;
}

/* Returns an entry for entry_activate; NULL without memory. */
static entry *entry_take(multi *m) {
    entry *e = LIST_ITEM(list_shift(&m->free_entries), entry, node);
    if (e != NULL) return e;
    e = table_has_room(m) ? malloc(sizeof(*e)) : NULL;
    if (e != NULL) {
        e->slot = m->table_used;
        e->id = 0;
        m->table[m->table_used++] = e;
    }
    return e;
}

static void entry_activate(multi *m, entry *e, VALUE object, VALUE tag) {
    e->response = object;
    e->r = response_get(object);
    e->r->busy = true; /* no other code may read or close it */
    e->tag = tag;
    e->cancelled = false;
    e->id = ++m->last_call << SLOT_BITS | e->slot;
    list_append(&m->all, &e->node);
    m->count++;
}

/* Returns NULL when the call is over, or no call has this id. */
static entry *entry_find(const multi *m, VALUE id) {
    uint64_t wanted = NUM2ULL(id);
    uint64_t slot = wanted & ((1u << SLOT_BITS) - 1);
    entry *e = slot < m->table_used ? m->table[slot] : NULL;
    return e != NULL && e->id == wanted && !e->cancelled ? e : NULL;
}

/* Removes the entry, and aborts its exchange unless it is over. The Response stays valid. */
static void entry_remove(multi *m, entry *e) {
    if (m->served == e) m->served = NULL;
    e->r->busy = false;
    exchange_loop_remove(m->loop, &e->member);
    if (e->r->live != NULL) exchange_join(e->r->live, NULL, NULL);
    response_end(e->r);
    list_remove(&m->all, &e->node);
    e->id = 0;
    list_prepend(&m->free_entries, &e->node);
    m->count--;
}

/* Removes the entry without a result. */
static void entry_cancel(multi *m, entry *e) {
    if (m->served == e)
        e->cancelled = true;
    else
        entry_remove(m, e);
}

/* call-seq: add(request, deadline, tag) -> id */
static VALUE multi_add(VALUE self, VALUE request, VALUE deadline, VALUE tag) {
    multi *m = multi_get_mutable(self);
    VALUE object = response_begin(m->pool, request, deadline, false, m->waker);
    entry *e = entry_take(m);
    if (e == NULL) rb_memerror();
    entry_activate(m, e, object, tag);
    exchange_loop_add(m->loop, &e->member, e->r->live, e);
    if (is_running(m)) waker_wake(m->waker); /* another fiber may be parked in run */
    return ULL2NUM(e->id);
}

/* ---- run ---- */

typedef struct {
    VALUE self;
    multi *m;
    entry *e;
    nanoseconds until;
} running;

static void add_result(multi *m, entry *e, VALUE result, VALUE status) {
    const VALUE all[] = {e->tag, result, status};
    rb_ary_cat(m->results, all, 3);
    m->has_results = true;
}

static void finish_entry(multi *m, entry *e, VALUE result, VALUE status) {
    if (!e->cancelled) add_result(m, e, result, status);
    entry_remove(m, e);
}

/* Adds results of a streamed response: the Response after its head, and a piece of the body. A step
 * may bring both, even one that fails. */
static void add_stream_results(multi *m, entry *e, response *r) {
    exchange *x = r->live;
    if (r->head == NULL && x->head != NULL) {
        response_take_head(r);
        add_result(m, e, e->response, Qnil);
    }
    if (buffer_length(&x->body) > 0) add_result(m, e, response_take_body(x, Qnil), Qnil);
}

static void serve_entry(const running *run) {
    multi *m = run->m;
    entry *e = run->e;
    response *r = e->r;
    step_result step = e->member.step;
    bool streaming = r->live->request.streaming;
    wait_note_gvl_wait(r->live, step, m->waits.gvl_wait);
    if (streaming) add_stream_results(m, e, r);
    if (step == STEP_FAILED) {
        finish_entry(m, e, errors_build(r->live, r->request), Qnil);
    } else if (response_handle_step(e->response, r, step) || (streaming && step != STEP_DONE)) {
        exchange_loop_resume(m->loop, &e->member);
    } else {
        response_conclude(e->response, r);
        finish_entry(m, e, streaming ? Qnil : e->response, streaming ? Qnil : INT2FIX(r->status));
    }
}

/* Makes an exception from the caller's code the call's result; raises it again if it is an
 * interrupt. */
static VALUE finish_with_error(VALUE argument, VALUE error) {
    running *run = (running *)argument;
    VALUE interrupts = rb_path2class("Trunkline::Interrupts");
    if (RTEST(rb_funcall(interrupts, rb_intern("ended_by?"), 1, error))) rb_exc_raise(error);
    finish_entry(run->m, run->e, error, Qnil);
    return Qnil;
}

/* Ends serving run->e, and removes it if it was cancelled. Returns whether it is still listed. */
static bool end_serving(running *run) {
    multi *m = run->m;
    bool listed = m->served != NULL;
    m->served = NULL;
    if (listed && run->e->cancelled) entry_remove(m, run->e);
    return listed && !run->e->cancelled;
}

static VALUE serve_ready(VALUE argument) {
    running *run = (running *)argument;
    multi *m = run->m;
    for (member *ready; (ready = exchange_loop_next(m->loop)) != NULL; end_serving(run)) {
        run->e = m->served = ready->owner;
        serve_entry(run);
    }
    return Qnil;
}

/* Serves all ready entries, even if serving some of them raises a StandardError. */
static VALUE serve_all(VALUE argument) {
    running *run = (running *)argument;
    while (exchange_loop_has_ready(run->m->loop))
        rb_rescue2(serve_ready, argument, finish_with_error, argument, rb_eStandardError, (VALUE)0);
    return Qnil;
}

/* A StandardError from the caller's code becomes the result of that call. An exit, a throw, a kill
 * or an interrupt is raised again; the call stays listed, so that `close` returns its tag. */
static void serve(running *run) {
    int state = 0;
    rb_protect(serve_all, (VALUE)run, &state);
    if (end_serving(run)) {
        exchange_abort(run->e->r->live);
        exchange_loop_resume(run->m->loop, &run->e->member);
    }
    if (state != 0) rb_jump_tag(state);
}

static VALUE run_until_results(VALUE argument) {
    running *run = (running *)argument;
    multi *m = run->m;
    while (m->all.first != NULL && !m->has_results && !stop_is_set(&m->stop.request)) {
        if (exchange_loop_has_ready(m->loop))
            m->waits.gvl_wait = 0;
        else
            wait_exchange_loop(m->loop, m->waker, run->until, &m->stop.request, &m->waits);
        wait_yield_to_fibers(
            &m->waits.last_yield); /* before serve, so as not to delay its results */
        serve(run);
        if (run->until != NEVER && clock_now() >= run->until) break;
    }
    stop_clear(&m->stop.request);
    return Qnil;
}

static VALUE run_over(VALUE argument) {
    multi *m = ((running *)argument)->m;
    m->driver = m->results = Qnil;
    return Qnil;
}

/* call-seq: run(timeout, results) -> nil
 *
 * Appends tag, response or exception, and status to `results` when a call ends, so that an
 * interrupt loses no result. */
static VALUE multi_run(VALUE self, VALUE timeout, VALUE results) {
    multi *m = multi_get(self);
    if (is_running(m)) rb_raise(rb_eThreadError, "the multi is being run already");
    Check_Type(results, T_ARRAY);
    rb_check_frozen(results);
    running run = {
        .self = self, .m = m, .until = clock_after(clock_now(), engine_seconds(timeout))};
    m->driver = rb_thread_current();
    m->results = results;
    m->has_results = false;
    bool woken = stop_is_set(&m->stop.request); /* wake was called before run */
    wait_stop_begin(&m->stop);
    m->stop.request.is_set |= woken;
    return rb_ensure(run_until_results, (VALUE)&run, run_over, (VALUE)&run);
}

/* call-seq: cancel(id) -> true or false */
static VALUE multi_cancel(VALUE self, VALUE id) {
    multi *m = multi_get_mutable(self);
    entry *e = entry_find(m, id);
    if (e == NULL) return Qfalse;
    entry_cancel(m, e);
    return Qtrue;
}

static VALUE multi_size(VALUE self) {
    return UINT2NUM(multi_get(self)->count);
}

/* call-seq: wake; for any thread */
static VALUE multi_wake(VALUE self) {
    multi *m = rb_check_typeddata(self, &multi_type);
    stop_set(&m->stop.request);
    if (m->waker != NULL) waker_wake(m->waker);
    return Qnil;
}

/* call-seq: close -> [tag, ...]
 *
 * Frees the loop's descriptor at once, without waiting for the GC, unless `run` is in progress. */
static VALUE multi_close(VALUE self) {
    multi *m = rb_check_typeddata(self, &multi_type);
    VALUE tags = rb_ary_new();
    if (m->loop == NULL) return tags;
    m = multi_get_mutable(self);
    LIST_EACH (entry, e, &m->all, node) {
        if (!e->cancelled) {
            rb_ary_push(tags, e->tag);
            entry_cancel(m, e);
        }
    }
    if (is_running(m)) {
        multi_wake(self); /* called by a fiber or a callback during run, which must return */
    } else {
        exchange_loop_free(m->loop);
        m->loop = NULL;
    }
    return tags;
}

void multi_init(void) {
    VALUE cMulti = rb_define_class_under(mEngine, "Multi", rb_cObject);
    rb_define_alloc_func(cMulti, multi_s_allocate);
    rb_define_method(cMulti, "initialize", multi_initialize, 1);
    rb_define_method(cMulti, "add", multi_add, 3);
    rb_define_method(cMulti, "run", multi_run, 2);
    rb_define_method(cMulti, "cancel", multi_cancel, 1);
    rb_define_method(cMulti, "size", multi_size, 0);
    rb_define_method(cMulti, "wake", multi_wake, 0);
    rb_define_method(cMulti, "close", multi_close, 0);
}
