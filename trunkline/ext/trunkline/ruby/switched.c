#include "engine.h"

#include <sys/socket.h>

/*
 * Engine::Switched: a connection after 101 (Switching Protocols), which belongs to its caller. It
 * counts as in use until it is closed or collected. Nothing here waits: what must be waited for is
 * returned. Calls hold the GVL, so that one at a time uses the TLS session.
 */

typedef struct {
    pool *pool;             /* one reference */
    connection *connection; /* NULL: closed */
    buffer rest;            /* owned; came behind the answer, and is read first */
    VALUE request;          /* for errors */
} switched;

static ID id_switched;
static VALUE cSwitched, sym_readable, sym_writable;

static void let_go(switched *s) {
    if (s->connection != NULL) pool_discard(s->pool, s->connection, true);
    s->connection = NULL;
}

static void switched_mark(void *data) {
    rb_gc_mark(((switched *)data)->request);
}

static void switched_free(void *data) {
    switched *s = data;
    let_go(s);
    buffer_free(&s->rest);
    if (s->pool != NULL) pool_release(s->pool);
    free(s);
}

static size_t switched_size(const void *data) {
    const switched *s = data;
    return sizeof(*s) + s->rest.capacity;
}

static const rb_data_type_t switched_type = {
    .wrap_struct_name = "Trunkline::Engine::Switched",
    .function = {.dmark = switched_mark, .dfree = switched_free, .dsize = switched_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

void switched_keep(VALUE response, exchange *x, VALUE request) {
    switched *s = calloc(1, sizeof(*s));
    if (s == NULL) rb_memerror();
    s->request = request;
    VALUE self = TypedData_Wrap_Struct(cSwitched, &switched_type, s);
    s->connection = exchange_take_switched(x, &s->rest);
    if (s->connection == NULL) return;
    s->pool = pool_keep(x->pool);
    rb_ivar_set(response, id_switched, self);
}

static switched *get(VALUE self) {
    switched *s = rb_check_typeddata(self, &switched_type);
    if (s->connection == NULL) rb_raise(rb_eIOError, "closed connection");
    return s;
}

static VALUE result_of(const switched *s, io_result io, const failure *f) {
    switch (io) {
    case IO_READ: return sym_readable;
    case IO_WRITE: return sym_writable;
    case IO_END:
    case IO_TRUNCATED: return Qnil;
    default: errors_raise_failure(f, s->request);
    }
}

#define READ_BYTES (16 * 1024)

/* call-seq: read -> String; nil at the end; :readable or :writable, which must be waited for */
static VALUE switched_read(VALUE self) {
    switched *s = get(self);
    size_t count = buffer_length(&s->rest);
    if (count > 0) {
        VALUE rest = rb_str_new((const char *)buffer_head(&s->rest), (long)count);
        buffer_clear(&s->rest);
        return rest;
    }
    uint8_t bytes[READ_BYTES];
    failure f = {0};
    io_result io = connection_read(s->connection, bytes, sizeof(bytes), &count, &f);
    return io == IO_DONE ? rb_str_new((const char *)bytes, (long)count) : result_of(s, io, &f);
}

/* call-seq: write(string, from) -> Integer, bytes; :readable or :writable; nil: the end */
static VALUE switched_write(VALUE self, VALUE string, VALUE from) {
    switched *s = get(self);
    StringValue(string);
    long start = NUM2LONG(from), length = RSTRING_LEN(string);
    if (start < 0 || start > length) rb_raise(rb_eArgError, "from: must be within the String");
    size_t count = 0;
    failure f = {0};
    io_result io = connection_write(s->connection, RSTRING_PTR(string) + start,
                                    (size_t)(length - start), &count, &f);
    return io == IO_DONE ? SIZET2NUM(count) : result_of(s, io, &f);
}

/* call-seq: descriptor -> Integer, to wait for */
static VALUE switched_descriptor(VALUE self) {
    return INT2NUM(get(self)->connection->descriptor);
}

/* call-seq: shutdown; ends the waits for it, in other threads too */
static VALUE switched_shutdown(VALUE self) {
    switched *s = rb_check_typeddata(self, &switched_type);
    if (s->connection != NULL && s->connection->descriptor >= 0)
        shutdown(s->connection->descriptor, SHUT_RDWR);
    return Qnil;
}

/* call-seq: close; nobody may be waiting for the descriptor any more */
static VALUE switched_close(VALUE self) {
    let_go(rb_check_typeddata(self, &switched_type));
    return Qnil;
}

void switched_init(void) {
    id_switched = rb_intern("@switched");
    sym_readable = ID2SYM(rb_intern("readable"));
    sym_writable = ID2SYM(rb_intern("writable"));
    cSwitched = rb_define_class_under(mEngine, "Switched", rb_cObject);
    rb_gc_register_mark_object(cSwitched);
    rb_undef_alloc_func(cSwitched);
    rb_define_method(cSwitched, "read", switched_read, 0);
    rb_define_method(cSwitched, "write", switched_write, 2);
    rb_define_method(cSwitched, "descriptor", switched_descriptor, 0);
    rb_define_method(cSwitched, "shutdown", switched_shutdown, 0);
    rb_define_method(cSwitched, "close", switched_close, 0);
}
