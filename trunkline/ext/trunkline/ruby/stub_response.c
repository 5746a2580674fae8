#include "engine.h"

/* Responses without a connection, for stubs in tests. The HTTP/1 parser parses their heads. */

static void take_head(response *r, VALUE raw_head) {
    http1_response parser = {0};
    VALUE head = rb_str_new(RSTRING_PTR(raw_head),
                            RSTRING_LEN(raw_head)); /* a copy, as the parser may write to it */
    uint8_t *bytes = (uint8_t *)RSTRING_PTR(head);
    http1_begin(&parser, &http1_default_limits, true);
    http1_result result = http1_head(&parser, bytes, (size_t)RSTRING_LEN(head));
    bool ok = result == HTTP1_DONE && response_keep_head(r, &parser, bytes);
    failure_code code = result == HTTP1_DONE     ? FAILURE_OUT_OF_MEMORY
                        : result == HTTP1_FAILED ? parser.failure
                                                 : FAILURE_TRUNCATED_HEAD;
    http1_free(&parser);
    RB_GC_GUARD(head);
    RB_GC_GUARD(raw_head);
    if (ok) return;

    failure why = {.code = code, .phase = PHASE_READ};
    errors_raise_failure(&why, r->request);
}

/* Sets the facts of one attempt that took no time: nothing was resolved, connected or sent. */
static void set_metadata(response *r) {
    r->timings = (exchange_timings){-1, -1, -1, -1, -1, -1, 0, 0, 0};
    r->connection_age = -1;
    r->attempts[0] = (attempt){.reason = ATTEMPT_FIRST, .sent = SENT_ALL};
    r->attempt_count = 1;
    r->framing = HTTP1_FRAMING_LENGTH;
    r->complete = true;
}

/* Returns a new String that shares the bytes until one of the two is changed. */
static VALUE bytes_of(VALUE body) {
    VALUE bytes;
    if (rb_obj_class(body) != rb_cString) {
        bytes = rb_str_new(RSTRING_PTR(body), RSTRING_LEN(body));
    } else {
        bytes = rb_str_dup(body);
        rb_enc_associate(bytes, rb_ascii8bit_encoding());
    }
    RB_GC_GUARD(body);
    return bytes;
}

/* call-seq: Engine.response(request, head, body) -> Response; see lib/trunkline/engine.rb */
static VALUE stubbed(VALUE module, VALUE request, VALUE head, VALUE body) {
    (void)module;
    StringValue(head);
    StringValue(body);
    response *r;
    VALUE self = response_allocate(&r);
    RB_OBJ_WRITE(self, &r->request, request);
    RB_OBJ_WRITE(self, &r->body, bytes_of(body));
    take_head(r, head);
    set_metadata(r);
    response_set_encoding(r, r->body);
    return self;
}

void stub_response_init(void) {
    rb_define_singleton_method(mEngine, "response", stubbed, 3);
}
