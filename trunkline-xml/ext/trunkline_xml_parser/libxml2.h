#ifndef TRUNKLINE_XML_LIBXML2_H
#define TRUNKLINE_XML_LIBXML2_H

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <stdbool.h>

/*
 * libxml2, loaded in isolation from other copies. Precompiled Nokogiri gems contain a libxml2 of
 * another version with the same symbols, and Ruby loads extensions into one symbol namespace. If
 * this extension were linked to libxml2, the two would call each other's functions on structures
 * that differ.
 */
#define LIBXML2_FUNCTIONS(X) \
    X(xmlInitParser)         \
    X(xmlNewParserCtxt)      \
    X(xmlFreeParserCtxt)     \
    X(xmlCtxtReadMemory)     \
    X(xmlStopParser)         \
    X(xmlFreeDoc)            \
    X(xmlDictLookup)         \
    X(xmlFreeEnumeration)    \
    X(xmlSAX2StartDocument)  \
    X(xmlSAX2InternalSubset) \
    X(xmlSAX2EntityDecl)     \
    X(xmlSAX2GetEntity)      \
    X(xmlSAX2GetParameterEntity)

typedef struct {
#define LIBXML2_MEMBER(name) __typeof__(name) *name;
    LIBXML2_FUNCTIONS(LIBXML2_MEMBER)
#undef LIBXML2_MEMBER
} libxml2_functions;

/* Filled by libxml2_load(). */
extern libxml2_functions libxml2;

/* Loads the library that the headers belong to. Returns NULL, or an error message. */
const char *libxml2_load(void);

#endif
