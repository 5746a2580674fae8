#ifndef TRUNKLINE_PROTOCOL_FAILURE_CODES_H
#define TRUNKLINE_PROTOCOL_FAILURE_CODES_H

/*
 * All failures in one table: the C name, the Ruby class that is raised (under Trunkline::), and the
 * words that follow "because" in its message. The enum, the words and the classes are generated
 * from this table, so that none can be forgotten.
 */
#define FAILURE_CODES(X)                                                                          \
    X(NONE, "Error", "nothing went wrong")                                                        \
    X(OUT_OF_MEMORY, "Error", "there was no memory left")                                         \
    X(CANCELLED, "Cancelled", "it was given up before its answer was complete")                   \
    X(FORKED, "ForkedConnection", "the connection belongs to the parent process")                 \
    X(POOL_CLOSED, "ClosedError", "the pool was closed")                                          \
    /* reaching the server */                                                                     \
    X(RESOLVE, "ResolveError", "the name could not be resolved")                                  \
    X(CONNECT, "ConnectError", "no connection could be made")                                     \
    X(EGRESS, "EgressRefused", "egress: does not allow it")                                       \
    X(TLS, "TLSError", "the TLS handshake failed")                                                \
    X(TLS_OPTIONS, "TLSError", "a TLS option cannot be used")                                     \
    X(TLS_IO, "TLSError", "the TLS connection broke")                                             \
    X(CERTIFICATE, "CertificateError", "the server's certificate was not accepted")               \
    X(PROXY, "ProxyError", "the proxy did not open the way")                                      \
    X(PROXY_REFUSED, "ProxyError", "the proxy refused")                                           \
    X(CLOSED, "ConnectionClosed", "the server closed the connection without an answer")           \
    X(RESET, "ConnectionClosed", "the connection was reset")                                      \
    /* timeouts */                                                                                \
    X(QUEUE_TIMEOUT, "QueueTimeout", "no connection became free in time")                         \
    X(RESOLVE_TIMEOUT, "ResolveTimeout", "the name was not resolved in time")                     \
    X(CONNECT_TIMEOUT, "ConnectTimeout", "no connection was made in time")                        \
    X(TLS_TIMEOUT, "TLSTimeout", "the TLS handshake did not end in time")                         \
    X(WRITE_TIMEOUT, "WriteTimeout", "the request could not be written in time")                  \
    X(FIRST_BYTE_TIMEOUT, "FirstByteTimeout", "no answer came in time")                           \
    X(READ_TIMEOUT, "ReadTimeout", "the answer stopped coming")                                   \
    X(TOTAL_TIMEOUT, "TotalTimeout", "the call did not end in time")                              \
    /* syntax and framing of the response (RFC 9112) */                                           \
    X(STATUS_LINE, "InvalidResponse", "the status line is malformed")                             \
    X(VERSION, "InvalidResponse", "the HTTP version is not 1.0 or 1.1")                           \
    X(FIELD_NAME, "InvalidResponse", "a field name is malformed")                                 \
    X(FIELD_VALUE, "InvalidResponse", "a field value holds a forbidden byte")                     \
    X(LINE_END, "InvalidResponse", "a line does not end in CRLF")                                 \
    X(LENGTH_INVALID, "InvalidResponse", "Content-Length is not a number in range")               \
    X(LENGTH_CONFLICT, "InvalidResponse", "there are several different Content-Length values")    \
    X(LENGTH_AND_CODING, "InvalidResponse", "Content-Length and Transfer-Encoding came together") \
    X(TRANSFER_CODING, "InvalidResponse", "Transfer-Encoding is not exactly one chunked")         \
    X(SWITCHED, "InvalidResponse", "the server switched protocols unasked")                       \
    X(INFORMATIONAL_LIMIT, "InvalidResponse", "too many 1xx answers came")                        \
    X(CHUNK_SIZE, "InvalidResponse", "a chunk size is malformed")                                 \
    X(CHUNK_END, "InvalidResponse", "a chunk does not end in CRLF")                               \
    X(CHUNK_EXTENSION, "InvalidResponse", "chunk extensions are malformed or too long")           \
    X(CHUNK_OVERHEAD, "InvalidResponse", "chunk framing far outweighs its data")                  \
    X(HEAD_TOO_LARGE, "HeadersTooLarge", "the header section is too large")                       \
    X(TOO_MANY_FIELDS, "HeadersTooLarge", "there are too many header fields")                     \
    X(TRAILER_TOO_LARGE, "HeadersTooLarge", "the trailer section is too large")                   \
    X(TRUNCATED_HEAD, "TruncatedBody", "the connection ended before the head was complete")       \
    X(TRUNCATED_HEAD_TLS, "TruncatedBody",                                                        \
      "the connection ended without TLS close_notify before the head was complete")               \
    X(TRUNCATED, "TruncatedBody", "the answer ended before the body was complete")                \
    X(TRUNCATED_TLS, "TruncatedBody",                                                             \
      "the connection ended without TLS close_notify before the body was complete")               \
    /* HTTP/2 (RFC 9113) */                                                                       \
    X(HTTP2_PROTOCOL, "InvalidResponse", "the server broke the rules of HTTP/2")                  \
    X(HTTP2_MALFORMED, "InvalidResponse", "the answer is malformed by the rules of HTTP/2")       \
    X(HTTP2_FLOOD, "InvalidResponse", "the server sent a flood of HTTP/2 frames")                 \
    X(HTTP2_RESET, "StreamReset", "the server reset the HTTP/2 stream")                           \
    X(HTTP2_REFUSED, "StreamReset", "the server refused the HTTP/2 stream unprocessed")           \
    X(HTTP2_GONE, "ConnectionClosed", "the server said goodbye to the HTTP/2 connection")         \
    X(HTTP2_NOT_SPOKEN, "ProtocolError", "the server does not speak HTTP/2")                      \
    X(HTTP2_NO_CONNECT, "ProtocolError", "the server takes no WebSockets over HTTP/2")            \
    /* content codings */                                                                         \
    X(CODING_DATA, "DecodeError", "the compressed body is corrupt")                               \
    X(CODING_TRUNCATED, "DecodeError", "the compressed body ends too early")                      \
    X(CODING_TRAILING, "DecodeError", "bytes follow the end of the compressed body")              \
    X(CODING_CHAIN, "DecodeError", "too many content codings are stacked")                        \
    X(CODING_RATIO, "BodyTooLarge", "the body unpacks to suspiciously much")                      \
    X(BODY_TOO_LARGE, "BodyTooLarge", "the body is larger than allowed")                          \
    /* the caller's request body */                                                               \
    X(BODY_SHORT, "BodyError", "the request body gave fewer bytes than it had declared")          \
    X(BODY_LONG, "BodyError", "the request body gave more bytes than it had declared")

typedef enum {
#define X(name, class_name, words) FAILURE_##name,
    FAILURE_CODES(X)
#undef X
        FAILURE_CODES_COUNT
} failure_code;

#endif
