#include "request.h"

#include <stdarg.h>
#include <string.h>

static ID id_failure;
static VALUE eInvalidRequest;

static const char *const code_names[] = {
#define X(name, class_name, words) #name,
    FAILURE_CODES(X)
#undef X
};

static bool is_timeout(failure_code code) {
    return code >= FAILURE_QUEUE_TIMEOUT && code <= FAILURE_TOTAL_TIMEOUT;
}

/* Makes a String of text from the system or the server: UTF-8 if it is valid, else binary. */
static VALUE words_of(const char *text) {
    VALUE string = rb_utf8_str_new_cstr(text);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN)
        rb_enc_associate(string, rb_ascii8bit_encoding());
    return string;
}

static VALUE facts_of(const failure *f) {
    VALUE facts = rb_hash_new();
    rb_hash_aset(facts, engine_symbol("code"), engine_symbol(code_names[f->code]));
    rb_hash_aset(facts, engine_symbol("words"), words_of(failure_words(f->code)));
    rb_hash_aset(facts, engine_symbol("detail"), words_of(f->detail));
    rb_hash_aset(facts, engine_symbol("phase"), engine_symbol(phase_word(f->phase)));
    rb_hash_aset(facts, engine_symbol("errno"), INT2NUM(f->system_error));
    return facts;
}

static VALUE exception_for(const failure *f, VALUE facts) {
    return rb_funcall(mEngine, id_failure, 2, engine_symbol(failure_class(f->code)), facts);
}

/* Adds a proxy's response that refused CONNECT. */
static void add_refusal(VALUE facts, const refusal *r) {
    const http1_response *head = &r->response;
    const buffer *body = &r->body;
    rb_hash_aset(facts, engine_symbol("status"), INT2NUM(head->status));
    rb_hash_aset(facts, engine_symbol("fields"),
                 response_fields(head->fields, head->field_count, r->head));
    rb_hash_aset(facts, engine_symbol("body"),
                 rb_str_new((const char *)body->bytes + body->start, (long)buffer_length(body)));
}

/* The data of a call that an error contains. All of it is borrowed. */
typedef struct {
    const failure *why;
    VALUE request;
    const char *label;
    const attempt *attempts;
    uint32_t attempt_count;
    nanoseconds elapsed, allowed, connection_age;
    bool unprocessed;       /* the server has not processed the last attempt */
    const refusal *refused; /* NULL: no proxy refused */
} report;

/* Returns how much of the request a server may have received, over all attempts. */
static sent_state sent_in_all(const report *t) {
    sent_state most = SENT_NONE;
    for (uint32_t i = 0; i < t->attempt_count; i++)
        most = t->attempts[i].sent > most ? t->attempts[i].sent : most;
    return most;
}

static VALUE exception_of(const report *t) {
    const attempt *last = t->attempt_count > 0 ? &t->attempts[t->attempt_count - 1] : NULL;
    sent_state sent = sent_in_all(t);
    VALUE facts = facts_of(t->why);
    rb_hash_aset(facts, engine_symbol("request"), t->request);
    rb_hash_aset(facts, engine_symbol("elapsed"), engine_seconds_or_nil(t->elapsed));
    rb_hash_aset(facts, engine_symbol("limit"),
                 is_timeout(t->why->code) ? engine_seconds_or_nil(t->allowed) : Qnil);
    rb_hash_aset(facts, engine_symbol("attempt"), UINT2NUM(t->attempt_count));
    rb_hash_aset(facts, engine_symbol("sent"), engine_symbol(sent_word(sent)));
    rb_hash_aset(facts, engine_symbol("connection_age"), engine_seconds_or_nil(t->connection_age));
    rb_hash_aset(facts, engine_symbol("address"),
                 last && last->address[0] ? rb_utf8_str_new_cstr(last->address) : Qnil);
    rb_hash_aset(facts, engine_symbol("label"), rb_utf8_str_new_cstr(t->label));
    rb_hash_aset(facts, engine_symbol("attempts"),
                 response_attempts(t->attempts, t->attempt_count));
    rb_hash_aset(facts, engine_symbol("unprocessed"),
                 t->unprocessed && sent == SENT_NONE ? Qtrue : Qfalse);
    if (t->refused != NULL) add_refusal(facts, t->refused);
    return exception_for(t->why, facts);
}

VALUE errors_build(const exchange *x, VALUE request) {
    const report t = {.why = &x->why,
                      .request = request,
                      .label = x->request.to->label,
                      .attempts = x->attempts,
                      .attempt_count = x->attempt_count,
                      .elapsed = x->timings.total,
                      .allowed = x->allowed,
                      .connection_age = x->connection_age,
                      .unprocessed = x->http2 && x->unprocessed,
                      .refused = x->refused};
    return exception_of(&t);
}

void errors_raise(const exchange *x, VALUE request) {
    rb_exc_raise(errors_build(x, request));
}

void errors_raise_broken(const response *r) {
    static const broken_response unknown = {
        .why = {.code = FAILURE_OUT_OF_MEMORY, .phase = PHASE_READ}, .allowed = -1};
    const broken_response *broken = r->broken != NULL ? r->broken : &unknown;
    const report t = {.why = &broken->why,
                      .request = r->request,
                      .label = origin_get(request_get(r->request)->origin)->to.label,
                      .attempts = r->attempts,
                      .attempt_count = r->attempt_count,
                      .elapsed = r->timings.total,
                      .allowed = broken->allowed,
                      .connection_age = r->connection_age,
                      .unprocessed = broken->unprocessed};
    rb_exc_raise(exception_of(&t));
}

/* Raises for a failure without an exchange. Before the write phase nothing was sent. */
void errors_raise_failure(const failure *f, VALUE request) {
    VALUE facts = facts_of(f);
    rb_hash_aset(facts, engine_symbol("request"), request);
    if (!NIL_P(request)) {
        const origin_object *origin = origin_get(request_get(request)->origin);
        rb_hash_aset(facts, engine_symbol("label"), rb_utf8_str_new_cstr(origin->to.label));
    }
    if (f->phase < PHASE_WRITE)
        rb_hash_aset(facts, engine_symbol("sent"), engine_symbol(sent_word(SENT_NONE)));
    rb_exc_raise(exception_for(f, facts));
}

void errors_invalid(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    VALUE message = rb_vsprintf(format, arguments);
    va_end(arguments);
    rb_exc_raise(rb_exc_new_str(eInvalidRequest, message));
}

void errors_init(void) {
    id_failure = rb_intern("failure");
    eInvalidRequest = rb_const_get(mTrunkline, rb_intern("InvalidRequest"));
    rb_gc_register_mark_object(eInvalidRequest);
}
