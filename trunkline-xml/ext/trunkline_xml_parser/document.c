#include "document.h"
#include "libxml2.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attributes come in groups of five: local name, prefix, namespace, value, end of the value. */
enum { ATTRIBUTE_WIDTH = 5, FIRST_CAPACITY = 256 };

static xmlParserCtxtPtr context_of(void *user_data) {
    return user_data;
}

/* The parser makes further parsers for the content of entities; they share the private pointer. */
static document *document_of(void *user_data) {
    return context_of(user_data)->_private;
}

/* Records an error; only the first of several is reported. */
static void record(document *doc, const char *message, int line, int column) {
    if (doc->failed) return;
    size_t size = strlen(message);
    while (size && (message[size - 1] == '\n' || message[size - 1] == ' ')) size--;
    if (size >= sizeof(doc->error.message)) size = sizeof(doc->error.message) - 1;
    memcpy(doc->error.message, message, size);
    doc->error.message[size] = '\0';
    doc->error.line = line;
    doc->error.column = column;
    doc->failed = true;
}

static void halt(void *user_data) {
    document *doc = document_of(user_data);
    libxml2.xmlStopParser(context_of(user_data));
    if (user_data != doc->parser) libxml2.xmlStopParser(doc->parser);
}

/* Records an error found by a callback, and makes the parser stop when the callback returns. */
static void fail(void *user_data, const char *message, int line, int column) {
    record(document_of(user_data), message, line, column);
    halt(user_data);
}

/* Returns the input of the document, not of an entity's content, whose lines are counted
 * separately. */
static const xmlParserInput *input_of(const document *doc) {
    const xmlParserCtxt *parser = doc->parser;
    return parser->inputNr > 0 ? parser->inputTab[0] : NULL;
}

static void fail_here(void *user_data, const char *message) {
    const xmlParserInput *input = input_of(document_of(user_data));
    fail(user_data, message, input ? input->line : 0, input ? input->col : 0);
}

/* `format` is a printf format with one %s, for the name. */
static void fail_at_entity(void *user_data, const char *format, const xmlChar *name) {
    char message[200];
    snprintf(message, sizeof(message), format, (const char *)name);
    fail_here(user_data, message);
}

/* Makes room for `more` elements of `width` bytes; at least doubles the capacity. Without memory,
 * ends the parse and returns false. */
static bool make_room(void *user_data, void **list, size_t *capacity, size_t count, size_t more,
                      size_t width) {
    if (*capacity - count >= more) return true;
    size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    while (wanted - count < more) wanted *= 2;
    void *grown = realloc(*list, wanted * width);
    if (!grown) {
        fail_here(user_data, "out of memory");
        return false;
    }
    *list = grown;
    *capacity = wanted;
    return true;
}

static event *add_event(void *user_data, event_kind kind, int name) {
    document *doc = document_of(user_data);
    if (doc->failed || !make_room(user_data, (void **)&doc->events, &doc->event_capacity,
                                  doc->event_count, 1, sizeof(event)))
        return NULL;
    event *added = &doc->events[doc->event_count++];
    *added = (event){.kind = kind, .name = name, .offset = doc->byte_count};
    return added;
}

static bool add_bytes(void *user_data, event *to, const char *bytes, size_t size) {
    document *doc = document_of(user_data);
    if (doc->limits.bytes - doc->byte_count < size) {
        fail_here(user_data, "the document's text is larger than allowed, its entities expanded");
        return false;
    }
    if (size == 0) return true;
    if (!make_room(user_data, (void **)&doc->bytes, &doc->byte_capacity, doc->byte_count, size, 1))
        return false;
    memcpy(doc->bytes + doc->byte_count, bytes, size);
    doc->byte_count += size;
    to->size += size;
    return true;
}

static size_t name_slot(const document *doc, const char *prefix, const char *local) {
    uint64_t mixed = ((uint64_t)(uintptr_t)local * 31 + (uint64_t)(uintptr_t)prefix) >> 3;
    mixed *= UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(mixed >> 40) & (size_t)(doc->name_slot_count - 1);
    while (doc->name_slots[slot] >= 0) {
        const document_name *name = &doc->names[doc->name_slots[slot]];
        if (name->local == local && name->prefix == prefix) break;
        slot = (slot + 1) & (size_t)(doc->name_slot_count - 1);
    }
    return slot;
}

static bool grow_names(void *user_data) {
    document *doc = document_of(user_data);
    int capacity = doc->name_capacity ? doc->name_capacity * 2 : 64;
    document_name *names = realloc(doc->names, (size_t)capacity * sizeof(*names));
    if (names) doc->names = names;
    int *slots = names ? malloc((size_t)capacity * 2 * sizeof(int)) : NULL;
    if (!slots) {
        fail_here(user_data, "out of memory");
        return false;
    }
    free(doc->name_slots);
    doc->name_slots = slots;
    doc->name_slot_count = capacity * 2;
    doc->name_capacity = capacity;
    memset(slots, -1, (size_t)doc->name_slot_count * sizeof(int));
    for (int i = 0; i < doc->name_count; i++)
        slots[name_slot(doc, names[i].prefix, names[i].local)] = i;
    return true;
}

/* Returns the index of a name, or -1. The parser interns its strings, so that equal names have
 * equal pointers. */
static int name_index(void *user_data, const xmlChar *prefix, const xmlChar *local) {
    document *doc = document_of(user_data);
    if (doc->name_count == doc->name_capacity && !grow_names(user_data)) return -1;
    size_t slot = name_slot(doc, (const char *)prefix, (const char *)local);
    if (doc->name_slots[slot] < 0) {
        doc->names[doc->name_count] = (document_name){(const char *)prefix, (const char *)local};
        doc->name_slots[slot] = doc->name_count++;
    }
    return doc->name_slots[slot];
}

static void add_attribute(void *user_data, const xmlChar *prefix, const xmlChar *local,
                          const xmlChar *value, size_t size) {
    int name = name_index(user_data, prefix, local);
    if (name < 0) return;
    event *added = add_event(user_data, EVENT_ATTRIBUTE, name);
    if (added) add_bytes(user_data, added, (const char *)value, size);
}

static void add_namespace(void *user_data, const xmlChar *prefix, const xmlChar *uri) {
    xmlDictPtr names = context_of(user_data)->dict;
    const xmlChar *xmlns = libxml2.xmlDictLookup(names, BAD_CAST "xmlns", 5);
    add_attribute(user_data, prefix ? xmlns : NULL, prefix ? prefix : xmlns,
                  uri ? uri : BAD_CAST "", uri ? strlen((const char *)uri) : 0);
}

static bool space_p(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Returns whether the name is `xmlns:prefix`, or `xmlns` without a prefix. */
static bool declares_p(const char *name, size_t size, const char *prefix) {
    if (size < 5 || memcmp(name, "xmlns", 5) != 0) return false;
    if (!prefix) return size == 5;
    return size == 6 + strlen(prefix) && name[5] == ':' && memcmp(name + 6, prefix, size - 6) == 0;
}

/*
 * Returns whether the start tag that has just been read declares the prefix; otherwise the
 * declaration is a default from the DTD. (libxml2 reports defaults for attributes only.) Also
 * returns true when the tag's text is no longer completely in memory.
 */
static bool written_p(const xmlParserInput *input, const xmlChar *prefix) {
    const char *end = (const char *)input->cur, *base = (const char *)input->base, *at = end;
    while (at > base && *at != '<') at--; /* an attribute value cannot contain "<" */
    if (*at != '<') return true;

    while (at < end) {
        const char *quote = at;
        while (quote < end && *quote != '"' && *quote != '\'') quote++;
        if (quote == end) return false;
        const char *name_end = quote;
        while (name_end > at && (space_p(name_end[-1]) || name_end[-1] == '=')) name_end--;
        const char *name = name_end;
        while (name > at && !space_p(name[-1])) name--;
        if (declares_p(name, (size_t)(name_end - name), (const char *)prefix)) return true;
        const char *value_end = memchr(quote + 1, *quote, (size_t)(end - quote - 1));
        if (!value_end) return true;
        at = value_end + 1;
    }
    return false;
}

static void start_element(void *user_data, const xmlChar *local, const xmlChar *prefix,
                          const xmlChar *uri, int namespace_count, const xmlChar **namespaces,
                          int attribute_count, int defaulted_count, const xmlChar **attributes) {
    document *doc = document_of(user_data);
    (void)prefix;
    (void)uri;
    if (doc->failed) {
        halt(user_data);
        return;
    }
    if (doc->depth++ == doc->limits.depth) {
        fail_here(user_data, "the document is too deep");
        return;
    }
    int name = name_index(user_data, NULL, local);
    if (name < 0 || !add_event(user_data, EVENT_OPEN, name)) return;
    /* Defaults from the DTD are left out; defaulted attributes come last in the list. */
    for (int i = 0; i < namespace_count; i++)
        if (!doc->has_defaults || written_p(context_of(user_data)->input, namespaces[i * 2]))
            add_namespace(user_data, namespaces[i * 2], namespaces[i * 2 + 1]);
    for (int i = 0; i < attribute_count - defaulted_count; i++) {
        const xmlChar **attribute = attributes + i * ATTRIBUTE_WIDTH;
        add_attribute(user_data, attribute[1], attribute[0], attribute[3],
                      (size_t)(attribute[4] - attribute[3]));
    }
}

static void end_element(void *user_data, const xmlChar *local, const xmlChar *prefix,
                        const xmlChar *uri) {
    (void)local;
    (void)prefix;
    (void)uri;
    document_of(user_data)->depth--;
    add_event(user_data, EVENT_CLOSE, -1);
}

/* Returns whether the content of an entity is being parsed. */
static bool in_entity_p(void *user_data) {
    return document_of(user_data)->parser != user_data || context_of(user_data)->inputNr > 1;
}

/* Returns whether `text` is a blank written as a reference. libxml2 passes the text of references
 * in its own buffers, and other white space in the input. */
static bool referenced_p(void *user_data, const xmlChar *text, int size) {
    const xmlParserInput *input = context_of(user_data)->input;
    if (size != 1 || !space_p((char)*text)) return false;
    return in_entity_p(user_data) || text < input->base || text >= input->end;
}

static void add_text(void *user_data, const xmlChar *text, int size, bool referenced) {
    document *doc = document_of(user_data);
    event *last = doc->event_count ? &doc->events[doc->event_count - 1] : NULL;
    if (doc->failed) return;
    if (!last || last->kind != EVENT_TEXT) last = add_event(user_data, EVENT_TEXT, -1);
    if (last && add_bytes(user_data, last, (const char *)text, (size_t)size))
        last->referenced |= referenced;
}

static void text(void *user_data, const xmlChar *text, int size) {
    add_text(user_data, text, size, referenced_p(user_data, text, size));
}

/* A blank in a CDATA section is not a reference, although libxml2 passes it in its own buffer. */
static void cdata(void *user_data, const xmlChar *text, int size) {
    add_text(user_data, text, size, in_entity_p(user_data));
}

/* Called only for documents with an external subset, which is not read and may declare the entity.
 */
static void unknown_reference(void *user_data, const xmlChar *name) {
    fail_at_entity(user_data, "Entity '%.100s' not defined", name);
}

static xmlEntityPtr internal_only(void *user_data, xmlEntityPtr entity) {
    if (!entity || entity->etype == XML_INTERNAL_GENERAL_ENTITY ||
        entity->etype == XML_INTERNAL_PARAMETER_ENTITY ||
        entity->etype == XML_INTERNAL_PREDEFINED_ENTITY)
        return entity;
    fail_here(user_data, "external entities are not read");
    return NULL;
}

/* Counts the references to entities. Each is parsed again, so that their number must be limited,
 * not only the size of the result. */
static bool expansion_allowed(void *user_data) {
    document *doc = document_of(user_data);
    if (!doc->failed && doc->expansions++ < doc->limits.expansions) return true;
    fail_here(user_data, "too many entities are expanded");
    return false;
}

/* The parser stores the default itself; the callback must free `listed`. */
static void declare_attribute(void *user_data, const xmlChar *element, const xmlChar *name,
                              int type, int how, const xmlChar *value, xmlEnumeration *listed) {
    (void)element;
    (void)name;
    (void)type;
    (void)how;
    document_of(user_data)->has_defaults |= value != NULL;
    libxml2.xmlFreeEnumeration(listed);
}

/* Before 2.11, libxml2 has the same error for entities that refer to each other in a loop and for
 * entities that expand too far. */
#if LIBXML_VERSION < 21100

enum { ONE_ERROR_FOR_LOOPS_AND_BOMBS = true };

/* Records the entities that are being expanded, by libxml2's depth. If `entity` is already one of
 * them, ends the parse and returns false. */
static bool enter_entity(void *user_data, const xmlEntity *entity) {
    document *doc = document_of(user_data);
    int depth = context_of(user_data)->depth;
    if (depth < 0 || depth >= DEEPEST_EXPANSION) return true;
    for (int i = 0; i < depth; i++) {
        if (doc->expanding[i] != entity) continue;
        fail_at_entity(user_data, "the entity '%.100s' refers to itself", entity->name);
        return false;
    }
    doc->expanding[depth] = entity;
    for (int i = depth + 1; i < DEEPEST_EXPANSION; i++) doc->expanding[i] = NULL;
    return true;
}

#else

enum { ONE_ERROR_FOR_LOOPS_AND_BOMBS = false };

static bool enter_entity(void *user_data, const xmlEntity *entity) {
    (void)user_data;
    (void)entity;
    return true;
}

#endif

static xmlEntityPtr find_entity(void *user_data, const xmlChar *name) {
    if (!expansion_allowed(user_data)) return NULL;
    xmlEntityPtr entity = internal_only(user_data, libxml2.xmlSAX2GetEntity(user_data, name));
    return entity && enter_entity(user_data, entity) ? entity : NULL;
}

static xmlEntityPtr find_parameter_entity(void *user_data, const xmlChar *name) {
    if (!expansion_allowed(user_data)) return NULL;
    return internal_only(user_data, libxml2.xmlSAX2GetParameterEntity(user_data, name));
}

/* Records an error found by the parser itself, without stopping it: that would free the input which
 * the parser is still using (libxml2 2.9). The next start tag or entity stops it. */
static void note_error(void *user_data, const xmlError *error) {
    document *doc = document_of(user_data);
    const xmlParserInput *input = in_entity_p(user_data) ? input_of(doc) : NULL;
    const char *message = error->message ? error->message : "not well formed";
    if (error->level < XML_ERR_ERROR) return;
    if (ONE_ERROR_FOR_LOOPS_AND_BOMBS && error->code == XML_ERR_ENTITY_LOOP)
        message = "the document's entities expand too far or too deep";
    record(doc, message, input ? input->line : error->line, input ? input->col : error->int2);
}

static void set_callbacks(xmlSAXHandler *sax) {
    memset(sax, 0, sizeof(*sax));
    sax->initialized = XML_SAX2_MAGIC;
    sax->startDocument =
        libxml2.xmlSAX2StartDocument; /* makes the document that stores declarations */
    sax->internalSubset = libxml2.xmlSAX2InternalSubset;
    sax->entityDecl = libxml2.xmlSAX2EntityDecl;
    sax->attributeDecl = declare_attribute;
    sax->getEntity = find_entity;
    sax->getParameterEntity = find_parameter_entity;
    sax->startElementNs = start_element;
    sax->endElementNs = end_element;
    sax->characters = text;
    sax->ignorableWhitespace = text;
    sax->cdataBlock = cdata;
    sax->reference = unknown_reference;
    sax->serror =
        (xmlStructuredErrorFunc)note_error; /* the second parameter became const in 2.12 */
}

const char *document_setup(void) {
    const char *trouble = libxml2_load();
    if (!trouble) libxml2.xmlInitParser();
    return trouble;
}

document *document_parse(const char *bytes, size_t size, const char *encoding,
                         document_limits limits) {
    document *doc = calloc(1, sizeof(*doc));
    xmlParserCtxtPtr context = doc ? libxml2.xmlNewParserCtxt() : NULL;
    if (!context) {
        free(doc);
        return NULL;
    }
    doc->parser = context;
    doc->limits = limits;
    context->_private = doc;
    set_callbacks(context->sax);
    /* NOENT: the content of internal entities is passed as text. The callbacks above limit their
     * expansion, and refuse external entities. */
    xmlDocPtr tree = libxml2.xmlCtxtReadMemory(context, bytes, (int)size, NULL, encoding,
                                               XML_PARSE_NOENT | XML_PARSE_NONET);
    if (!doc->failed && !context->wellFormed) fail_here(context, "the document is not well formed");
    libxml2.xmlFreeDoc(tree);
    return doc;
}

void document_free(document *doc) {
    if (!doc) return;
    libxml2.xmlFreeParserCtxt(doc->parser);
    free(doc->events);
    free(doc->bytes);
    free(doc->names);
    free(doc->name_slots);
    free(doc);
}

size_t document_memory(const document *doc) {
    return sizeof(*doc) + doc->event_capacity * sizeof(event) + doc->byte_capacity +
           (size_t)doc->name_capacity * sizeof(document_name) +
           (size_t)doc->name_slot_count * sizeof(int);
}
