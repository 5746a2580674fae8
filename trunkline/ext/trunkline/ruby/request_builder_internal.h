#ifndef TRUNKLINE_RUBY_REQUEST_BUILDER_INTERNAL_H
#define TRUNKLINE_RUBY_REQUEST_BUILDER_INTERNAL_H

#include "origin_table.h"
#include "request.h"

/* Declarations shared by the files of Trunkline::RequestBuilder: request_builder.c (the object, and
 * the building of requests), request_builder_url.c (origin and target of a request),
 * request_builder_options.c (options of a call), request_builder_fields.c (fields of a request). */

/* ---- the object ---- */

typedef struct {
    request_field field; /* its texts are in `strings` */
    bool own;            /* set by the user of the client: json: and form: do not replace it */
} client_field;

typedef struct {
    VALUE config;      /* Engine::Config; nil: there is no timeout, and nothing can be built */
    VALUE params;      /* the client's params:, or nil */
    VALUE query;       /* `params`, encoded; "" for none */
    VALUE base;        /* URL, or nil */
    VALUE base_origin; /* nil until it is needed */
    VALUE base_target; /* path and query; nil: Ruby must resolve relative references */
    VALUE base_path, base_folder;
    VALUE early_hints, follow;
    client_field *fields; /* owned; fields for the client's own origin only come last */
    uint32_t field_count, unbound_count;
    char *strings;        /* owned */
    int64_t expect_above; /* bytes, see composition; -1: never */
    bool decode, begun, complete;
    origin_table origins;
} builder;

/* ---- one request that is being built ---- */

/* Must be on the stack, where the GC finds its values. Qundef: the option was not given. */
typedef struct {
    VALUE self;
    builder *b;
    /* options */
    VALUE headers, params, bearer, basic, follow, early_hints, stream, body, json, form, multipart,
        progress, template;
    /* destination */
    VALUE origin, uri, target, path;
    size_t origin_length; /* of an absolute URL in ->target; 0: ->target has no origin */
    VALUE userinfo;       /* the value of Authorization from the URL's userinfo, or nil */
    /* contents */
    VALUE method, query, content, content_type, authorization;
    bool is_json, is_multipart, has_content;
    request_params *usual_params; /* borrowed; NULL: there are none, or they are in `query` */
} building;

/* ---- request_builder_url.c ---- */

/* Sets origin, target, path, uri and userinfo from the location that a caller passed. Raises
 * InvalidRequest. */
void building_set_destination(building *g, VALUE location);

/* Sets origin, target and uri from a URL. */
void building_set_destination_url(building *g, VALUE url);

/* Returns whether the bytes of the String are those of its ASCII characters. */
bool is_ascii_compatible(VALUE string);

/* Like building_set_destination, but returns false when the URL class must resolve the location. */
bool building_set_usual_destination(building *g, VALUE location);

/* Fills in path, target and query of `c`, which borrows them. */
void building_fill_target(composition *c, const building *g);

/* Looks up the methods of Ruby that request_builder_url.c calls; request_builder_init calls it. */
void building_url_init(void);

/* ---- request_builder_options.c ---- */

/* For rb_hash_foreach: stores an option of a call in the building that `argument` points to. Raises
 * for an unknown option. */
int building_take_option(VALUE key, VALUE value, VALUE argument);

/* Looks up the options' names and defines RequestBuilder.per_call?; request_builder_init calls
 * it. */
void building_options_init(VALUE cBuilder);

/* ---- request_builder_fields.c ---- */

enum { GROUP_CLIENT, GROUP_URL, GROUP_CONTENT, GROUP_CALL, GROUP_CREDENTIALS };

#define USUAL_FIELDS 24
#define USUAL_NUMBERS 6

/* Copies the client's fields. `pairs`: [name, value or nil, whether the user of the client set it]
 * of each; fields from the index `unbound` on are for the client's own origin only. Raises. */
void builder_take_fields(builder *b, VALUE pairs, VALUE unbound);

/* The fields of a request, in the order of their groups. The caller owns the list, which borrows
 * all texts. */
typedef struct {
    request_field *at;
    uint32_t count;
    char (*digits)[DIGITS]; /* room for Integers; NULL: all are Strings, and were checked */
    uint32_t numbers;
    bool skips_type; /* leave out the call's Content-Type: it lacks the multipart boundary */
    bool unusual;
} field_list;

/* Lists the fields of a request. `checked`: the call's headers as pairs that Ruby has checked; nil:
 * uses the headers as given, and sets ->unusual if Ruby must check them. */
void list_fields(field_list *l, const building *g, VALUE checked);

/* Lists only these pairs of Strings (the value may be nil). Raises InvalidRequest for a name or
 * value that cannot be sent. */
void list_pairs(field_list *l, VALUE pairs);

/* Adds one such pair. */
void list_pair(field_list *l, VALUE name, VALUE value);

#endif
