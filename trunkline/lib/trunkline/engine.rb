# frozen_string_literal: true

require_relative "errors"
require_relative "sentence"
require_relative "attempt"

module Trunkline
  # What an engine must provide, and the one thing it asks of Ruby. The engine in ext/trunkline is the only one;
  # everything in lib/ reaches the network through these names alone.
  #
  #   CODINGS                      "gzip, deflate": the content codings this build undoes
  #   Pool.new(max_idle)           connections, shared by any number of clients and threads;
  #                                #stats, #close_idle(owner or nil), #close
  #   Settings.new(hash)           limits and TLS of one client, checked already (Options#to_engine)
  #   Prepared.new(settings, method, target, fields, host, port, unix_path, tls_name, label, proxy)
  #                                a request's head, composed once, sent any number of times by any thread;
  #                                proxy: nil, or what Proxy#through gives
  #   perform(pool, prepared, request, body, body_length, deadline, streaming, early_hints) -> Response
  #                                one exchange. body: nil, String, or anything with #next_chunk; body_length:
  #                                bytes, or -1 for chunked; deadline: monotonic seconds or nil; streaming: return
  #                                once the head is there; early_hints: called with [[name, value], ...]
  #   connect(pool, prepared, request) -> Response without an answer
  #                                sees to it that an idle connection is there for the next call
  #   response(request, head, body) -> Response
  #                                an answer that came over no connection, for tests: head as a server would
  #                                write it, body as the caller is to get it
  #
  # Response is the engine's as well (response.rb adds what needs no engine), and Engine.failure makes its errors.
  module Engine
    # Builds the error for a failed exchange; the engine raises it.
    #
    # @param class_name [Symbol] an error class of Trunkline, such as :FirstByteTimeout
    # @param facts [Hash] code:, words:, detail:, request:, phase:, elapsed:, limit:, attempt:, sent:,
    #   connection_age:, address:, label:, errno:, attempts:
    # @return [Error]
    def self.failure(class_name, facts)
      facts = facts.merge(attempts: Attempt.list(facts[:attempts] || []))
      Trunkline.const_get(class_name, false).new(Sentence.of(class_name, facts), facts)
    end
  end
end

require "trunkline/trunkline"
