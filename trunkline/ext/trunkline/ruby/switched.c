#include "engine.h"

/*
 * Engine::Switched: the connection or stream of a request that has switched protocols, which its
 * caller owns (see transport/exchange/switched.h). The connection counts as in use until the object
 * is closed or garbage collected. No method waits; each returns what the caller must wait for. The
 * GVL, which all methods hold, ensures that one thread at a time uses `bytes`.
 */

typedef struct {
    switched *bytes; /* owned; NULL: closed */
    VALUE request;   /* for errors */
} switched_object;

static ID id_switched;
static VALUE cSwitched, sym_readable, sym_writable;

static void free_switched(switched_object *s) {
    switched *bytes = s->bytes;
    s->bytes = NULL;
    switched_free(bytes);
}

static void object_mark(void *data) {
    rb_gc_mark(((switched_object *)data)->request);
}

static void object_free(void *data) {
    free_switched(data);
    free(data);
}

static size_t object_size(const void *data) {
    const switched_object *s = data;
    return sizeof(*s) + (s->bytes != NULL ? switched_size(s->bytes) : 0);
}

static const rb_data_type_t switched_type = {
    .wrap_struct_name = "Trunkline::Engine::Switched",
    .function = {.dmark = object_mark, .dfree = object_free, .dsize = object_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

void switched_keep(VALUE response, exchange *x, VALUE request) {
    if (!exchange_switched(x)) return;
    switched_object *s = calloc(1, sizeof(*s));
    if (s == NULL) rb_memerror();
    s->request = request;
    VALUE self = TypedData_Wrap_Struct(cSwitched, &switched_type, s);
    s->bytes = switched_take(x);
    if (s->bytes == NULL) rb_memerror();
    rb_ivar_set(response, id_switched, self);
}

static switched_object *get(VALUE self) {
    switched_object *s = rb_check_typeddata(self, &switched_type);
    if (s->bytes == NULL) rb_raise(rb_eIOError, "closed connection");
    return s;
}

static VALUE result_of(const switched_object *s, io_result io, const failure *f) {
    switch (io) {
    case IO_READ: return sym_readable;
    case IO_WRITE: return sym_writable;
    case IO_DONE:
    case IO_END:
    case IO_TRUNCATED: return Qnil;
    default: errors_raise_failure(f, s->request);
    }
}

#define READ_BYTES (16 * 1024)

/* call-seq: read -> String; nil at the end; :readable or :writable, which the caller must wait for
 */
static VALUE switched_read_get(VALUE self) {
    const switched_object *s = get(self);
    uint8_t bytes[READ_BYTES];
    size_t count = 0;
    failure f = {0};
    io_result io = switched_read(s->bytes, bytes, sizeof(bytes), &count, &f);
    return io == IO_DONE ? rb_str_new((const char *)bytes, (long)count) : result_of(s, io, &f);
}

/* call-seq: write(string, from) -> Integer, bytes; :readable or :writable; nil: the end */
static VALUE switched_write_get(VALUE self, VALUE string, VALUE from) {
    StringValue(string);
    long start = NUM2LONG(from), length = RSTRING_LEN(string);
    const switched_object *s = get(self);
    if (start < 0 || start > length) rb_raise(rb_eArgError, "from: must be within the String");
    size_t count = 0;
    failure f = {0};
    io_result io =
        switched_write(s->bytes, RSTRING_PTR(string) + start, (size_t)(length - start), &count, &f);
    return io == IO_DONE ? SIZET2NUM(count) : result_of(s, io, &f);
}

/* call-seq: flush -> nil: all written bytes were handed to the system; :readable or :writable */
static VALUE switched_flush_get(VALUE self) {
    const switched_object *s = get(self);
    failure f = {0};
    return result_of(s, switched_flush(s->bytes, &f), &f);
}

/* call-seq: rest; to be called when a reader stops waiting for what #read returned */
static VALUE switched_rest_get(VALUE self) {
    switched_end_wait(get(self)->bytes);
    return Qnil;
}

/* call-seq: descriptor -> Integer, to wait for */
static VALUE switched_descriptor_get(VALUE self) {
    return INT2NUM(switched_descriptor(get(self)->bytes));
}

/* call-seq: shutdown; ends all waits for the descriptor, in other threads too */
static VALUE switched_shutdown_get(VALUE self) {
    const switched_object *s = rb_check_typeddata(self, &switched_type);
    if (s->bytes != NULL) switched_shutdown(s->bytes);
    return Qnil;
}

/* call-seq: close; no thread may be waiting for the descriptor */
static VALUE switched_close_get(VALUE self) {
    free_switched(rb_check_typeddata(self, &switched_type));
    return Qnil;
}

void switched_init(void) {
    id_switched = rb_intern("@switched");
    sym_readable = ID2SYM(rb_intern("readable"));
    sym_writable = ID2SYM(rb_intern("writable"));
    cSwitched = rb_define_class_under(mEngine, "Switched", rb_cObject);
    rb_gc_register_mark_object(cSwitched);
    rb_undef_alloc_func(cSwitched);
    rb_define_method(cSwitched, "read", switched_read_get, 0);
    rb_define_method(cSwitched, "write", switched_write_get, 2);
    rb_define_method(cSwitched, "flush", switched_flush_get, 0);
    rb_define_method(cSwitched, "rest", switched_rest_get, 0);
    rb_define_method(cSwitched, "descriptor", switched_descriptor_get, 0);
    rb_define_method(cSwitched, "shutdown", switched_shutdown_get, 0);
    rb_define_method(cSwitched, "close", switched_close_get, 0);
}
