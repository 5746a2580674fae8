# frozen_string_literal: true

module Trunkline
  # Writes the message of an error: what happened, at which server, in which phase, and whether the server can have seen
  # the request. Queries are left out, since they may hold credentials.
  #
  # @api private
  module ErrorMessage
    SENT = {
      none: "nothing of the request was sent",
      partial: "the server may have part of the request",
      all: "the server has the whole request"
    }.freeze

    PHASES = {
      queue: "waiting for a free connection",
      resolve: "resolving the name",
      connect: "connecting",
      tls: "in the TLS handshake",
      write: "sending the request",
      first_byte: "waiting for the answer",
      read: "reading the answer"
    }.freeze

    # Messages for timeouts.
    TIMEOUTS = {
      QueueTimeout: "no connection to %<label>s became free within %<limit>s for %<call>s",
      ResolveTimeout: "the name of %<label>s was not resolved within %<limit>s for %<call>s",
      ConnectTimeout: "no connection to %<label>s within %<limit>s for %<call>s",
      TLSTimeout: "no TLS session with %<label>s within %<limit>s for %<call>s",
      WriteTimeout: "%<label>s took no byte of %<call>s for %<limit>s",
      FirstByteTimeout: "no answer from %<label>s within %<limit>s of sending %<call>s",
      ReadTimeout: "the answer from %<label>s to %<call>s stopped for %<limit>s",
      TotalTimeout: "%<call>s at %<label>s did not end within %<limit>s (it was %<phase>s)",
      DeadlineExceeded: "%<call>s at %<label>s had %<limit>s until the deadline, and did not end (it was %<phase>s)"
    }.freeze

    module_function

    # @param class_name [Symbol] name of the error's class
    # @param facts [Hash] as Engine.failure takes them
    # @return [String]
    def of(class_name, facts)
      message = "#{what_happened(class_name, facts)}; #{delivery(facts)}"
      attempt = facts[:attempt]
      attempt && attempt > 1 ? "#{message} (attempt #{attempt})" : message
    end

    # @return [String] whether the server can have seen the request
    def delivery(facts)
      return "the server has not acted on the request" if facts[:unprocessed]

      SENT.fetch(facts[:sent], "it is not known what was sent")
    end

    # @return [String] "GET /path"
    def describe(request)
      request ? "#{request.method} #{request.uri.path}" : "the request"
    end

    # @return [String] "0.25 s", "2.0 s"
    def seconds(limit)
      "#{limit.round(limit < 0.1 ? 4 : 3)} s"
    end

    def what_happened(class_name, facts)
      pattern = TIMEOUTS[class_name]
      return failure(facts) unless pattern && facts[:limit]

      text = format(pattern, label: facts[:label], limit: seconds(facts[:limit].to_f), call: describe(facts[:request]),
                             phase: facts[:doing] || PHASES.fetch(facts[:phase], "under way"))
      with_detail(text, facts[:detail])
    end

    def failure(facts)
      phase = PHASES[facts[:phase]]
      text = "#{describe(facts[:request])}#{peer(facts)} failed#{" #{phase}" if phase}: #{facts[:words]}"
      with_detail(text, facts[:detail])
    end

    def peer(facts)
      label, address = facts.values_at(:label, :address)
      return "" unless label

      address && address != label ? " at #{label} (#{address})" : " at #{label}"
    end

    def with_detail(text, detail)
      detail.nil? || detail.empty? ? text : "#{text} (#{detail})"
    end

    private_class_method :delivery, :what_happened, :failure, :peer, :with_detail
  end
end
