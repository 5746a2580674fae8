# frozen_string_literal: true

require_relative "errors"
require_relative "error_message"
require_relative "attempt"
require_relative "cancelled"
require_relative "interrupts"

module Trunkline
  # The interface that an engine implements, and the one method that it calls in Ruby (Engine.failure). There are two
  # engines: in C (ext/trunkline), and in Ruby (engine/ruby). All other code in lib/ reaches the network through the
  # names below alone.
  #
  #   CODINGS                      "gzip, deflate": the content codings that this build decodes
  #   HTTP2                        whether this build supports HTTP/2
  #   BOUNDS                       the engine's fixed limits by name, which no option changes (docs/limits.md)
  #   Pool.new(max_idle)           connections, shared by any number of clients and threads;
  #                                #stats, #close_idle(owner or nil), #close, #takes_websocket?(request): whether an
  #                                open HTTP/2 connection accepts WebSocket (RFC 8441); .all: the pools of the process
  #   Config.new(hash)             limits and TLS options of one client, validated already (Options#to_engine)
  #   Origin.new(config, url, facts)
  #                                the destination of one client's requests to one origin; url: its root. facts: host:,
  #                                port:, unix_path: the address to dial; tls_name: the name to verify, nil without TLS;
  #                                label: for messages; authority: for Host; prefix: "https://api.test"; proxy: nil, or
  #                                the result of Proxy#through; forwarder: the Proxy that receives the requests
  #                                themselves, or nil; authorization: the value from netrc, or nil; json_decoder: see
  #                                Options::TABLE; bound_fields: whether the client's credentials are sent to it. #url,
  #                                #forwarder, #json_decoder
  #   Trunkline::RequestBuilder    makes requests, see request_builder.rb
  #   Trunkline::Request           all data that the engine needs for one call, see request.rb
  #   perform(pool, request, deadline, begun) -> Response
  #                                runs one exchange; returns when the response is complete, for a streamed one when its
  #                                head has arrived. deadline: monotonic seconds or nil; begun: nil, or an Array that
  #                                gets the Response before anything is sent, so that the caller can close it
  #   connect(pool, request) -> Response without a head or body
  #                                ensures that the pool has an idle connection for the next call
  #   Multi.new(pool)              many exchanges, driven by the thread that calls run:
  #     add(request, deadline, tag) -> id
  #                                begins an exchange, as perform does; tag identifies it in results
  #     run(timeout, results)      waits until there are results, and appends tag, result and status of each to that
  #                                Array. Appends none when timeout (seconds or nil) is over, when wake was called, or
  #                                when no exchange is in progress. An interrupt of run loses no result. Each request
  #                                has one result: the Response and its status, or the exception and nil. A streamed
  #                                request has several, always with nil as status: the Response when its head has
  #                                arrived, a String for each piece of the body, nil at the end, or an exception; no
  #                                more of its body is read until run is called again. A StandardError that the caller's
  #                                code (a request body) raises is the result of that request; any other exception is
  #                                raised by run
  #     cancel(id) -> true, false  ends the exchange in any state, and closes its connection; it has no further result.
  #                                false: it has already ended
  #     size                       number of exchanges in progress
  #     wake                       makes the current run, or else the next one, return; for any thread. All other
  #                                methods are for the thread that calls run: add, cancel and close raise ThreadError
  #                                while another thread is in it
  #     close -> [tag, ...]        cancels all exchanges, and returns the tags of those that had not ended. A Multi that
  #                                is garbage collected needs no close
  #   max_connections=, max_buffered_bytes=
  #                                limits of the whole process (see Options::PROCESS_LIMITS); nil for the default
  #   process_stats                Hash of these limits and of the current use: connections_in_use, buffered_bytes
  #   libraries                    {openssl: "OpenSSL 3.0.1 ...", zlib:, nghttp2:, brotli:, zstd:}, nil for a library
  #                                that the build lacks
  #   same_openssl?(store)         whether Ruby's OpenSSL, which made the OpenSSL::X509::Store, is the engine's
  #   now                          monotonic seconds, as Process::CLOCK_MONOTONIC
  #   response(request, head, body) -> Response
  #                                a response without a connection, for tests: head as a server sends it, body as the
  #                                caller receives it
  #   JSONBatches.new(form, path, options)
  #                                finds the values of a JSON stream, see json_stream.rb
  #   charset(name) -> Encoding, nil
  #                                the encoding for a Content-Type's charset
  #
  # Response is the engine's class as well (response.rb adds the methods that need no engine); Engine.failure makes the
  # engine's errors.
  module Engine
    # Builds the error for a failed exchange; the engine raises it.
    #
    # @param class_name [Symbol] an error class of Trunkline, such as :FirstByteTimeout
    # @param facts [Hash] code:, words:, detail:, request:, phase:, elapsed:, limit:, attempt:, sent:, connection_age:,
    #   address:, label:, errno:, attempts:, unprocessed:, doing: (what a policy was doing)
    # @return [Error]
    def self.failure(class_name, facts)
      facts = facts.merge(attempts: Attempt.of_failure(facts[:attempts] || [], facts[:elapsed]))
      Trunkline.const_get(class_name, false).new(ErrorMessage.of(class_name, facts), facts)
    end
  end
end

require_relative "engine/choice"
require_relative "engine/pool"
