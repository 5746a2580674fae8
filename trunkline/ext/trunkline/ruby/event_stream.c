#include "engine.h"

#include "protocol/event_stream.h"

/* Trunkline::EventStreamParser: returns the bytes that it is fed as ServerSentEvents. */

typedef struct {
    event_stream stream;
    VALUE chunk; /* frozen; the bytes being parsed; pinned: the stream points into it */
    VALUE id;    /* String or nil; the last event ID */
    VALUE type;  /* frozen String; the type of the last event that had one, or nil */
} event_parser;

static VALUE cEvent, usual_type;
static ID id_data, id_id, id_type, id_retry, id_too_large;

static void parser_mark(void *data) {
    event_parser *p = data;
    rb_gc_mark(p->chunk);
    rb_gc_mark(p->id);
    rb_gc_mark(p->type);
}

static void parser_free(void *data) {
    event_parser *p = data;
    event_stream_free(&p->stream);
    xfree(p);
}

static size_t parser_size(const void *data) {
    const event_stream *s = &((const event_parser *)data)->stream;
    return sizeof(event_parser) + s->line.capacity + s->data.own.capacity + s->type.own.capacity +
           s->next_id.capacity + s->id.capacity;
}

static const rb_data_type_t parser_type = {
    .wrap_struct_name = "Trunkline::EventStreamParser",
    .function = {.dmark = parser_mark, .dfree = parser_free, .dsize = parser_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE parser_allocate(VALUE class) {
    event_parser *p;
    VALUE self = TypedData_Make_Struct(class, event_parser, &parser_type, p);
    p->chunk = p->id = p->type = Qnil;
    event_stream_begin(&p->stream, SIZE_MAX);
    return self;
}

static event_parser *parser_get(VALUE self) {
    return rb_check_typeddata(self, &parser_type);
}

/* call-seq: _begin(limit, last_event_id) -> nil
 *
 * Begins a stream, and drops all bytes fed before. limit: bytes, or nil. */
static VALUE parser_begin(VALUE self, VALUE limit, VALUE id) {
    event_parser *p = parser_get(self);
    size_t most = NIL_P(limit) ? SIZE_MAX : NUM2SIZET(limit);
    if (!NIL_P(id)) StringValue(id);
    event_stream_free(&p->stream);
    event_stream_begin(&p->stream, most);
    p->chunk = p->id = Qnil;
    if (!NIL_P(id) && !event_stream_set_id(&p->stream, RSTRING_PTR(id), (size_t)RSTRING_LEN(id)))
        rb_memerror();
    RB_GC_GUARD(id);
    return Qnil;
}

/* call-seq: self << chunk -> self
 *
 * The chunk is not copied, but may be changed by the caller afterwards. */
static VALUE parser_feed(VALUE self, VALUE chunk) {
    event_parser *p = parser_get(self);
    StringValue(chunk);
    long left = (long)(p->stream.end - p->stream.at);
    if (left > 0 && p->stream.state == EVENT_STREAM_MORE) {
        VALUE given = chunk;
        chunk = rb_str_new((const char *)p->stream.at, left);
        chunk = rb_str_cat(chunk, RSTRING_PTR(given), RSTRING_LEN(given));
        RB_GC_GUARD(given);
    }
    chunk = rb_str_new_frozen(chunk);
    RB_OBJ_WRITE(self, &p->chunk, chunk);
    event_stream_feed(&p->stream, RSTRING_PTR(chunk), (size_t)RSTRING_LEN(chunk));
    return self;
}

/* Decodes a text as UTF-8; invalid bytes become U+FFFD. */
static VALUE decoded(const void *bytes, size_t length) {
    VALUE text = rb_utf8_str_new(bytes, (long)length);
    if (rb_enc_str_coderange(text) == ENC_CODERANGE_BROKEN) text = rb_str_scrub(text, Qnil);
    return text;
}

/* Returns the event's type; reuses the last String, because types repeat. */
static VALUE type_of(VALUE self, event_parser *p, event_text text) {
    if (text.length == 0) return usual_type;
    if (!NIL_P(p->type) && (size_t)RSTRING_LEN(p->type) == text.length &&
        memcmp(RSTRING_PTR(p->type), text.bytes, text.length) == 0)
        return p->type;
    VALUE type = rb_str_to_interned_str(decoded(text.bytes, text.length));
    RB_OBJ_WRITE(self, &p->type, type);
    return type;
}

static VALUE id_of(VALUE self, event_parser *p) {
    event_stream *s = &p->stream;
    if (s->id_changed) {
        VALUE id = rb_obj_freeze(decoded(buffer_head(&s->id), buffer_length(&s->id)));
        RB_OBJ_WRITE(self, &p->id, id);
        s->id_changed = false;
    }
    return p->id;
}

static VALUE seconds_of(int64_t milliseconds) {
    return milliseconds < 0 ? Qnil : DBL2NUM((double)milliseconds / 1000);
}

/* The texts of `e` are valid until the next call of the parser. */
static VALUE event_of(VALUE self, event_parser *p, const server_event *e) {
    VALUE data = rb_obj_freeze(decoded(e->data.bytes, e->data.length));
    VALUE type = type_of(self, p, e->type), id = id_of(self, p);
    VALUE event = rb_obj_alloc(cEvent);
    rb_ivar_set(event, id_data, data);
    rb_ivar_set(event, id_type, type);
    rb_ivar_set(event, id_id, id);
    if (e->retry >= 0) rb_ivar_set(event, id_retry, seconds_of(e->retry));
    return rb_obj_freeze(event);
}

/* call-seq: next_event -> ServerSentEvent, or nil: more must be fed */
static VALUE parser_next(VALUE self) {
    event_parser *p = parser_get(self);
    server_event event;
    switch (event_stream_next(&p->stream, &event)) {
    case EVENT_STREAM_EVENT: return event_of(self, p, &event);
    case EVENT_STREAM_TOO_LARGE: rb_exc_raise(rb_funcall(self, id_too_large, 0));
    case EVENT_STREAM_NO_MEMORY: rb_memerror();
    case EVENT_STREAM_MORE: break;
    }
    p->chunk = Qnil;
    return Qnil;
}

static VALUE parser_last_id(VALUE self) {
    return id_of(self, parser_get(self));
}

static VALUE parser_retry(VALUE self) {
    return seconds_of(parser_get(self)->stream.retry);
}

/* event_of sets the instance variables in the same order as the Ruby class does, with @retry last,
 * because Ruby 3.1 keeps only three in the object. */
void event_stream_init(void) {
    id_data = rb_intern("@data");
    id_type = rb_intern("@type");
    id_id = rb_intern("@id");
    id_retry = rb_intern("@retry");
    id_too_large = rb_intern("too_large");
    usual_type = rb_obj_freeze(rb_utf8_str_new_cstr("message"));
    rb_gc_register_mark_object(usual_type);
    cEvent = rb_define_class_under(mTrunkline, "ServerSentEvent", rb_cObject);
    rb_gc_register_mark_object(cEvent);
    VALUE class = rb_define_class_under(mTrunkline, "EventStreamParser", rb_cObject);
    rb_define_alloc_func(class, parser_allocate);
    rb_define_private_method(class, "_begin", parser_begin, 2);
    rb_define_method(class, "<<", parser_feed, 1);
    rb_define_method(class, "next_event", parser_next, 0);
    rb_define_method(class, "last_event_id", parser_last_id, 0);
    rb_define_method(class, "retry", parser_retry, 0);
}
