#include "request_builder_internal.h"

#include "protocol/url/url.h"

#include <string.h>

/* Finds the origin of a request, by the beginning of its URL, and its target. */

static ID id_resolve, id_open_origin, id_authorization, id_origin, id_target, id_userinfo;

/* Checks for UTF-8 first, which needs no access to the table of encodings. */
bool is_ascii_compatible(VALUE string) {
    return RB_ENCODING_GET(string) == rb_utf8_encindex() || rb_enc_str_asciicompat_p(string);
}

/* Returns the origin of a URL; opens it if it is not in the client's table. */
static VALUE origin_of(const building *g, VALUE url) {
    VALUE prefix = rb_funcall(url, id_origin, 0);
    StringValue(prefix);
    VALUE origin =
        origin_table_find(&g->b->origins, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix));
    if (NIL_P(origin)) {
        origin = rb_funcall(g->self, id_open_origin, 1, url);
        origin_get(origin);
        origin_table_add(&g->b->origins, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix), origin);
    }
    RB_GC_GUARD(prefix);
    return origin;
}

static bool is_ascii(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)text[i] > 127) return false;
    return true;
}

/* Adds the beginning of this URL to the table, so that URLs with the same beginning need no parser.
 * Other bytes than ASCII are another host in another encoding. */
static void learn_prefix(const building *g, VALUE location) {
    if (!RB_TYPE_P(location, T_STRING) || !is_ascii_compatible(location)) return;
    const char *text = RSTRING_PTR(location);
    size_t length = (size_t)RSTRING_LEN(location);
    size_t prefix = url_is_absolute(text, length) ? url_origin_length(text, length) : 0;
    if (prefix > 0 && is_ascii(text, prefix))
        origin_table_add(&g->b->origins, text, prefix, g->origin);
}

void building_set_destination_url(building *g, VALUE url) {
    g->origin = origin_of(g, url);
    g->target = rb_funcall(url, id_target, 0);
    StringValue(g->target);
    g->uri = url;
}

static void set_unusual_destination(building *g, VALUE location) {
    VALUE url = rb_funcall(g->self, id_resolve, 1, location);
    building_set_destination_url(g, url);
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

/* Returns the length of the client's own origin at the beginning of `text`; 0: `text` does not
 * begin with it. */
static size_t own_origin_length(const origin_object *own, const char *text, size_t length) {
    size_t prefix = own->prefix_length;
    if (length < prefix || memcmp(text, own->prefix, prefix) != 0) return 0;
    return length == prefix || text[prefix] == '/' || text[prefix] == '?' ? prefix : 0;
}

/* Checks for the client's own origin first: most absolute URLs have it, and it needs no look-up. It
 * is not opened here, because that can raise, and the URL may have another origin. */
static void set_absolute_destination(building *g, const char *text, size_t length) {
    const builder *b = g->b;
    VALUE own = b->base_origin;
    if (!NIL_P(own)) {
        g->origin_length = own_origin_length(origin_get(own), text, length);
        if (g->origin_length > 0) g->origin = own;
    }
    if (g->origin_length == 0) {
        g->origin_length = url_origin_length(text, length);
        g->origin = origin_table_find(&b->origins, text, g->origin_length);
    }
    if (!url_sendable(text + g->origin_length, length - g->origin_length)) g->origin = Qnil;
}

/* Returns false when the URL class must resolve the location. */
bool building_set_usual_destination(building *g, VALUE location) {
    const builder *b = g->b;
    bool relative = !NIL_P(b->base_target);
    if (NIL_P(location) || (RB_TYPE_P(location, T_STRING) && RSTRING_LEN(location) == 0)) {
        g->target = b->base_target;
        g->origin = relative ? base_origin(g) : Qnil;
        return relative;
    }
    if (!RB_TYPE_P(location, T_STRING) || !is_ascii_compatible(location)) return false;
    const char *text = RSTRING_PTR(location);
    size_t length = (size_t)RSTRING_LEN(location);
    if (url_is_absolute(text, length)) {
        set_absolute_destination(g, text, length);
    } else if (relative && url_reference_usual(text, length)) {
        g->path = text[0] == '/' ? Qnil : text[0] == '?' ? b->base_path : b->base_folder;
        g->origin = base_origin(g);
    }
    g->target = location;
    return !NIL_P(g->origin);
}

void building_set_destination(building *g, VALUE location) {
    if (!building_set_usual_destination(g, location)) {
        g->origin_length = 0;
        set_unusual_destination(g, location);
    }
}

static void fill_path(composition *c, const building *g) {
    const char *text = RSTRING_PTR(g->target);
    size_t length = (size_t)RSTRING_LEN(g->target);
    c->path = "";
    if (g->origin_length > 0) {
        text += g->origin_length;
        length -= g->origin_length;
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

/* Appends the query to one that the target has already. */
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

void building_fill_target(composition *c, const building *g) {
    fill_path(c, g);
    fill_query(c, g);
}

void building_url_init(void) {
    id_resolve = rb_intern("resolve");
    id_open_origin = rb_intern("open_origin");
    id_authorization = rb_intern("authorization");
    id_origin = rb_intern("origin");
    id_target = rb_intern("target");
    id_userinfo = rb_intern("userinfo");
}
