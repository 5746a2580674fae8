#include "document.h"

#include <limits.h>
#include <ruby.h>
#include <ruby/encoding.h>

/* An element whose end tag has not been reached. */
typedef struct {
    VALUE hash;
    VALUE text; /* all of its texts, or nil */
    int name;
    bool has_elements;
    bool referenced; /* one of its texts was a reference */
} frame;

/* The state of making a Hash from the events; on the stack of one call. */
typedef struct {
    const document *doc;
    VALUE names; /* Strings, by the names' indices */
    frame *frames;
    int depth;
} builder;

static VALUE eParseError, str_content, re_blank;

static void holder_free(void *data) {
    document_free(data);
}

static size_t holder_size(const void *data) {
    return data ? document_memory(data) : 0;
}

/* Frees the document even if making objects from it raises. */
static const rb_data_type_t holder_type = {
    .wrap_struct_name = "Trunkline::XML::Parser::Document",
    .function = {.dfree = holder_free, .dsize = holder_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE name_string(builder *b, int index) {
    VALUE name = rb_ary_entry(b->names, index);
    if (!NIL_P(name)) return name;
    const document_name *parts = &b->doc->names[index];
    if (parts->prefix) {
        name = rb_enc_sprintf(rb_utf8_encoding(), "%s:%s", parts->prefix, parts->local);
        name = rb_str_to_interned_str(name);
    } else {
        name = rb_enc_interned_str_cstr(parts->local, rb_utf8_encoding());
    }
    rb_ary_store(b->names, index, name);
    return name;
}

static VALUE bytes_string(const builder *b, const event *e) {
    return rb_utf8_str_new(e->size ? b->doc->bytes + e->offset : "", (long)e->size);
}

/* Adds a value; values of the same name become an Array. */
static void merge(VALUE hash, VALUE key, VALUE value) {
    VALUE existing = rb_hash_lookup2(hash, key, Qundef);
    if (existing == Qundef)
        rb_hash_aset(hash, key, value);
    else if (RB_TYPE_P(existing, T_ARRAY))
        rb_ary_push(existing, value);
    else
        rb_hash_aset(hash, key, rb_ary_new_from_args(2, existing, value));
}

/* Returns whether the element has text content. White space between elements is not content, unless
 * it was written as a reference. */
static bool content_p(const frame *f) {
    if (NIL_P(f->text)) return false;
    if (!f->has_elements || f->referenced) return true;
    const char *at = RSTRING_PTR(f->text), *end = RSTRING_END(f->text);
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
    if (at == end) return false;
    if ((unsigned char)*at < 0x80) return true;
    return !RTEST(rb_funcall(re_blank, rb_intern("match?"), 1, f->text));
}

static void add_text(builder *b, const event *e) {
    if (b->depth == 0) return;
    frame *f = &b->frames[b->depth - 1];
    if (NIL_P(f->text))
        f->text = bytes_string(b, e);
    else if (e->size)
        rb_str_cat(f->text, b->doc->bytes + e->offset, (long)e->size);
    f->referenced |= e->referenced;
}

static void close_element(builder *b) {
    frame *f = &b->frames[--b->depth];
    if (content_p(f)) merge(f->hash, str_content, f->text);
    frame *parent = &b->frames[b->depth - 1];
    parent->has_elements = true;
    merge(parent->hash, name_string(b, f->name), f->hash);
}

static VALUE build(builder *b) {
    VALUE result = rb_hash_new();
    b->frames[0] = (frame){.hash = result, .text = Qnil};
    b->depth = 1;
    for (size_t i = 0; i < b->doc->event_count; i++) {
        const event *e = &b->doc->events[i];
        switch (e->kind) {
        case EVENT_OPEN:
            b->frames[b->depth++] = (frame){.hash = rb_hash_new(), .text = Qnil, .name = e->name};
            break;
        case EVENT_ATTRIBUTE:
            rb_hash_aset(b->frames[b->depth - 1].hash, name_string(b, e->name), bytes_string(b, e));
            break;
        case EVENT_TEXT: add_text(b, e); break;
        case EVENT_CLOSE: close_element(b); break;
        }
    }
    return result;
}

static void raise_error(const document_error *error) {
    VALUE message = rb_enc_sprintf(rb_utf8_encoding(), "%s (line %d, column %d)", error->message,
                                   error->line, error->column);
    VALUE arguments[] = {message, INT2NUM(error->line), INT2NUM(error->column)};
    rb_exc_raise(rb_class_new_instance(3, arguments, eParseError));
}

/* EXPANSIONS is REXML's limit. The text may have WIDEST times the bytes of the input, because it is
 * converted to UTF-8, plus EXPANDED_BYTES from entities. */
enum { EXPANSIONS = 10000, WIDEST = 3, EXPANDED_BYTES = 1024 * 1024 };

/* The most elements inside each other; the same as Parser::DEEPEST. */
enum { DEEPEST = 256 };

/*
 * call-seq: Parser.parse_libxml2(xml, encoding, max_depth) -> Hash
 *
 * +encoding+ is the name of the bytes' encoding, or nil for the one that they declare.
 */
static VALUE parser_s_parse(VALUE self, VALUE xml, VALUE encoding, VALUE max_depth) {
    document_limits limits = {.expansions = EXPANSIONS, .depth = NUM2INT(max_depth)};
    if (limits.depth < 1 || limits.depth > DEEPEST)
        rb_raise(rb_eArgError, "no depth: %d", limits.depth);
    const char *name = NIL_P(encoding) ? NULL : StringValueCStr(encoding);
    StringValue(xml);
    if (RSTRING_LEN(xml) > INT_MAX) rb_raise(rb_eArgError, "more than 2 GB of XML");

    limits.bytes = (size_t)RSTRING_LEN(xml) * WIDEST + EXPANDED_BYTES;

    VALUE holder = TypedData_Wrap_Struct(0, &holder_type, NULL);
    document *doc = document_parse(RSTRING_PTR(xml), (size_t)RSTRING_LEN(xml), name, limits);
    if (!doc) rb_raise(rb_eNoMemError, "no memory for the XML parser");
    RTYPEDDATA_DATA(holder) = doc;
    if (doc->failed) raise_error(&doc->error);

    VALUE room; /* the GC marks its contents */
    builder b = {.doc = doc, .names = rb_ary_new_capa(doc->name_count)};
    b.frames = ALLOCV_N(frame, room, (size_t)limits.depth + 1);
    VALUE result = build(&b);
    ALLOCV_END(room);
    RB_GC_GUARD(holder);
    RB_GC_GUARD(xml);
    return result;
}

RUBY_FUNC_EXPORTED void Init_trunkline_xml_parser(void) {
    rb_ext_ractor_safe(true);
    const char *trouble = document_setup();
    if (trouble) rb_raise(rb_eLoadError, "trunkline-xml: %s", trouble);
    VALUE parser = rb_path2class("Trunkline::XML::Parser");
    eParseError = rb_path2class("Trunkline::XML::ParseError");
    rb_gc_register_mark_object(eParseError);
    str_content = rb_enc_interned_str_cstr("__content__", rb_utf8_encoding());
    rb_gc_register_mark_object(str_content);
    re_blank = rb_const_get(parser, rb_intern("BLANK"));
    rb_gc_register_mark_object(re_blank);
    rb_define_private_method(rb_singleton_class(parser), "parse_libxml2", parser_s_parse, 3);
}
