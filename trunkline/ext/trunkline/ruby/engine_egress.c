#include "engine.h"

#include <stdlib.h>

/* Converts the Hash of Options::Egress to the engine's egress rule. */

static void *room_for(size_t count, size_t size) {
    void *list = calloc(count > 0 ? count : 1, size);
    if (list == NULL) rb_memerror();
    return list;
}

/* rb_ary_entry checks each index, because a conversion may run code that shortens the Array. */
static void fill_networks(ip_networks *out, VALUE texts) {
    Check_Type(texts, T_ARRAY);
    long count = RARRAY_LEN(texts);
    out->list = room_for((size_t)count, sizeof(*out->list));
    for (long i = 0; i < count; i++) {
        VALUE text = rb_ary_entry(texts, i);
        if (!ip_network_parse(StringValueCStr(text), &out->list[i]))
            rb_raise(rb_eArgError, "no network: %+" PRIsVALUE, text);
        out->count++;
    }
}

static void fill_ports(egress *e, VALUE ports) {
    Check_Type(ports, T_ARRAY);
    long count = RARRAY_LEN(ports);
    e->ports = room_for((size_t)count, sizeof(*e->ports));
    for (long i = 0; i < count; i++) {
        e->ports[i] = NUM2USHORT(rb_ary_entry(ports, i));
        e->port_count++;
    }
}

void engine_fill_egress(egress *e, VALUE hash) {
    fill_networks(&e->allow, engine_fetch(hash, "allow"));
    fill_networks(&e->deny, engine_fetch(hash, "deny"));
    fill_ports(e, engine_fetch(hash, "ports"));
    e->unix_sockets = RTEST(engine_fetch(hash, "unix"));
    e->proxies = RTEST(engine_fetch(hash, "proxy"));
}
