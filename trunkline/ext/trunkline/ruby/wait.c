#include "engine.h"

#include "transport/common/backoff.h"

#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <string.h>

/*
 * The only file with functions that wait for exchanges. A thread waits without the GVL; for a fiber
 * under a scheduler, the scheduler waits for one of the engine's descriptors.
 */

static ID id_for_fd;
static VALUE borrowed; /* the keywords for an IO that does not own its descriptor */

/* The state of a wait, shared with the unblock function. That runs in another thread under Ruby's
 * own lock, or in a signal handler, and uses only the flag of `stop` and the waker's descriptor.
 * (If it were not safe in a signal handler, CRuby would start a thread for each wait of a
 * single-threaded process.) */
typedef struct {
    exchange *x;
    exchange_loop *p;
    waker *waker;
    nanoseconds until;
    bool at_once;
    stop_request *stop;
    step_result step;
    nanoseconds ended_at; /* when the wait ended, and the wait for the GVL began */
} waiting;

static void unblock(void *argument) {
    waiting *w = argument;
    stop_set(w->stop);
    waker_wake(w->waker);
}

/* CRuby calls the unblock function for a signal if the process has one thread, and since 3.3 from
 * its timer thread. Otherwise it only sets flags of the main thread, which rb_thread_interrupted
 * reads: no lock is needed, and the thread is alive, because it is the caller. The wait itself ends
 * (EINTR) only if the kernel delivers the signal to that thread, so the flags are also checked at
 * this interval. */
#define SIGNAL_CHECK (20 * MILLISECOND)

/* Runs without the GVL, and so must not read the Thread itself: its page is protected while another
 * thread compacts the heap. From the copy, rb_thread_interrupted reads the object's type and the
 * address of the flags, which are not in the heap. */
static bool interrupted(void *thread) {
    return rb_thread_interrupted((VALUE)thread);
}

void wait_stop_begin(thread_stop *s) {
    VALUE thread = rb_thread_current();
    bool must_check = thread == rb_thread_main() && !rb_thread_alone();
    memcpy((void *)&s->thread, RTYPEDDATA(thread), sizeof(s->thread));
    s->request = (stop_request){.interrupted = interrupted,
                                .thread = &s->thread,
                                .check_interval = must_check ? SIGNAL_CHECK : 0};
}

static void *drive_nogvl(void *argument) {
    waiting *w = argument;
    if (w->at_once) {
        w->at_once = false;
        w->step = exchange_step(w->x, clock_now());
    }
    if (w->step == STEP_WAIT) w->step = exchange_drive(w->x, w->stop);
    if (w->step == STEP_WAIT) {
        exchange_depart(
            w->x); /* getting the GVL back, and the handler of a signal, may take long */
    }
    w->ended_at = clock_now();
    return NULL;
}

static void *poll_nogvl(void *argument) {
    waiting *w = argument;
    exchange_loop_arrive(w->p);
    exchange_loop_drive(w->p, w->until, w->stop);
    exchange_loop_depart(w->p); /* for the same reason */
    w->ended_at = clock_now();
    return NULL;
}

/*
 * A computing thread keeps the GVL for 100 ms each time that another thread releases it. A thread
 * that has waited long for the GVL keeps it for a twentieth of that time: within it, the thread
 * reads received data without releasing the GVL, and waits with the GVL for data that is likely to
 * come soon. A wait is long from LATE on.
 */
#define LATE (5 * MILLISECOND)
/* The most that counts as waiting time: a stopped process, or C code that kept the GVL for seconds,
 * is no reason to keep the GVL longer. */
#define LATE_MOST (100 * MILLISECOND)

/* The thread that got the GVL back last, when, and how long it waited. Atomic, because each Ractor
 * has a GVL. Only the Thread's address is used. */
static VALUE gvl_holder;
static nanoseconds gvl_acquired_at, gvl_waited_for;

static nanoseconds load(const nanoseconds *value) {
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

bool wait_keeps_gvl(void) {
    nanoseconds gvl_wait = load(&gvl_waited_for);
    return gvl_wait >= LATE && clock_now() - load(&gvl_acquired_at) < gvl_wait / 20 &&
           __atomic_load_n(&gvl_holder, __ATOMIC_RELAXED) == rb_thread_current();
}

/* Returns how long one wait with the GVL may take. */
static nanoseconds gvl_wait_limit(void) {
    return load(&gvl_waited_for) / 100;
}

/* Runs `function` without the GVL. Returns how long it took to get the GVL back. */
static nanoseconds without_gvl(void *(*function)(void *), waiting *w) {
    w->ended_at = NEVER; /* an interrupt may prevent the call of `function` */
    rb_nogvl(function, w, unblock, w, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    nanoseconds now = clock_now(), gvl_wait = w->ended_at == NEVER ? 0 : now - w->ended_at;
    __atomic_store_n(&gvl_holder, rb_thread_current(), __ATOMIC_RELAXED);
    __atomic_store_n(&gvl_acquired_at, now, __ATOMIC_RELAXED);
    __atomic_store_n(&gvl_waited_for, clock_earlier(gvl_wait, LATE_MOST), __ATOMIC_RELAXED);
    return gvl_wait;
}

/* ---- fibers ---- */

/* The interval of steps for exchanges without a descriptor to wait for. */
#define POLL_INTERVAL (10 * MILLISECOND)

/* How long calls may run without a wait before other fibers run. */
#define FIBER_YIELD_INTERVAL MILLISECOND

typedef struct {
    VALUE scheduler, io;
    exchange_loop *p;
    nanoseconds until;
    nanoseconds longest; /* longest wait of the scheduler, if `io` does not report all events */
    const stop_request *stop;
    nanoseconds *last_yield; /* set to when the other fibers last ran */
} loop_wait;

/* Returns an IO that does not close its descriptor, because closing one releases the GVL; nil for
 * -1. */
static VALUE borrowed_io(int descriptor) {
    if (descriptor < 0) return Qnil;
    rb_update_max_fd(descriptor);
    VALUE arguments[] = {INT2FIX(descriptor), borrowed};
    return rb_funcallv_kw(rb_cIO, id_for_fd, 2, arguments, RB_PASS_KEYWORDS);
}

/* Lets the scheduler wait for the IO until `due`; without an IO (nil), for POLL_INTERVAL at most.
 * If `due` is in the past, only lets the other fibers run. */
static void scheduler_wait(VALUE scheduler, VALUE io, int events, nanoseconds due) {
    nanoseconds now = clock_now();
    if (NIL_P(io)) due = clock_earlier(due, now + POLL_INTERVAL);
    VALUE span = INT2FIX(0);
    if (due > now) span = engine_seconds_or_nil(due == NEVER ? NEVER : clock_nap(due, now));
    if (due > now && !NIL_P(io))
        rb_fiber_scheduler_io_wait(scheduler, io, INT2FIX(events), span);
    else
        rb_fiber_scheduler_kernel_sleep(scheduler, span);
}

static VALUE wait_for_loop(VALUE argument) {
    const loop_wait *k = (const loop_wait *)argument;
    exchange_loop_arrive(k->p);
    exchange_loop_drive(k->p, 0, k->stop);
    while (!exchange_loop_has_ready(k->p) && !stop_is_set(k->stop)) {
        nanoseconds now = clock_now();
        if (now >= k->until) break;
        nanoseconds due = clock_earlier(k->until, exchange_loop_deadline(k->p));
        due = clock_earlier(due, clock_after(now, k->longest));
        exchange_loop_begin_fiber_wait(k->p); /* until the scheduler resumes this fiber */
        scheduler_wait(k->scheduler, k->io, RUBY_IO_READABLE, due);
        exchange_loop_arrive(k->p);
        *k->last_yield = clock_now();
        exchange_loop_drive(k->p, 0, k->stop);
    }
    return Qnil;
}

static VALUE depart_loop(VALUE argument) {
    exchange_loop_depart(((const loop_wait *)argument)->p);
    return Qnil;
}

/* Waits for an exchange loop in a fiber. A loop without a descriptor (without epoll) is polled
 * every POLL_INTERVAL; only its waker, `own`, ends that wait earlier. */
static void wait_for_loop_in_fiber(VALUE scheduler, exchange_loop *p, waker *own, nanoseconds until,
                                   const stop_request *stop, nanoseconds *last_yield) {
    int all = exchange_loop_descriptor(p);
    VALUE io = borrowed_io(all >= 0 ? all : waker_descriptor(own));
    loop_wait k = {scheduler, io, p, until, all >= 0 ? NEVER : POLL_INTERVAL, stop, last_yield};
    rb_ensure(wait_for_loop, (VALUE)&k, depart_loop, (VALUE)&k);
}

/* ---- one exchange in a fiber ---- */

typedef struct {
    VALUE scheduler;
    exchange *x;
    exchange_loop *p; /* used while several addresses are tried */
    step_result step;
} single_wait;

/* Waits for one socket. No waker is needed for that, because only this fiber drives the exchange,
 * and the scheduler raises interrupts of the fiber. The waker is for waits for name resolution and
 * in the pool's queue. */
static void wait_for_socket(const single_wait *a, struct pollfd wanted, nanoseconds due) {
    int events = (wanted.events & POLLIN ? RUBY_IO_READABLE : 0) |
                 (wanted.events & POLLOUT ? RUBY_IO_WRITABLE : 0);
    scheduler_wait(a->scheduler, borrowed_io(wanted.fd), events, due);
}

static VALUE race_connects(VALUE argument) {
    const single_wait *a = (const single_wait *)argument;
    const stop_request never = {0};
    nanoseconds last_yield;
    wait_for_loop_in_fiber(a->scheduler, a->p, a->x->waker, NEVER, &never, &last_yield);
    return Qnil;
}

/* Waits for several connects at once with an exchange loop, which has one descriptor for all of
 * them. Returns false when no loop can be made. */
static bool wait_for_first_connect(single_wait *a) {
    member m;
    a->p = exchange_loop_new(a->x->waker);
    if (a->p == NULL) return false;
    exchange_loop_add(a->p, &m, a->x, NULL);
    int state = 0;
    rb_protect(race_connects, (VALUE)a, &state);
    member *ready = exchange_loop_next(a->p);
    a->step = ready != NULL ? ready->step : STEP_WAIT;
    exchange_loop_remove(a->p, &m);
    exchange_join(a->x, NULL, NULL);
    exchange_loop_free(a->p);
    if (state != 0) rb_jump_tag(state);
    return true;
}

/* Makes the call that reads a shared connection also wait for its waker. */
static void watch_waker_too(exchange *x, struct pollfd *entry, nanoseconds *due) {
    int both = waker_with(x->waker, entry->fd, entry->events);
    if (both >= 0)
        *entry = (struct pollfd){.fd = both, .events = POLLIN};
    else
        *due = clock_earlier(*due, clock_now() + POLL_INTERVAL);
}

static step_result drive_in_fiber(exchange *x, VALUE scheduler, bool at_once) {
    single_wait a = {.scheduler = scheduler, .x = x, .step = STEP_WAIT};
    if (at_once) a.step = exchange_step(x, clock_now());
    while (a.step == STEP_WAIT) {
        struct pollfd entries[DIAL_MAX_ATTEMPTS];
        nanoseconds due;
        int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &due);
        if (count > 1 && wait_for_first_connect(&a)) continue;
        if (count > 1) due = clock_earlier(due, clock_now() + POLL_INTERVAL);
        if (count == 0)
            entries[0] = (struct pollfd){.fd = waker_descriptor(x->waker), .events = POLLIN};
        else if (x->http2 && x->state == EXCHANGE_TALKING)
            watch_waker_too(x, &entries[0], &due);
        wait_for_socket(&a, entries[0], due);
        waker_clear(x->waker);
        a.step = exchange_step(x, clock_now());
    }
    return a.step;
}

/* ---- functions for callers ---- */

step_result wait_drive(exchange *x, bool at_once) {
    VALUE scheduler = rb_fiber_scheduler_current();
    if (!NIL_P(scheduler)) return drive_in_fiber(x, scheduler, at_once);
    if (!at_once && wait_keeps_gvl() && exchange_wait_briefly(x, gvl_wait_limit())) {
        step_result step = exchange_step(x, clock_now());
        if (step != STEP_WAIT) return step;
    }
    (void)waker_descriptor(x->waker); /* opens it, because `unblock` must not */
    thread_stop stop = {0};
    wait_stop_begin(&stop);
    waiting w = {
        .x = x, .waker = x->waker, .step = STEP_WAIT, .at_once = at_once, .stop = &stop.request};
    for (;;) {
        stop_clear(w.stop);
        nanoseconds gvl_wait = without_gvl(drive_nogvl, &w);
        if (w.step != STEP_WAIT) {
            wait_note_gvl_wait(x, w.step, gvl_wait);
            return w.step;
        }
        exchange_depart(x); /* an interrupt may have prevented drive_nogvl, which does this too */
        rb_thread_check_ints();
        waker_arrive(x->waker);
        w.at_once = true; /* after departing, a step must decide what to wait for */
    }
}

/* Polls for ready members with the GVL, and waits a moment for them unless recent waits were in
 * vain. Returns whether there are any. */
static bool poll_with_gvl(exchange_loop *p, nanoseconds until, const stop_request *stop,
                          loop_waits *waits) {
    bool waits_now = waits->wait_skips == 0;
    exchange_loop_arrive(p);
    exchange_loop_drive(p, waits_now ? clock_earlier(until, clock_now() + gvl_wait_limit()) : 0,
                        stop);
    exchange_loop_depart(p);
    bool found = exchange_loop_has_ready(p);
    if (found)
        waits->wait_skips = waits->wait_backoff = 0;
    else if (!waits_now)
        waits->wait_skips--;
    else
        waits->wait_skips = waits->wait_backoff = backoff_next(waits->wait_backoff);
    return found;
}

void wait_exchange_loop(exchange_loop *p, waker *own, nanoseconds until, stop_request *stop,
                        loop_waits *waits) {
    VALUE scheduler = rb_fiber_scheduler_current();
    waits->gvl_wait = 0;
    if (!NIL_P(scheduler)) {
        wait_for_loop_in_fiber(scheduler, p, own, until, stop, &waits->last_yield);
        return;
    }
    if (!wait_keeps_gvl() || !poll_with_gvl(p, until, stop, waits)) {
        waiting w = {.p = p, .waker = own, .until = until, .stop = stop};
        waits->gvl_wait = without_gvl(poll_nogvl, &w);
    }
    rb_thread_check_ints();
}

void wait_yield_to_fibers(nanoseconds *last_yield) {
    if (clock_now() - *last_yield < FIBER_YIELD_INTERVAL) return;
    VALUE scheduler = rb_fiber_scheduler_current();
    if (!NIL_P(scheduler)) rb_fiber_scheduler_kernel_sleep(scheduler, INT2FIX(0));
    *last_yield = clock_now();
}

void wait_note_gvl_wait(exchange *x, step_result step, nanoseconds gvl_wait) {
    if (x->head == NULL || step == STEP_DONE || step == STEP_FAILED) return;
    if (x->timings.gvl < 0) x->timings.gvl = 0;
    x->timings.gvl += gvl_wait;
}

#define COPY_WITHOUT_GVL (256 * 1024)

typedef struct {
    void *to;
    const void *from;
    size_t length;
} copying;

static void *copy_nogvl(void *argument) {
    copying *c = argument;
    memcpy(c->to, c->from, c->length);
    c->length = 0;
    return NULL;
}

void wait_copy(void *to, const void *from, size_t length) {
    copying c = {to, from, length};
    if (length >= COPY_WITHOUT_GVL) rb_nogvl(copy_nogvl, &c, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (c.length > 0) memcpy(to, from, length);
}

void wait_init(void) {
    id_for_fd = rb_intern("for_fd");
    borrowed = rb_hash_new();
    rb_hash_aset(borrowed, ID2SYM(rb_intern("autoclose")), Qfalse);
    rb_gc_register_mark_object(rb_obj_freeze(borrowed));
}
