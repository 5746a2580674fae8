#include "writer.h"

static ID id_gsub, id_downcase, id_merge;
static VALUE sym_xml, sym_encoding, str_cdata_split, str_cdata_end, declaration;
static VALUE leading[3], no_attributes;

/* Writes the fragment "before#{inside}after". */
static void put_around(writer *w, const char *before, VALUE inside, const char *after) {
    writer_put(w, before);
    if (inside) writer_put_string(w, inside);
    if (*after) writer_put_after(w, after);
    writer_end_fragment(w);
}

/* Writes the last fragment and the line end. Returns the result of the method. */
static VALUE finish(writer *w, const char *before, VALUE inside, const char *after) {
    VALUE result = Qnil;
    put_around(w, before, inside, after);
    if (w->builder->indent) {
        writer_put(w, "\n");
        result = writer_end_fragment(w);
    }
    writer_close(w);
    return result;
}

/* call-seq: comment!(text) -> object */
static VALUE native_comment(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, 1);
    builder_refuse_block();

    writer w;
    writer_open(&w, b);
    writer_put_indent(&w);
    put_around(&w, "<!-- ", Qfalse, "");
    if (RTEST(argv[0])) writer_push(&w, argv[0]);
    return finish(&w, " -->", Qfalse, "");
}

/* Splits `]]>`, which a CDATA section cannot contain, into two sections. Returns a new String, like
 * gsub. */
static VALUE split_cdata(VALUE text) {
    if (!RB_SPECIAL_CONST_P(text) && RBASIC_CLASS(text) == rb_cString && escape_readable_p(text) &&
        !memmem(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), "]]>", 3))
        return rb_str_dup(text);
    return rb_funcall(text, id_gsub, 2, str_cdata_end, str_cdata_split);
}

/* call-seq: cdata!(text) -> object */
static VALUE native_cdata(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, 1);
    builder_refuse_block();
    VALUE data = split_cdata(argv[0]);

    writer w;
    writer_open(&w, b);
    writer_put_indent(&w);
    put_around(&w, "<![CDATA[", Qfalse, "");
    if (RTEST(data)) writer_push(&w, data);
    return finish(&w, "]]>", Qfalse, "");
}

/* call-seq: cdata_value!(name, text) -> object */
static VALUE native_cdata_value(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 2, 2);
    builder_refuse_block();
    VALUE open = rb_obj_as_string(argv[0]), close = rb_obj_as_string(argv[0]);
    VALUE data = rb_obj_as_string(split_cdata(argv[1]));

    writer w;
    writer_open(&w, b);
    writer_put_indent(&w);
    put_around(&w, "<", open, ">");
    put_around(&w, "<![CDATA[", data, "]]>");
    return finish(&w, "</", close, ">");
}

/* Returns the attributes of the XML declaration, or Qfalse when they change the output's encoding
 * from UTF-8. */
static VALUE declaration_attributes(VALUE overrides) {
    if (RHASH_SIZE(overrides) == 0) return declaration;
    VALUE attributes = rb_funcall(declaration, id_merge, 1, overrides);
    VALUE encoding = rb_hash_aref(attributes, sym_encoding);
    if (!RB_TYPE_P(encoding, T_STRING)) return Qfalse;
    VALUE name = rb_funcall(encoding, id_downcase, 0);
    bool utf8 = RSTRING_LEN(name) == 5 && memcmp(RSTRING_PTR(name), "utf-8", 5) == 0;
    return utf8 ? attributes : Qfalse;
}

static VALUE write_instruction(const builder *b, VALUE name, VALUE attributes) {
    writer w;
    writer_open(&w, b);
    writer_put_indent(&w);
    /* Nearly every document has the default declaration, which is one fragment here. */
    if (attributes == declaration && b->quote == '"' && !w.detached)
        return finish(&w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", Qfalse, "");
    put_around(&w, "<?", rb_sym2str(name), "");
    writer_put_attributes(&w, attributes, leading, 3);
    return finish(&w, "?>", Qfalse, "");
}

/*
 * call-seq: instruct!(name = :xml, attributes = {}) -> object
 *
 * Writes ordinary instructions. Ruby handles those that change the output's encoding or have
 * unusual arguments.
 */
static VALUE native_instruct(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    VALUE name = argc > 0 ? argv[0] : sym_xml;
    VALUE attributes = argc > 1 ? argv[1] : no_attributes;
    bool ordinary = argc <= 2 && RB_SYMBOL_P(name) && RB_TYPE_P(attributes, T_HASH) &&
                    RBASIC_CLASS(attributes) == rb_cHash;

    if (!b->in_ruby && ordinary) {
        builder_refuse_block();
        if (name == sym_xml) attributes = declaration_attributes(attributes);
        if (attributes) return write_instruction(b, name, attributes);
    }
    builder_fall_back_to_ruby(self, b);
    return rb_call_super(argc, argv);
}

/* Writes Strings with quotes and Symbols without; leaves out all other arguments. */
static void put_declaration_argument(writer *w, VALUE argument) {
    if (RB_SYMBOL_P(argument))
        put_around(w, " ", rb_sym2str(argument), "");
    else if (RB_TYPE_P(argument, T_STRING))
        put_around(w, " \"", argument, "\"");
}

/*
 * call-seq: declare!(name, *args) { |xml| } -> object
 *
 * A block, for an internal subset, is so rare that Ruby handles it.
 */
static VALUE native_declare(int argc, VALUE *argv, VALUE self) {
    builder *b = builder_get(self);
    if (rb_block_given_p()) builder_fall_back_to_ruby(self, b);
    if (b->in_ruby) return rb_call_super(argc, argv);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);

    writer w;
    writer_open(&w, b);
    writer_put_indent(&w);
    writer_pause(&w);
    VALUE name = rb_obj_as_string(argv[0]);
    writer_resume(&w);
    put_around(&w, "<!", name, "");
    for (int i = 1; i < argc; i++) put_declaration_argument(&w, argv[i]);
    return finish(&w, ">", Qfalse, "");
}

static VALUE constant(VALUE object) {
    rb_gc_register_mark_object(object);
    return rb_obj_freeze(object);
}

void markup_init(void) {
    id_gsub = rb_intern("gsub");
    id_downcase = rb_intern("downcase");
    id_merge = rb_intern("merge");
    sym_xml = ID2SYM(rb_intern("xml"));
    sym_encoding = ID2SYM(rb_intern("encoding"));
    leading[0] = ID2SYM(rb_intern("version"));
    leading[1] = sym_encoding;
    leading[2] = ID2SYM(rb_intern("standalone"));
    str_cdata_end = constant(rb_utf8_str_new_cstr("]]>"));
    str_cdata_split = constant(rb_utf8_str_new_cstr("]]]]><![CDATA[>"));
    no_attributes = constant(rb_hash_new());
    declaration = rb_const_get(cBuilder, rb_intern("XML_DECLARATION"));
    rb_gc_register_mark_object(declaration);

    rb_define_method(cNative, "comment!", native_comment, -1);
    rb_define_method(cNative, "cdata!", native_cdata, -1);
    rb_define_method(cNative, "cdata_value!", native_cdata_value, -1);
    rb_define_method(cNative, "instruct!", native_instruct, -1);
    rb_define_method(cNative, "declare!", native_declare, -1);
}
