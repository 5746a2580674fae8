#include "tls_internal.h"

#include <errno.h>
#include <string.h>

/* OpenSSL reports a received alert as the reason ALERT_OFFSET plus its number. */
#define ALERT_OFFSET 1000

/* Texts of the common alerts, for the user of a client. */
static const struct {
    int alert;
    const char *words;
} alerts[] = {
    {40, "handshake failure: nothing in common, or a client certificate is wanted"},
    {42, "bad certificate: it did not accept the client certificate"},
    {43, "unsupported certificate: it did not accept the client certificate"},
    {44, "certificate revoked: it did not accept the client certificate"},
    {45, "certificate expired: it did not accept the client certificate"},
    {46, "certificate unknown: it did not accept the client certificate"},
    {48, "unknown CA: it does not know who issued the client certificate"},
    {70, "protocol version: it speaks no TLS version that is allowed here"},
    {80, "internal error"},
    {112, "unrecognized name: it does not know this host name"},
    {116, "certificate required: it wants a client certificate"},
    {120, "no application protocol: it speaks none of those offered by ALPN"},
};

static const char *alert_words(int alert) {
    for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++)
        if (alerts[i].alert == alert) return alerts[i].words;
    return SSL_alert_desc_string_long(alert);
}

static const char *library_words(unsigned long error) {
    int library = ERR_GET_LIB(error), reason = ERR_GET_REASON(error);
    if (library == ERR_LIB_SYS) return strerror(reason);
    if (library == ERR_LIB_SSL && reason == SSL_R_WRONG_VERSION_NUMBER)
        return "what came is not TLS (is it a port for plain HTTP?)";
    if (library == ERR_LIB_SSL && reason == SSL_R_UNSUPPORTED_PROTOCOL)
        return "the server's TLS version is not allowed here";
    const char *words = ERR_reason_error_string(error);
    return words != NULL ? words : "OpenSSL does not say why";
}

const char *tls_words(char *text, size_t size) {
    unsigned long error = ERR_peek_error();
    int reason = ERR_GET_REASON(error);
    bool is_alert =
        ERR_GET_LIB(error) == ERR_LIB_SSL && reason > ALERT_OFFSET && reason < ALERT_OFFSET + 256;
    if (is_alert)
        snprintf(text, size, "the server sent alert %d, %s", reason - ALERT_OFFSET,
                 alert_words(reason - ALERT_OFFSET));
    else
        snprintf(text, size, "%s", library_words(error));
    ERR_clear_error();
    return text;
}

bool tls_no_memory(failure *f) {
    ERR_clear_error();
    return failure_set(f, FAILURE_OUT_OF_MEMORY, PHASE_TLS, ENOMEM, NULL);
}
