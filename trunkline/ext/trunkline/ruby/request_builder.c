#include "request.h"

#include "protocol/http1/http1.h"
#include "protocol/url/url.h"
#include "origin_table.h"

#include <string.h>

/*
 * Trunkline::RequestBuilder: makes requests of what callers give. Usual arguments are checked and
 * composed here; whatever is unusual goes to the methods of lib/trunkline/request_builder.rb, which
 * check it, or raise. All that calls Ruby comes before the fields are listed: from then on
 * addresses inside of Strings are held.
 */

static ID id_resolve, id_open_origin, id_encode_params, id_check_headers, id_check_method,
    id_content_of, id_generate_json, id_authorization, id_check_option, id_check_hints,
    id_refuse_option, id_refuse_length, id_refuse_without_timeout, id_origin, id_target,
    id_userinfo, id_length, id_merge;

/* ---- the object ---- */

typedef struct {
    request_field field; /* its texts lie in `strings` */
    bool own;            /* the caller named it: json: and form: do not replace it */
} client_field;

typedef struct {
    VALUE config;      /* Engine::Config; nil: there is no timeout, and nothing can be built */
    VALUE params;      /* the client's, or nil */
    VALUE query;       /* these, encoded; "" for none */
    VALUE base;        /* URL, or nil */
    VALUE base_origin; /* nil until it is needed */
    VALUE base_target; /* path and query; nil: relative references are Ruby's to resolve */
    VALUE base_path, base_folder;
    VALUE early_hints, follow;
    client_field *fields; /* owned; those that are for the client's own origin alone come last */
    uint32_t field_count, unbound_count;
    char *strings; /* owned */
    bool decode, expect, begun, complete;
    origin_table origins;
} builder;

static void builder_mark(void *data) {
    const builder *b = data;
    const VALUE members[] = {b->config,      b->params,    b->query,       b->base,
                             b->base_origin, b->base_path, b->base_folder, b->base_target,
                             b->early_hints, b->follow};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) rb_gc_mark(members[i]);
    origin_table_mark(&b->origins);
}

static void builder_free(void *data) {
    builder *b = data;
    origin_table_free(&b->origins);
    free(b->fields);
    free(b->strings);
    ruby_xfree(b);
}

static size_t builder_size(const void *data) {
    const builder *b = data;
    return sizeof(*b) + b->field_count * sizeof(*b->fields) + origin_table_size(&b->origins);
}

static const rb_data_type_t builder_type = {
    .wrap_struct_name = "Trunkline::RequestBuilder",
    .function = {.dmark = builder_mark, .dfree = builder_free, .dsize = builder_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE builder_s_allocate(VALUE class) {
    builder *b;
    VALUE self = TypedData_Make_Struct(class, builder, &builder_type, b);
    b->config = b->params = b->query = b->base = b->base_origin = b->base_target = b->base_path =
        b->base_folder = b->early_hints = b->follow = Qnil;
    return self;
}

static builder *builder_get(VALUE self) {
    builder *b = rb_check_typeddata(self, &builder_type);
    if (!b->complete) rb_raise(rb_eArgError, "the request builder was not initialized");
    return b;
}

/* ---- the client's own fields ---- */

static size_t pairs_length(VALUE pairs) {
    size_t total = 0;
    for (long i = 0; i < RARRAY_LEN(pairs); i++) {
        VALUE pair = rb_ary_entry(pairs, i);
        Check_Type(pair, T_ARRAY);
        VALUE name = rb_ary_entry(pair, 0), value = rb_ary_entry(pair, 1);
        total += (size_t)RSTRING_LEN(StringValue(name));
        total += NIL_P(value) ? 0 : (size_t)RSTRING_LEN(StringValue(value));
    }
    return total;
}

static const char *keep_text(char **at, VALUE string) {
    char *start = *at;
    memcpy(start, RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
    *at += RSTRING_LEN(string);
    return start;
}

/* `pairs`: [name, value or nil, whether the caller named it] of each; those from `unbound` on are
 * for the client's own origin alone. */
static void take_client_fields(builder *b, VALUE pairs, VALUE unbound) {
    Check_Type(pairs, T_ARRAY);
    size_t length = pairs_length(pairs);
    b->field_count = (uint32_t)RARRAY_LEN(pairs);
    b->unbound_count = NUM2UINT(unbound);
    if (b->unbound_count > b->field_count)
        rb_raise(rb_eArgError, "there are only %u fields", b->field_count);
    char *at = b->strings = malloc(length + 1);
    b->fields = calloc(b->field_count + 1, sizeof(*b->fields));
    if (b->strings == NULL || b->fields == NULL) rb_memerror();
    for (uint32_t i = 0; i < b->field_count; i++) {
        VALUE pair = rb_ary_entry(pairs, i), name = rb_ary_entry(pair, 0),
              value = rb_ary_entry(pair, 1);
        request_field *f = &b->fields[i].field;
        f->name_length = (uint32_t)RSTRING_LEN(name);
        f->name = keep_text(&at, name);
        if (!NIL_P(value)) {
            f->value_length = (uint32_t)RSTRING_LEN(value);
            f->value = keep_text(&at, value);
        }
        f->kind = (uint8_t)field_kind(f->name, f->name_length, false);
        b->fields[i].own = RTEST(rb_ary_entry(pair, 2));
    }
}

/* call-seq: _prepare(config, fields, unbound, facts) -> self
 *
 * facts: params:, query:, base:, base_target:, base_path:, base_folder:, early_hints:, follow:,
 * decode:, expect: */
static VALUE builder_prepare(VALUE self, VALUE config, VALUE fields, VALUE unbound, VALUE facts) {
    builder *b = rb_check_typeddata(self, &builder_type);
    engine_begin_once(self, &b->begun);
    if (!NIL_P(config)) config_get(config);
    b->config = config;
    b->params = engine_fetch(facts, "params");
    b->query = engine_fetch(facts, "query");
    Check_Type(b->query, T_STRING);
    b->base = engine_fetch(facts, "base");
    b->base_target = engine_fetch(facts, "base_target");
    b->base_path = engine_fetch(facts, "base_path");
    b->base_folder = engine_fetch(facts, "base_folder");
    if (!NIL_P(b->base_target)) {
        Check_Type(b->base_target, T_STRING);
        Check_Type(b->base_path, T_STRING);
        Check_Type(b->base_folder, T_STRING);
    }
    b->early_hints = engine_fetch(facts, "early_hints");
    b->follow = engine_fetch(facts, "follow");
    b->decode = RTEST(engine_fetch(facts, "decode"));
    b->expect = RTEST(engine_fetch(facts, "expect"));
    take_client_fields(b, fields, unbound);
    b->complete = true;
    return self;
}

/* ---- what one request is made of ---- */

/* Lies on the stack, where the collector finds its values. Qundef: the option was not given. */
typedef struct {
    VALUE self;
    builder *b;
    /* options */
    VALUE headers, params, bearer, basic, follow, early_hints, stream, body, json, form, multipart;
    /* where it goes */
    VALUE origin, uri, target, path;
    const char *target_bytes; /* NULL: all of target; else within it */
    size_t target_length;
    VALUE userinfo; /* the value of Authorization that the URL's userinfo makes, or nil */
    /* what it carries */
    VALUE method, query, content, content_type, authorization;
    bool is_json, is_multipart, has_content;
    request_params *usual_params; /* borrowed; NULL: there are none, or they are in `query` */
} building;

static VALUE ask(const building *g, ID method, VALUE argument) {
    return rb_funcall(g->self, method, 1, argument);
}

static ID option_ids[11];
static const char *const option_names[] = {"headers", "params",      "bearer",   "basic",
                                           "follow",  "early_hints", "stream",   "body",
                                           "json",    "form",        "multipart"};
#define OPTIONS (sizeof(option_names) / sizeof(option_names[0]))

static VALUE *option_slot(building *g, VALUE key) {
    VALUE *const slots[OPTIONS] = {&g->headers, &g->params,      &g->bearer,   &g->basic,
                                   &g->follow,  &g->early_hints, &g->stream,   &g->body,
                                   &g->json,    &g->form,        &g->multipart};
    for (size_t i = 0; SYMBOL_P(key) && i < OPTIONS; i++)
        if (key == ID2SYM(option_ids[i])) return slots[i];
    return NULL;
}

static int take_option(VALUE key, VALUE value, VALUE argument) {
    building *g = (building *)argument;
    VALUE *slot = option_slot(g, key);
    if (slot == NULL)
        ask(g, id_refuse_option, key);
    else
        *slot = value;
    return ST_CONTINUE;
}

static building begin_building(VALUE self) {
    return (building){.self = self,
                      .b = builder_get(self),
                      .headers = Qundef,
                      .params = Qundef,
                      .bearer = Qundef,
                      .basic = Qundef,
                      .follow = Qundef,
                      .early_hints = Qundef,
                      .stream = Qundef,
                      .body = Qundef,
                      .json = Qundef,
                      .form = Qundef,
                      .multipart = Qundef,
                      .origin = Qnil,
                      .uri = Qnil,
                      .target = Qnil,
                      .path = Qnil,
                      .userinfo = Qnil,
                      .method = Qnil,
                      .query = Qnil,
                      .content = Qnil,
                      .content_type = Qnil,
                      .authorization = Qnil};
}

static void take_options(building *g, VALUE given) {
    if (!NIL_P(given)) {
        Check_Type(given, T_HASH);
        rb_hash_foreach(given, take_option, (VALUE)g);
    }
}

static bool given(VALUE option) {
    return option != Qundef && !NIL_P(option);
}

/* ---- where it goes ---- */

/* The origin of a URL, opened when the client does not know it yet. */
static VALUE origin_of(const building *g, VALUE url) {
    VALUE prefix = rb_funcall(url, id_origin, 0);
    StringValue(prefix);
    VALUE origin =
        origin_table_find(&g->b->origins, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix));
    if (NIL_P(origin)) {
        origin = ask(g, id_open_origin, url);
        origin_get(origin);
        origin_table_add(&g->b->origins, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix), origin);
    }
    RB_GC_GUARD(prefix);
    return origin;
}

/* From here on URLs that begin as this one does are looked up as they stand. */
static void learn_prefix(const building *g, VALUE location) {
    url_parts parts;
    if (RB_TYPE_P(location, T_STRING) &&
        url_scan(RSTRING_PTR(location), (size_t)RSTRING_LEN(location), &parts) == URL_ABSOLUTE)
        origin_table_add(&g->b->origins, RSTRING_PTR(location), parts.origin, g->origin);
}

static void place_by_url(building *g, VALUE url) {
    g->origin = origin_of(g, url);
    g->target = rb_funcall(url, id_target, 0);
    StringValue(g->target);
    g->uri = url;
}

static void place_unusual(building *g, VALUE location) {
    VALUE url = ask(g, id_resolve, location);
    place_by_url(g, url);
    VALUE userinfo = rb_funcall(url, id_userinfo, 0);
    if (NIL_P(userinfo)) {
        learn_prefix(g, location);
    } else {
        g->uri = Qnil;
        g->userinfo = rb_funcall(g->self, id_authorization, 2, Qnil, userinfo);
    }
}

static VALUE base_origin(const building *g) {
    if (NIL_P(g->b->base_origin)) g->b->base_origin = origin_of(g, g->b->base);
    return g->b->base_origin;
}

/* False: the URL class must look at it. */
static bool place_usual(building *g, VALUE location) {
    const builder *b = g->b;
    bool relative = !NIL_P(b->base_target);
    if (NIL_P(location) || (RB_TYPE_P(location, T_STRING) && RSTRING_LEN(location) == 0)) {
        g->target = b->base_target;
        g->origin = relative ? base_origin(g) : Qnil;
        return relative;
    }
    if (!RB_TYPE_P(location, T_STRING) || !rb_enc_str_asciicompat_p(location)) return false;
    url_parts parts;
    const char *text = RSTRING_PTR(location);
    size_t length = (size_t)RSTRING_LEN(location);
    url_form form = url_scan(text, length, &parts);
    if (form == URL_ABSOLUTE) {
        g->origin = origin_table_find(&b->origins, text, parts.origin);
        g->path = Qundef; /* "/" when there is none */
    } else if (form != URL_UNUSUAL && relative) {
        g->path = form == URL_ROOTED ? Qnil : text[0] == '?' ? b->base_path : b->base_folder;
        g->origin = base_origin(g);
    }
    g->target = location;
    return !NIL_P(g->origin);
}

static void place(building *g, VALUE location) {
    if (!place_usual(g, location)) {
        g->path = Qnil;
        place_unusual(g, location);
    }
}

/* ---- what it carries ---- */

/* `params` of the call beside those of the client: of two Hashes the call's values count. */
static VALUE joined_params(const building *g) {
    VALUE own = g->b->params;
    bool hashes = RB_TYPE_P(own, T_HASH) && RB_TYPE_P(g->params, T_HASH);
    return NIL_P(own) ? g->params : hashes ? rb_funcall(own, id_merge, 1, g->params) : Qundef;
}

/* `room`: for params of usual kinds, which must outlive the building. */
static void take_params(building *g, request_params *room) {
    g->query = g->b->query;
    if (!given(g->params)) return;
    VALUE all = joined_params(g);
    g->usual_params = all != Qundef && params_take(room, all) ? room : NULL;
    if (g->usual_params == NULL) {
        g->query = ask(g, id_encode_params, g->params);
        StringValue(g->query);
    } else {
        g->query = Qnil;
    }
}

static void take_content(building *g, VALUE options) {
    int kinds = (g->json != Qundef) + given(g->body) + given(g->form) + given(g->multipart);
    g->has_content = kinds > 0;
    if (kinds == 1 && g->json != Qundef) {
        g->is_json = true;
        g->content = rb_obj_freeze(ask(g, id_generate_json, g->json));
    } else if (kinds == 1 && given(g->body) && RB_TYPE_P(g->body, T_STRING)) {
        g->content = rb_str_new_frozen(g->body);
    } else if (kinds > 0) {
        VALUE content = ask(g, id_content_of, options);
        g->content = rb_ary_entry(content, 0);
        g->content_type = rb_ary_entry(content, 1);
        g->is_multipart = RTEST(rb_ary_entry(content, 2));
        g->content = RB_TYPE_P(g->content, T_STRING) ? rb_str_new_frozen(g->content) : g->content;
    }
}

static int64_t length_of(VALUE content) {
    if (NIL_P(content)) return 0;
    if (RB_TYPE_P(content, T_STRING)) return RSTRING_LEN(content);
    VALUE length = rb_funcall(content, id_length, 0);
    return NIL_P(length) ? -1 : NUM2LL(length);
}

static bool is_text(VALUE string, const char *text) {
    return (size_t)RSTRING_LEN(string) == strlen(text) &&
           memcmp(RSTRING_PTR(string), text, strlen(text)) == 0;
}

static void take_method(building *g, VALUE method) {
    bool usual = RB_TYPE_P(method, T_STRING) &&
                 http1_name_valid(RSTRING_PTR(method), (size_t)RSTRING_LEN(method)) &&
                 !is_text(method, "CONNECT") && !(g->has_content && is_text(method, "TRACE"));
    if (!usual) {
        method = rb_funcall(g->self, id_check_method, 2, method, g->has_content ? Qtrue : Qfalse);
        StringValue(method);
    }
    g->method = rb_str_new_frozen(method);
}

static void take_authorization(building *g) {
    if (given(g->bearer) || given(g->basic)) {
        VALUE bearer = g->bearer == Qundef ? Qnil : g->bearer;
        VALUE basic = g->basic == Qundef ? Qnil : g->basic;
        g->authorization = rb_funcall(g->self, id_authorization, 2, bearer, basic);
        StringValue(g->authorization);
    }
}

/* ---- the fields, in the order of their groups ---- */

enum { GROUP_CLIENT, GROUP_URL, GROUP_CONTENT, GROUP_CALL, GROUP_CREDENTIALS };

#define USUAL_FIELDS 24
#define USUAL_NUMBERS 6

typedef struct {
    request_field *at; /* behind the last */
    uint32_t count;
    char (*digits)[DIGITS]; /* for numbers; NULL: all are Strings, and were checked */
    uint32_t numbers;
    bool skips_type; /* the multipart body has a boundary, which the caller does not know */
    bool unusual;
} field_list;

static void list_add(field_list *l, request_field f) {
    l->at[l->count++] = f;
}

static void list_text(field_list *l, int group, const char *name, VALUE value) {
    list_add(l, (request_field){.name = name,
                                .name_length = (uint32_t)strlen(name),
                                .value = RSTRING_PTR(value),
                                .value_length = (uint32_t)RSTRING_LEN(value),
                                .group = (uint8_t)group,
                                .kind = FIELD_OTHER});
}

static bool blank(char byte) {
    return byte == ' ' || byte == '\t';
}

/* White space around a value is no part of it (RFC 9110 5.5). */
static void trim(request_field *f) {
    while (f->value_length > 0 && blank(f->value[0])) {
        f->value++;
        f->value_length--;
    }
    while (f->value_length > 0 && blank(f->value[f->value_length - 1])) f->value_length--;
}

static bool take_name(request_field *f, VALUE name) {
    f->underscores = SYMBOL_P(name);
    name = SYMBOL_P(name) ? rb_sym2str(name) : name;
    if (!RB_TYPE_P(name, T_STRING) || RSTRING_LEN(name) > UINT16_MAX) return false;
    f->name = RSTRING_PTR(name);
    f->name_length = (uint32_t)RSTRING_LEN(name);
    f->kind = (uint8_t)field_kind(f->name, f->name_length, f->underscores);
    return http1_name_valid(f->name, f->name_length);
}

static bool take_value(field_list *l, request_field *f, VALUE value) {
    size_t length;
    if (NIL_P(value)) return true;
    if (FIXNUM_P(value) && l->numbers == USUAL_NUMBERS) return false;
    char *digits = FIXNUM_P(value) ? l->digits[l->numbers++] : NULL;
    if (!text_of_scalar(value, digits, &f->value, &length) || length > INT32_MAX) return false;
    f->value_length = (uint32_t)length;
    trim(f);
    return http1_value_valid(f->value, f->value_length);
}

/* Of the fields that frame a request, Ruby says what is allowed. */
static bool frames(int kind) {
    return kind == FIELD_HOST || kind == FIELD_CONTENT_LENGTH || kind == FIELD_CONNECTION ||
           kind == FIELD_RESERVED;
}

static int take_header(VALUE name, VALUE value, VALUE argument) {
    field_list *l = (field_list *)argument;
    request_field f = {.group = GROUP_CALL};
    if (!take_name(&f, name) || frames(f.kind) || !take_value(l, &f, value)) {
        l->unusual = true;
        return ST_STOP;
    }
    if (!l->skips_type || f.kind != FIELD_CONTENT_TYPE) list_add(l, f);
    return ST_CONTINUE;
}

/* What Ruby has checked. */
static void take_pair(field_list *l, VALUE name, VALUE value) {
    request_field f = {.group = GROUP_CALL};
    if (!take_name(&f, name) || (!NIL_P(value) && !RB_TYPE_P(value, T_STRING)))
        errors_invalid("headers: the name %+" PRIsVALUE " is not a token (RFC 9110 5.1)", name);
    if (!NIL_P(value)) {
        f.value = RSTRING_PTR(value);
        f.value_length = (uint32_t)RSTRING_LEN(value);
    }
    if (!NIL_P(value) && !http1_value_valid(f.value, f.value_length)) {
        errors_invalid("headers: the value of %" PRIsVALUE
                       " holds CR, LF, NUL or another control character",
                       name);
    }
    if (!l->skips_type || f.kind != FIELD_CONTENT_TYPE) list_add(l, f);
}

static void list_client(field_list *l, const builder *b, bool bound) {
    uint32_t count = bound ? b->field_count : b->unbound_count;
    for (uint32_t i = 0; i < count; i++) list_add(l, b->fields[i].field);
}

static bool named_by_client(const builder *b, const request_field *f) {
    for (uint32_t i = 0; i < b->field_count; i++)
        if (b->fields[i].own && field_same_name(&b->fields[i].field, f)) return true;
    return false;
}

#define JSON "application/json"

/* What follows of the content, unless the client says otherwise. */
static void list_content(field_list *l, const building *g) {
    request_field type = {.name = "Content-Type", .name_length = 12, .group = GROUP_CONTENT};
    request_field accept = {.name = "Accept", .name_length = 6, .group = GROUP_CONTENT};
    if (g->is_json) {
        type.value = accept.value = JSON;
        type.value_length = accept.value_length = sizeof(JSON) - 1;
    } else if (!NIL_P(g->content_type)) {
        type.value = RSTRING_PTR(g->content_type);
        type.value_length = (uint32_t)RSTRING_LEN(g->content_type);
    }
    if (type.value != NULL && (g->is_multipart || !named_by_client(g->b, &type))) list_add(l, type);
    if (g->is_json && !named_by_client(g->b, &accept)) list_add(l, accept);
}

static void list_call(field_list *l, const building *g, VALUE checked) {
    if (!NIL_P(checked)) {
        for (long i = 0; i < RARRAY_LEN(checked); i++) {
            VALUE pair = RARRAY_AREF(checked, i);
            take_pair(l, rb_ary_entry(pair, 0), rb_ary_entry(pair, 1));
        }
    } else if (g->headers != Qundef) {
        rb_hash_foreach(g->headers, take_header, (VALUE)l);
    }
}

/* `checked`: the call's headers as pairs that Ruby has checked; nil: they are as they were given.
 */
static void list_fields(field_list *l, const building *g, VALUE checked) {
    const origin_object *o = origin_get(g->origin);
    VALUE by_url = !NIL_P(g->userinfo) ? g->userinfo : o->authorization;
    l->count = l->numbers = 0;
    l->unusual = false;
    l->skips_type = g->is_multipart;
    list_client(l, g->b, o->bound_fields);
    if (!NIL_P(by_url)) list_text(l, GROUP_URL, "Authorization", by_url);
    list_content(l, g);
    list_call(l, g, checked);
    if (!NIL_P(g->authorization))
        list_text(l, GROUP_CREDENTIALS, "Authorization", g->authorization);
}

/* ---- composing ---- */

/* The request target, of what was found by `place`. */
static void fill_target(composition *c, const building *g) {
    const char *text = RSTRING_PTR(g->target);
    size_t length = (size_t)RSTRING_LEN(g->target);
    c->path = "";
    if (g->path == Qundef) { /* an absolute URL */
        url_parts parts;
        url_scan(text, length, &parts);
        text += parts.origin;
        length -= parts.origin;
        if (length == 0 || text[0] == '?') {
            c->path = "/";
            c->path_length = 1;
        }
    } else if (!NIL_P(g->path)) {
        c->path = RSTRING_PTR(g->path);
        c->path_length = (size_t)RSTRING_LEN(g->path);
    }
    c->target = text;
    c->target_length = length;
}

/* More is added to a query that is there already. */
static void fill_query(composition *c, const building *g) {
    if (g->usual_params != NULL) {
        c->params = g->usual_params;
        c->query_length = params_length(c->params);
    } else if (!NIL_P(g->query)) {
        c->query = RSTRING_PTR(g->query);
        c->query_length = (size_t)RSTRING_LEN(g->query);
    }
    if (c->query_length == 0) {
        c->query = "";
        return;
    }
    const char *mark = c->target_length > 0 ? memchr(c->target, '?', c->target_length) : NULL;
    bool empty = mark != NULL && mark + 1 == c->target + c->target_length;
    c->query_mark = mark == NULL || empty ? '?' : '&';
    c->target_length -= empty;
}

static VALUE composed(request_object *r, VALUE self, const building *g, composition *c) {
    int64_t declared = 0;
    switch (request_compose(r, c, &declared)) {
    case COMPOSED: break;
    case COMPOSE_NO_MEMORY: rb_memerror();
    case COMPOSE_LENGTH:
        rb_funcall(g->self, id_refuse_length, 2, LL2NUM(declared), LL2NUM(c->content_length));
        break;
    case COMPOSE_INVALID:
        errors_invalid("method %+" PRIsVALUE " or target %+" PRIsVALUE " cannot be sent", g->method,
                       g->target);
    }
    RB_OBJ_WRITE(self, &r->origin, g->origin);
    RB_OBJ_WRITE(self, &r->method, g->method);
    RB_OBJ_WRITE(self, &r->content, g->content);
    RB_OBJ_WRITE(self, &r->uri, c->query_length == 0 ? g->uri : Qnil);
    return rb_obj_freeze(self);
}

static VALUE compose(building *g, request_object *r, VALUE self, field_list *l) {
    composition c = {.origin = origin_get(g->origin),
                     .method = RSTRING_PTR(g->method),
                     .method_length = (size_t)RSTRING_LEN(g->method),
                     .fields = l->at,
                     .field_count = l->count,
                     .decode = g->b->decode,
                     .expect = g->b->expect,
                     .has_content = g->has_content,
                     .content_length = r->content_length};
    fill_target(&c, g);
    fill_query(&c, g);
    return composed(r, self, g, &c);
}

static uint32_t fields_needed(const building *g, VALUE checked) {
    size_t own = !NIL_P(checked)        ? (size_t)RARRAY_LEN(checked)
                 : g->headers != Qundef ? RHASH_SIZE(g->headers)
                                        : 0;
    return (uint32_t)(g->b->field_count + own + 4);
}

/* Lists the fields and composes; when they are more than usual, or are not as they should be, once
 * more with what Ruby says of them. */
static VALUE list_and_compose(building *g, request_object *r, VALUE self) {
    request_field usual[USUAL_FIELDS];
    char digits[USUAL_NUMBERS][DIGITS];
    field_list list = {.at = usual, .digits = digits};
    bool plain = g->headers == Qundef || RB_TYPE_P(g->headers, T_HASH);
    if (plain && fields_needed(g, Qnil) <= USUAL_FIELDS) {
        list_fields(&list, g, Qnil);
        if (!list.unusual) return compose(g, r, self, &list);
    }
    VALUE none = rb_ary_new(),
          checked = g->headers == Qundef ? none : ask(g, id_check_headers, g->headers);
    Check_Type(checked, T_ARRAY);
    VALUE room;
    list.at = ALLOCV_N(request_field, room, fields_needed(g, checked));
    list_fields(&list, g, checked);
    VALUE request = compose(g, r, self, &list);
    ALLOCV_END(room);
    RB_GC_GUARD(checked);
    return request;
}

/* ---- entries ---- */

static VALUE check_option(const building *g, const char *name, VALUE value) {
    return rb_funcall(g->self, id_check_option, 2, ID2SYM(rb_intern(name)), value);
}

static VALUE follow_of(const building *g) {
    if (g->follow == Qundef) return g->b->follow;
    bool usual = FIXNUM_P(g->follow) && FIX2LONG(g->follow) >= 1 && FIX2LONG(g->follow) <= 1000;
    return usual ? g->follow : check_option(g, "follow", g->follow);
}

static bool streaming_of(const building *g, VALUE streaming) {
    if (g->stream != Qundef && g->stream != Qtrue && g->stream != Qfalse)
        check_option(g, "stream", g->stream);
    return RTEST(streaming) || g->stream == Qtrue;
}

/* call-seq: build(method, location, options, streaming) -> Request
 *
 * See lib/trunkline/request_builder.rb. */
static VALUE builder_build(VALUE self, VALUE method, VALUE location, VALUE options,
                           VALUE streaming) {
    request_params params;
    building g = begin_building(self);
    if (NIL_P(g.b->config)) rb_funcall(self, id_refuse_without_timeout, 0);
    take_options(&g, options);
    place(&g, location);
    take_params(&g, &params);
    take_content(&g, options);
    take_method(&g, method);
    take_authorization(&g);
    request_object *r;
    VALUE request = request_allocate(&r);
    r->streaming = streaming_of(&g, streaming);
    RB_OBJ_WRITE(request, &r->follow, follow_of(&g));
    RB_OBJ_WRITE(request, &r->early_hints,
                 g.early_hints == Qundef ? g.b->early_hints
                                         : ask(&g, id_check_hints, g.early_hints));
    r->content_length = length_of(g.content);
    request = list_and_compose(&g, r, request);
    RB_GC_GUARD(location);
    return request;
}

/* call-seq: next_unusual(locations, from) -> index or nil
 *
 * The next of an Array, of which a GET without options is not certain to be built. */
static VALUE builder_next_unusual(VALUE self, VALUE locations, VALUE from) {
    building g = begin_building(self);
    long at = NUM2LONG(from);
    Check_Type(locations, T_ARRAY);
    while (at >= 0 && at < RARRAY_LEN(locations)) {
        VALUE location = RARRAY_AREF(locations, at);
        bool usual = RB_TYPE_P(location, T_STRING) && !NIL_P(g.b->config);
        g.origin = Qnil;
        if (!usual || !place_usual(&g, location)) return LONG2NUM(at);
        at++;
    }
    return Qnil;
}

/* call-seq: rebuild(request, method, url, pairs, with_content) -> Request
 *
 * Another request in the place of one that was sent: `pairs` are all of its fields but those that
 * say how long the content is. */
static VALUE builder_rebuild(VALUE self, VALUE request, VALUE method, VALUE url, VALUE pairs,
                             VALUE with_content) {
    building g = begin_building(self);
    const request_object *from = request_get(request);
    Check_Type(pairs, T_ARRAY);
    if (NIL_P(from->origin)) rb_raise(rb_eArgError, "the request was not composed by a builder");
    place_by_url(&g, url);
    g.has_content = RTEST(with_content) && !NIL_P(from->content);
    g.content = g.has_content ? from->content : Qnil;
    take_method(&g, method);
    request_object *r;
    VALUE object = request_allocate(&r);
    r->streaming = from->streaming;
    RB_OBJ_WRITE(object, &r->follow, from->follow);
    RB_OBJ_WRITE(object, &r->early_hints, from->early_hints);
    r->content_length = length_of(g.content);
    VALUE room;
    field_list list = {.at = ALLOCV_N(request_field, room, (size_t)RARRAY_LEN(pairs) + 1)};
    list_call(&list, &g, pairs);
    object = compose(&g, r, object, &list);
    ALLOCV_END(room);
    RB_GC_GUARD(request);
    return object;
}

/* call-seq: raw(method, url, target, fields, content, length, streaming) -> Request
 *
 * See lib/trunkline/request_builder.rb. */
static VALUE builder_raw(VALUE self, VALUE method, VALUE url, VALUE target, VALUE fields,
                         VALUE content, VALUE length, VALUE streaming) {
    building g = begin_building(self);
    Check_Type(method, T_STRING);
    Check_Type(target, T_STRING);
    Check_Type(fields, T_ARRAY);
    place_by_url(&g, url);
    g.target = target;
    g.method = rb_str_new_frozen(method);
    g.content = RB_TYPE_P(content, T_STRING) ? rb_str_new_frozen(content) : content;
    request_object *r;
    VALUE request = request_allocate(&r);
    r->streaming = RTEST(streaming);
    composition c = {.origin = origin_get(g.origin), .raw = true, .content_length = NUM2LL(length)};
    VALUE room;
    field_list list = {.at = ALLOCV_N(request_field, room, (size_t)RARRAY_LEN(fields) / 2 + 1)};
    for (long i = 0; i + 1 < RARRAY_LEN(fields); i += 2)
        take_pair(&list, RARRAY_AREF(fields, i), RARRAY_AREF(fields, i + 1));
    c.fields = list.at;
    c.field_count = list.count;
    c.method = RSTRING_PTR(g.method);
    c.method_length = (size_t)RSTRING_LEN(g.method);
    c.path = c.query = "";
    c.target = RSTRING_PTR(target);
    c.target_length = (size_t)RSTRING_LEN(target);
    request = composed(r, request, &g, &c);
    ALLOCV_END(room);
    RB_GC_GUARD(fields);
    return request;
}

static int find_other(VALUE key, VALUE value, VALUE found) {
    (void)value;
    building unused;
    if (option_slot(&unused, key) != NULL) return ST_CONTINUE;
    *(bool *)found = true;
    return ST_STOP;
}

/* call-seq: RequestBuilder.per_call?(options) -> whether all of them are a call's own */
static VALUE builder_s_per_call_p(VALUE class, VALUE options) {
    bool other = false;
    (void)class;
    Check_Type(options, T_HASH);
    rb_hash_foreach(options, find_other, (VALUE)&other);
    return other ? Qfalse : Qtrue;
}

static void intern_names(void) {
    id_resolve = rb_intern("resolve");
    id_open_origin = rb_intern("open_origin");
    id_encode_params = rb_intern("encode_params");
    id_check_headers = rb_intern("check_headers");
    id_check_method = rb_intern("check_method");
    id_content_of = rb_intern("content_of");
    id_generate_json = rb_intern("generate_json");
    id_authorization = rb_intern("authorization");
    id_check_option = rb_intern("check_option");
    id_check_hints = rb_intern("check_hints");
    id_refuse_option = rb_intern("refuse_option");
    id_refuse_length = rb_intern("refuse_length");
    id_refuse_without_timeout = rb_intern("refuse_without_timeout");
    id_origin = rb_intern("origin");
    id_target = rb_intern("target");
    id_userinfo = rb_intern("userinfo");
    id_length = rb_intern("length");
    id_merge = rb_intern("merge");
    for (size_t i = 0; i < OPTIONS; i++) option_ids[i] = rb_intern(option_names[i]);
}

void request_builder_init(void) {
    intern_names();
    VALUE cBuilder = rb_define_class_under(mTrunkline, "RequestBuilder", rb_cObject);
    rb_define_alloc_func(cBuilder, builder_s_allocate);
    rb_define_singleton_method(cBuilder, "per_call?", builder_s_per_call_p, 1);
    rb_define_private_method(cBuilder, "_prepare", builder_prepare, 4);
    rb_define_method(cBuilder, "build", builder_build, 4);
    rb_define_method(cBuilder, "next_unusual", builder_next_unusual, 2);
    rb_define_method(cBuilder, "rebuild", builder_rebuild, 5);
    rb_define_method(cBuilder, "raw", builder_raw, 7);
}
