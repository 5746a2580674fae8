#include "request.h"

#include <ruby/fiber/scheduler.h>
#include <string.h>

/* Does what an exchange's steps require of Ruby, and stores its result, for single calls and for
 * Multi. */

/* The most bytes that a body's String has at first, even if its Content-Length is greater. */
#define BODY_BUFFER_MOST (64 * 1024 * 1024)

static ID id_next_chunk, id_call, id_start;

/* ---- beginning an exchange ---- */

static void fill_content(exchange_request *out, request_object *request) {
    out->body_length = request->content_length;
    if (RB_TYPE_P(request->content, T_STRING)) {
        out->body = request_content_bytes(request);
        out->body_length = RSTRING_LEN(request->content);
    } else {
        out->fed = !NIL_P(request->content);
    }
}

/* A fiber waits for the socket only, so that most of its calls need no descriptor for a waker. */
static waker *waker_of_call(VALUE request) {
    if (NIL_P(rb_fiber_scheduler_current())) return descriptors_waker(request);
    waker *w = waker_take_unopened();
    if (w == NULL) rb_memerror();
    return w;
}

/* Takes the waker after the other steps that may raise, so that it does not leak. */
VALUE response_begin(VALUE pool_object, VALUE request_value, VALUE deadline, bool only_connects,
                     waker *w) {
    response_warn_of_dropped();
    pool *connections = pool_get(pool_object);
    request_object *request = request_sendable(request_value);
    origin_object *origin = origin_get(request->origin);
    nanoseconds until = engine_seconds(deadline);
    origin_need_key(origin, request_value);
    exchange_request out = {
        .to = &origin->to,
        .options = &origin->config->options,
        .head = request->head,
        .head_length = request->head_length,
        .head_method = request->head_method,
        .safe_method = request->safe_method,
        .sends_close = request->sends_close,
        .streaming = request->streaming,
        .reports_hints = !NIL_P(request->early_hints),
        .reports_progress = !NIL_P(request->progress),
        .only_connects = only_connects,
        .upgrades = request->upgrades,
    };
    fill_content(&out, request);
    out.expects = request->expects && out.options->expect > 0 && out.body_length != 0;

    response *r;
    VALUE self = response_allocate(&r);
    RB_OBJ_WRITE(self, &r->request, request_value);
    waker *own = w == NULL ? waker_of_call(request_value) : NULL;
    r->live = exchange_new();
    if (r->live == NULL) {
        waker_drop(own);
        rb_memerror();
    }
    exchange_begin(r->live, &out, connections, w != NULL ? w : own, until);
    waker_drop(own);
    return self;
}

/* ---- serving steps ---- */

static void feed(response *r) {
    VALUE piece = rb_funcall(request_get(r->request)->content, id_next_chunk, 0);
    if (NIL_P(piece)) {
        exchange_feed(r->live, NULL, 0);
        return;
    }
    StringValue(piece);
    if (RSTRING_LEN(piece) == 0) return; /* next_chunk is called again */
    exchange_feed(r->live, RSTRING_PTR(piece), (size_t)RSTRING_LEN(piece));
    RB_GC_GUARD(piece);
}

static void call_early_hints(response *r) {
    hint *last = r->live->hints;
    while (last->next != NULL) last = last->next;
    VALUE fields = response_fields(last->fields, last->field_count, last->bytes);
    rb_funcall(request_get(r->request)->early_hints, id_call, 1, fields);
}

static void call_progress(response *r) {
    const request_object *request = request_get(r->request);
    int64_t total = request->content_length;
    bool over;
    VALUE bytes = ULL2NUM(exchange_progress(r->live, &over));
    rb_funcall(request->progress, id_call, 3, bytes, total < 0 ? Qnil : LL2NUM(total),
               over ? Qtrue : Qfalse);
}

static void open_body_buffer(VALUE self, response *r) {
    int64_t length = r->live->response.content_length;
    long room = (long)(length < BODY_BUFFER_MOST ? length : BODY_BUFFER_MOST);
    RB_OBJ_WRITE(self, &r->body, rb_str_buf_new(room));
    r->body_is_buffer = true;
    exchange_set_body_buffer(r->live, (uint8_t *)RSTRING_PTR(r->body), (size_t)room);
}

static void widen_body_buffer(response *r) {
    exchange *x = r->live;
    long filled = (long)x->delivered;
    long left = (long)(x->response.content_length - x->delivered);
    long more = left < filled ? left : filled;
    rb_str_set_len(r->body, filled);
    rb_str_modify_expand(r->body, more);
    exchange_set_body_buffer(x, (uint8_t *)RSTRING_PTR(r->body) + filled, (size_t)more);
}

VALUE response_take_body(exchange *x, VALUE into) {
    size_t length = buffer_length(&x->body);
    VALUE body = NIL_P(into) ? rb_str_new(NULL, (long)length) : into;
    if (!NIL_P(into)) {
        rb_str_modify(into);
        rb_str_resize(into, (long)length);
        rb_enc_associate(into, rb_ascii8bit_encoding());
    }
    if (length > 0) wait_copy(RSTRING_PTR(body), buffer_head(&x->body), length);
    buffer_clear(&x->body);
    return body;
}

/* Collects garbage, unless another exchange has done so since `x` began to wait. GC.start also
 * collects while the program has disabled GC. */
static void collect(const exchange *x) {
    static nanoseconds last; /* with the GVL */
    if (last < x->waits_since) {
        last = clock_now();
        rb_funcall(rb_mGC, id_start, 0);
        response_warn_of_dropped();
    }
}

bool response_handle_step(VALUE self, response *r, step_result step) {
    if (r->live->progress_due) call_progress(r);
    switch (step) {
    case STEP_BODY_WANTED: feed(r); return true;
    case STEP_HINTS: call_early_hints(r); return true;
    case STEP_BODY_BUFFER_FULL: widen_body_buffer(r); return true;
    case STEP_COLLECT: collect(r->live); return true;
    case STEP_HEAD:
        if (r->live->request.streaming) return false;
        open_body_buffer(self, r);
        return true;
    default: return step == STEP_WAIT || step == STEP_PROGRESS;
    }
}

/* ---- keeping the result ---- */

void response_take_head(response *r) {
    exchange *x = r->live;
    r->http2 = x->http2;
    if (!response_keep_head(r, &x->response, x->head)) rb_memerror();
}

static void copy_metadata(response *r) {
    exchange *x = r->live;
    r->timings = x->timings;
    r->connection_id = x->connection_id;
    r->connection_age = x->connection_age;
    r->reused = x->reused;
    r->body_begun = x->body_begun;
    r->tls_version = x->tls_version;
    r->tls_cipher = x->tls_cipher;
    r->attempt_count = x->attempt_count;
    memcpy(r->attempts, x->attempts, x->attempt_count * sizeof(*r->attempts));
    r->early_hints = x->hints;
    x->hints = NULL;
}

static void keep_rest(response *r) {
    exchange *x = r->live;
    if (x->response.trailer_count > 0) {
        r->trailers = x->response.trailers;
        r->trailer_count = x->response.trailer_count;
        r->trailer_bytes = x->response.trailer_bytes.bytes;
        x->response.trailers = NULL;
        x->response.trailer_count = x->response.trailer_capacity = 0;
        memset(&x->response.trailer_bytes, 0, sizeof(x->response.trailer_bytes));
    }
    r->complete = true;
}

/* Without memory the reason of the failure is lost, but reading still raises: see read_piece. */
static void keep_failure(response *r) {
    const exchange *x = r->live;
    r->broken = malloc(sizeof(*r->broken));
    if (r->broken != NULL)
        *r->broken = (broken_response){x->why, x->allowed, x->http2 && x->unprocessed};
}

void response_end(response *r) {
    exchange *x = r->live;
    if (x == NULL) return;
    exchange_abort(x);
    copy_metadata(r);
    if (r->head != NULL && !r->complete) keep_failure(r);
    r->live = NULL;
    exchange_free(x);
}

void response_conclude(VALUE self, response *r) {
    exchange *x = r->live;
    if (r->head == NULL) response_take_head(r);
    r->body_is_buffer = false;
    if (x->body_buffer != NULL)
        rb_str_set_len(r->body, (long)x->delivered);
    else if (!x->request.streaming)
        RB_OBJ_WRITE(self, &r->body, response_take_body(x, Qnil));
    if (!x->request.streaming) response_set_encoding(r, r->body);
    keep_rest(r);
    if (x->request.upgrades) switched_keep(self, x, r->request);
    if (x->timings.gvl > 0) x->timings.total -= x->timings.gvl;
    x->timings.gvl = clock_now() - x->began - x->timings.total;
    response_end(r);
}

void response_builder_init(void) {
    id_next_chunk = rb_intern("next_chunk");
    id_call = rb_intern("call");
    id_start = rb_intern("start");
}
