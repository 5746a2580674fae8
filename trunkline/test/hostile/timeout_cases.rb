# frozen_string_literal: true

# A server that stops sending at one point of a call, for each phase that has a limit, as rows of docs/safety.md.
# test_timeout_cases.rb runs them.
module HostileTimeouts
  # does: for the page. expected: the name of the error. over: which of plain, TLS, and HTTP/2 over TLS have the phase.
  # h2: the error over HTTP/2, if it differs. body: of the request. limits: the phases for which the client's limit is
  # short.
  Case = Struct.new(:does, :expected, :over, :h2, :body, :limits, keyword_init: true) do
    # @param over [Symbol] one of the row's own `over`
    def expected_over(over) = (h2 if over == :h2) || expected

    # @return [Hash] the client's option timeout:
    def timeout
      short = limits.to_h { |phase| [phase, LIMIT] }
      { connect: AMPLE, tls: AMPLE, write: AMPLE, first_byte: AMPLE, read: AMPLE, total: AMPLE * 2, **short }
    end

    # @return [Hash] the same limits as options of Faraday and Net::HTTP
    def timeouts
      phases = { open_timeout: %i[connect tls], write_timeout: %i[write], read_timeout: %i[first_byte read] }
      phases.transform_values { |covered| covered.any? { |phase| limits.include?(phase) } ? LIMIT : AMPLE }
    end

    # @return [Symbol]
    def verb = body ? :post : :get
  end

  ALL_OVER = %i[plain tls h2].freeze
  LIMIT = 0.3 # seconds, for the phase that stalls
  AMPLE = 20  # seconds, for the other phases, and for calls that must succeed

  ALL = {
    connect: Case.new(does: "no answer to a connect", expected: :ConnectTimeout, over: ALL_OVER, limits: [:connect]),
    handshake: Case.new(does: "no answer to the handshake", expected: :TLSTimeout, over: ALL_OVER - [:plain],
                        limits: [:tls]),
    upload: Case.new(does: "nobody who reads the request's body", expected: :WriteTimeout, over: ALL_OVER,
                     body: "x" * 50_000_000, limits: [:write]),
    first_byte: Case.new(does: "no byte of an answer", expected: :FirstByteTimeout, over: ALL_OVER,
                         limits: [:first_byte]),
    head: Case.new(does: "half a head", expected: :ReadTimeout, over: ALL_OVER, h2: :FirstByteTimeout,
                   limits: %i[first_byte read]),
    body: Case.new(does: "half a body", expected: :ReadTimeout, over: ALL_OVER, limits: [:read])
  }.freeze
end
