# frozen_string_literal: true

require_relative "errors"
require_relative "sentence"
require_relative "attempt"
require_relative "cancelled"
require_relative "interrupts"

module Trunkline
  # What an engine must provide, and the one thing it asks of Ruby. There are two: in C (ext/trunkline), and in Ruby
  # (engine/ruby). Everything else in lib/ reaches the network through these names alone.
  #
  #   CODINGS                      "gzip, deflate": the content codings this build undoes
  #   HTTP2                        whether this build speaks HTTP/2
  #   BOUNDS                       its own limits by name, which no option changes (docs/limits.md)
  #   Pool.new(max_idle)           connections, shared by any number of clients and threads;
  #                                #stats, #close_idle(owner or nil), #close, #takes_websocket?(request): whether an
  #                                open connection over HTTP/2 does (RFC 8441); .all: those of the process
  #   Config.new(hash)             limits and TLS of one client, checked already (Options#to_engine)
  #   Origin.new(config, url, facts)
  #                                where the requests of one client to one origin go; url: its root. facts: host:,
  #                                port:, unix_path: what is dialled; tls_name: to verify, nil for plain; label: for
  #                                messages; authority: for Host; prefix: "https://api.test"; proxy: nil, or what
  #                                Proxy#through gives; forwarder: the Proxy that is sent the requests themselves, or
  #                                nil; authorization: that netrc has, or nil; json_decoder: see Options::TABLE;
  #                                bound_fields: whether the client's credentials are for it. #url, #forwarder,
  #                                #json_decoder
  #   Trunkline::RequestBuilder    makes requests, see request_builder.rb
  #   Trunkline::Request           all that the engine is told of one call, see request.rb
  #   perform(pool, request, deadline, begun) -> Response
  #                                one exchange; returns when the answer is there, of a streamed one when its head is.
  #                                deadline: monotonic seconds or nil; begun: nil, or an Array that takes the Response
  #                                before anything is sent, for whoever must close it
  #   connect(pool, request) -> Response without an answer
  #                                sees to it that an idle connection is there for the next call
  #   Multi.new(pool)              many exchanges, driven by the thread that calls run:
  #     add(request, deadline, tag) -> id
  #                                begins one, as perform does; tag is what it is called in results
  #     run(timeout, results)      waits until there are results, and adds to that Array tag, result, status of each.
  #                                None when timeout, in seconds or nil, is over, when it was woken, or when nothing is
  #                                under way. What interrupts it loses none. Of each request: the Response and its
  #                                status, or the exception and nil, once. Of a streamed one, always with nil: the
  #                                Response when its head is there, a String for each piece of the body, nil at the
  #                                end, or an exception; no more of it is read until run is called again. What the
  #                                caller's own code (a body) raises is the result of its request, unless it is no
  #                                StandardError: that comes out of run
  #     cancel(id) -> true, false  ends it, whatever it waits for, and closes its connection; it has no further result.
  #                                false: it is over
  #     size                       how many are under way
  #     wake                       ends the run that waits, or the next one; from any thread. All else is for the thread
  #                                that runs it: ThreadError while another does
  #     close -> [tag, ...]        cancels all, and says which: those that have not ended. What is dropped needs none
  #   max_connections=, max_buffered_bytes=
  #                                limits of the whole process (see Options::OF_PROCESS); nil for the usual one
  #   process_stats                Hash of these limits and of what is in use: connections_in_use, buffered_bytes
  #   libraries                    {openssl: "OpenSSL 3.0.1 ...", zlib:, nghttp2:, brotli:, zstd:}, nil for those that
  #                                the build is without
  #   same_openssl?(store)         whether Ruby's OpenSSL, which made the OpenSSL::X509::Store, is the engine's
  #   now                          monotonic seconds, those of Process::CLOCK_MONOTONIC
  #   response(request, head, body) -> Response
  #                                an answer that came over no connection, for tests: head as a server would
  #                                write it, body as the caller is to get it
  #   JSONBatches.new(form, path, options)
  #                                finds the values of a stream of JSON, see json_stream.rb
  #   charset(name) -> Encoding, nil
  #                                what a Content-Type's charset stands for
  #
  # Response is the engine's as well (response.rb adds what needs no engine), and Engine.failure makes its errors.
  module Engine
    # Builds the error for a failed exchange; the engine raises it.
    #
    # @param class_name [Symbol] an error class of Trunkline, such as :FirstByteTimeout
    # @param facts [Hash] code:, words:, detail:, request:, phase:, elapsed:, limit:, attempt:, sent:,
    #   connection_age:, address:, label:, errno:, attempts:, unprocessed:, doing: (what a policy was at)
    # @return [Error]
    def self.failure(class_name, facts)
      facts = facts.merge(attempts: Attempt.of_failure(facts[:attempts] || [], facts[:elapsed]))
      Trunkline.const_get(class_name, false).new(Sentence.of(class_name, facts), facts)
    end
  end
end

require_relative "engine/choice"
require_relative "engine/pool"
