# frozen_string_literal: true

require_relative "errors"
require_relative "error_message"
require_relative "attempt"
require_relative "cancelled"
require_relative "interrupts"

module Trunkline
  # The contract between the library and its two engines: in C (ext/trunkline), and in Ruby (engine/ruby). Both have all
  # methods below, and all other code in lib/ reaches the network through these methods alone. A test
  # (test/engine/test_contract.rb) compares this page with both engines.
  #
  # == Rules for all of them
  #
  # Errors: a failed exchange raises what Engine.failure makes, an Error of the library. A wrong argument raises
  # TypeError or ArgumentError, a frozen String or Array to write to FrozenError: arguments were checked before, so
  # these show a bug of the library. What the program's own code raises (a body, early_hints:, progress:) passes through
  # unchanged.
  #
  # Waiting: only perform, connect, Multi#run, and the methods of Response that read, wait; all of them let other
  # threads run meanwhile, and under a Fiber scheduler other fibers.
  #
  # Interrupts: Thread#raise and #kill, Timeout, Fiber#raise and the handlers of signals end a wait. The exchange of an
  # interrupted perform, connect or read is over: its connection is closed, or its stream reset, and a further read of
  # the response raises. An interrupt of Multi#run leaves the other exchanges as they are, and loses no result.
  #
  # Time: now is the only clock. A deadline is a value of now, a timeout a number of seconds; nil is no limit. The
  # limits of the phases are in Config.
  #
  # Ownership: the engine owns all connections; the caller has at most an object that refers to one. A connection is in
  # use until its response is complete, failed, closed or collected, or its Switched closed or collected. Arguments
  # belong to the caller, and an engine keeps them as long as it uses them; a String that it keeps after it returns is
  # copied or frozen first. Strings and Arrays that it returns belong to the caller.
  #
  # Threads: Pool, Config, Origin and Request may be used by all threads at once. A Response, Multi, Switched,
  # JSONBatches or EventStreamParser is used by one thread at a time, with the exceptions below; a Response that another
  # thread reads, or that is in a Multi, raises ThreadError. Pools belong to the main Ractor.
  #
  # Fork: needs no call of the program. The child has the pools without connections, and opens its own. A Response that
  # is half read, an exchange of a Multi and a Switched belong to the parent: the child closes their descriptors and
  # sends nothing, and using them raises ForkedConnection (for Multi, as the result). See docs/decisions/0004.
  #
  # == Engine
  #
  #   CODINGS                    "gzip, deflate": the content codings that this build decodes
  #   HTTP2                      whether this build supports HTTP/2
  #   BOUNDS                     the engine's fixed limits by name, which no option changes (docs/limits.md)
  #   perform(pool, request, deadline, begun) -> Response
  #                              runs one exchange; returns when the response is complete, for a streamed one when its
  #                              head has arrived. begun: nil, or an Array that gets the Response before anything is
  #                              sent, so that the caller can close it, also when perform raises
  #   connect(pool, request) -> Response without a head or body
  #                              ensures that the pool has an idle connection for the next call
  #   max_connections=(count), max_buffered_bytes=(bytes)
  #                              limits of the whole process (see Options::PROCESS_LIMITS); nil for the default
  #   process_stats              Hash of these limits and of the current use: connections_in_use:, buffered_bytes:
  #   libraries                  {openssl: "OpenSSL 3.0.1 ...", zlib:, nghttp2:, brotli:, zstd:}, nil for a library that
  #                              the build lacks
  #   same_openssl?(store)       whether Ruby's OpenSSL, which made the OpenSSL::X509::Store, is the engine's
  #   now                        monotonic seconds, as Process::CLOCK_MONOTONIC
  #   response(request, head, body) -> Response
  #                              a response without a connection, for tests: head as a server sends it, body as the
  #                              caller receives it. Raises InvalidResponse
  #   charset(name) -> Encoding, nil
  #                              the encoding for a Content-Type's charset
  #
  # == Engine::Pool
  #
  # Connections, shared by any number of clients and threads. Pool.all: the pools of the process.
  #
  #   initialize(max_idle)       the most idle connections that it keeps
  #   stats                      Hash of numbers: connections:, idle:, in_use:, waiting:, opened:, reused:, closed:
  #   close_idle(owner)          closes idle connections of the clients with that id, nil: of all; returns how many
  #   close                      ends all waits for a connection; closes idle connections now, others when their calls
  #                              end. Idempotent
  #   takes_websocket?(request)  whether an open HTTP/2 connection accepts WebSocket (RFC 8441)
  #
  # == Engine::Config
  #
  #   initialize(hash)           limits, timeouts, socket and TLS options of one client: validated already
  #                              (Options#to_engine). TLS options that OpenSSL refuses raise a TLSError in the first
  #                              call
  #
  # == Engine::Origin
  #
  # The destination of one client's requests to one origin.
  #
  #   initialize(config, url, facts)
  #                              url: its root. facts: host:, port:, unix_path: the address to dial; tls_name: the name
  #                              to verify, nil without TLS; label: for messages; authority: for Host; prefix:
  #                              "https://api.test"; proxy: nil, or the result of Proxy#through; forwarder: the Proxy
  #                              that receives the requests themselves, or nil; authorization: the value from netrc, or
  #                              nil; json_decoder: see Options::TABLE; bound_fields: whether the client's credentials
  #                              are sent to it
  #   url, forwarder, json_decoder
  #                              as given
  #
  # == Engine::Multi
  #
  # Many exchanges, driven by the thread that calls run. wake is for any thread; all other methods are for the thread
  # that calls run: add, cancel and close raise ThreadError while another thread is in it.
  #
  #   initialize(pool)
  #   add(request, deadline, tag) -> id
  #                              begins an exchange, as perform does; tag identifies it in results
  #   run(timeout, results)      waits until there are results, and appends tag, result and status of each to that
  #                              Array. Appends none when timeout (seconds or nil) is over, when wake was called, or
  #                              when no exchange is in progress. Each request has one result: the Response and its
  #                              status, or the exception and nil. A streamed request has several, always with nil as
  #                              status: the Response when its head has arrived, a String for each piece of the body,
  #                              nil at the end, or an exception; no more of its body is read until run is called again.
  #                              A StandardError that the caller's code (a request body) raises is the result of that
  #                              request, unless Interrupts.ended_by?; any other exception is raised by run
  #   cancel(id) -> true, false  ends the exchange in any state, and closes its connection; it has no further result.
  #                              false: it has already ended
  #   size                       number of exchanges in progress
  #   wake                       makes the current run, or else the next one, return
  #   close -> [tag, ...]        cancels all exchanges, and returns the tags of those that had not ended. Idempotent. A
  #                              Multi that is garbage collected needs no close
  #
  # == Engine::Switched
  #
  # The connection (HTTP/1.1) or stream (HTTP/2) of a request of the mode :upgrade that the server has granted;
  # Response#_switched, and no other response has one. The caller owns it. No method waits: where it would, it returns
  # :readable or :writable, for which the caller waits at the descriptor before it calls the method again. One reader
  # and one writer may use it at the same time. All but shutdown and close raise IOError after close.
  #
  #   read -> String, nil, Symbol
  #                              the next bytes; nil at the end. Raises ConnectionError
  #   write(string, from) -> Integer, nil, Symbol
  #                              how many bytes from that offset on were accepted; nil: the stream has ended
  #   flush -> nil, Symbol       nil: all accepted bytes were passed to the system
  #   rest                       tells that the reader no longer waits for what read has returned
  #   descriptor -> Integer      to wait for; it stays the engine's
  #   shutdown                   ends all waits for the descriptor; for any thread
  #   close                      ends the connection, or the stream. No thread may be waiting for the descriptor.
  #                              Idempotent
  #
  # == Engine::JSONBatches
  #
  # Finds the values of a JSON stream, see json_stream.rb.
  #
  #   initialize(form, path, options)
  #                              form: :document, :lines, :sequence or :detected; path: of a document, an Array of names
  #                              of members, nil for every member and element; options: limit:, the most bytes of a
  #                              value or nil; max_nesting:, 0 for no limit; read:, whether the engine parses values;
  #                              and those in JSONStream::ENGINE_OPTIONS
  #   feed(bytes, from) -> Integer
  #                              takes bytes from that offset on; returns the offset to continue from, after #take
  #   finish                     tells that the stream has ended
  #   take -> String, nil        yields the next values that the engine has parsed; returns those after them that
  #                              JSON.parse must parse, as a JSON array. nil: more must be fed, or failure says why not
  #   size                       number of values in that array
  #   value(number)              [from, length, byte, line, positions]: where a value of the array is in it, and was in
  #                              the stream; positions: for each segment of path an index, or nil for a member
  #   failure                    nil, or [kind, words, byte, line, positions]; kind: :invalid, :too_deep or :too_large
  #
  # == EventStreamParser
  #
  # See event_stream_parser.rb. It makes a ServerSentEvent without its initialize, by setting @data, @type, @id and
  # @retry.
  #
  #   _begin(limit, last_event_id)
  #                              private: called once, by initialize
  #   <<(chunk) -> self          takes bytes; the caller may change the String afterwards
  #   next_event -> ServerSentEvent, nil
  #                              nil: more must be fed. Raises what too_large returns
  #   last_event_id -> String, nil
  #                              the id of the last complete event
  #   retry -> Float, nil        the last reconnection time, in seconds
  #
  # == RequestBuilder
  #
  # See request_builder.rb.
  #
  #   _prepare(config, fields, unbound, facts)
  #                              private: called once, by initialize. fields: the client's, as pairs, of which the
  #                              first, as many as unbound says, are sent to every origin; facts: see shared
  #                              and references there
  #   build(method, location, options, mode) -> Request
  #   next_unusual(locations, from) -> Integer, nil
  #   rebuild(request, method, url, fields, with_content) -> Request
  #   raw(method, url, target, fields, content, length, streaming) -> Request
  #
  # per_call?(options) is a method of the class.
  #
  # == Request
  #
  # All data that the engine needs for one call, frozen. See request.rb.
  #
  #   initialize(method, uri, fields, body = nil)
  #                              a request that is not sent
  #   method, uri, target, origin, builder, content, content_length, template, progress, follow
  #   streaming?, plain?
  #   release                    closes what the content itself has opened
  #   _with(content, streaming) -> Request
  #                              a copy with content from another source of the same length
  #   _fields                    private: [[name, value], ...], without the fields for a proxy
  #   _field_lines               these fields as they are sent
  #   _fields_by_name            Hash of values by name in lower case, see Headers#to_h
  #
  # == Response
  #
  # The engine makes all responses: the class has no new. response.rb and body_reading.rb add the methods that need no
  # engine.
  #
  #   status, reason, request
  #   [](name) -> String, nil    the value of a field; several values are joined by ", "; a Symbol's "_" is "-"
  #   body -> String             memoised, in the charset of Content-Type; of a streamed response the part that was not
  #                              read, for which max_body_bytes holds
  #   complete?                  whether all of it has arrived and been read
  #   length_unknown?            whether the body ends with the connection, so that a cut one cannot be detected
  #   close                      ends the exchange, unless it is complete. Idempotent
  #   minor_version              private: 1 or 0; nil: HTTP/2
  #   _given_reason              the reason phrase that the server sent
  #   _fields                    private: [[name, value], ...]
  #   _fields_by_name            Hash of values by name in lower case, see Headers#to_h
  #   _trailers                  private: as _fields; empty before the end
  #   _early_hints               private: an Array like _fields for each 103 response
  #   _read(buffer) -> String, nil
  #                              private: the next piece of a streamed body, at most BOUNDS[:streamed_piece] bytes, in
  #                              buffer or (nil) a new String; nil at the end. After an error each further read raises
  #   _settle(bytes)             private: reads the rest within a second, and makes it the body, at most so many bytes
  #   _save(descriptor, offset, seconds) -> true, false
  #                              writes the body to a file of the caller's, from offset on. false: the seconds were over
  #                              before its end. Raises also SystemCallError
  #   _saved                     number of bytes that _save has written, also before it raised
  #   _hold(bytes)               private: puts back bytes that were read too far; they belong to body again
  #   _take_held -> String, nil  private: takes them
  #   _held?                     private: whether there are such bytes
  #   _held_line(limit, chomp) -> String, nil
  #                              private: takes the next line, if it is held whole and has at most limit bytes (or nil)
  #   _each_held_line(limit, chomp)
  #                              private: yields each of these lines
  #   _whole_characters(chunk)   private: sets the chunk's encoding to the body's; returns how many of its bytes are
  #                              whole characters
  #   _asked_at(caller_line)     notes the line of the program to name in a warning, if the response is collected before
  #                              it was read to its end
  #   _body_begun?               whether the server may have received a part of the request's body
  #   _began -> Float, nil       private: when the exchange began; nil: without a connection
  #   _timings                   private: seconds or nil of queue, resolve, connect, tls, write, first_byte, total, gvl
  #   _connection                private: Hash with id:, reused:, age:, address:, tls_version:, cipher:
  #   _attempts                  private: [[number, reason, address, sent, name of an error's class or nil], ...]
  #
  # The engine sets @switched before it returns the response.
  #
  # == What an engine calls
  #
  # Engine.failure, InvalidRequest.new, the private methods of RequestBuilder under "methods that the engine calls",
  # EventStreamParser#too_large and Interrupts.ended_by?. Of its arguments: URL#origin, #target, #userinfo and
  # #at_target; Content#next_chunk (a String, nil at the end), #length and #release; the callables for early_hints: and
  # progress:, with fields, and with bytes, total and over. Those of the content and the callables run in the thread
  # that performs or runs, and may raise. The engine in Ruby also uses helpers of the library that know no engine
  # (Headers, CommaList, Memo and others).
  #
  # == On JRuby
  #
  # There is only the engine in Ruby, and two of its parts are used directly: Engine::Ruby::IOOnJRuby by
  # websocket/socket.rb, to wait for a descriptor, and Engine::Ruby::TLSOnJRuby by facades/x509_stores.rb, to fill a
  # store.
  module Engine
    # Builds the error for a failed exchange; the engine raises it.
    #
    # @param class_name [Symbol] an error class of Trunkline, such as :FirstByteTimeout
    # @param facts [Hash] code:, words:, detail:, request:, phase:, elapsed:, limit:, attempt:, sent:, connection_age:,
    #   address:, label:, errno:, attempts:, unprocessed:; status:, fields:, body: of a proxy's refusal; doing: (what a
    #   policy was doing)
    # @return [Error]
    def self.failure(class_name, facts)
      facts = facts.merge(attempts: Attempt.of_failure(facts[:attempts] || [], facts[:elapsed]))
      Trunkline.const_get(class_name, false).new(ErrorMessage.of(class_name, facts), facts)
    end
  end
end

require_relative "engine/choice"
require_relative "engine/pool"
