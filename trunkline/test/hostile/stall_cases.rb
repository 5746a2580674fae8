# frozen_string_literal: true

# A server that is silent from one point of a call on, for each phase that has a limit, as rows of docs/safety.md.
# test_stall_cases.rb runs them.
module HostileStalls
  # does: for the page. expected: the name of the error. over: of plain, TLS, and HTTP/2 over TLS, those that have the
  # phase. h2: the error over HTTP/2, where it is another. body: of the request. limits: the client's that are short.
  Case = Struct.new(:does, :expected, :over, :h2, :body, :limits, keyword_init: true) do
    # @param over [Symbol] of its own
    def expected_over(over) = (h2 if over == :h2) || expected

    # @return [Hash] the client's timeout:
    def timeout
      short = limits.to_h { |phase| [phase, LIMIT] }
      { connect: AMPLE, tls: AMPLE, write: AMPLE, first_byte: AMPLE, read: AMPLE, total: AMPLE * 2, **short }
    end

    # @return [Hash] the same, as Faraday and Net::HTTP have it
    def timeouts
      phases = { open_timeout: %i[connect tls], write_timeout: %i[write], read_timeout: %i[first_byte read] }
      phases.transform_values { |covered| covered.any? { |phase| limits.include?(phase) } ? LIMIT : AMPLE }
    end

    # @return [Symbol]
    def verb = body ? :post : :get
  end

  ALL_OVER = %i[plain tls h2].freeze
  LIMIT = 0.3 # seconds, of the phase that stalls
  AMPLE = 20  # of the others, and of calls that must be answered

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
