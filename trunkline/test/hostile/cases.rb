# frozen_string_literal: true

require_relative "../../../trunkline-lab/lib/trunkline/lab/faults"
require_relative "../support/answers"

# What a server may do wrong, over HTTP/1.1, and what the client must do: docs/safety.md is made of this table
# (rake safety:docs), and test_cases.rb runs it. The servers are those of `trunkline-lab safety`.
module HostileCases
  Faults = Trunkline::Lab::Faults

  # does: what the server does, for the page. expected: the name of the error, or the body that the caller gets.
  # only: :tls for what TLS alone has. net_http: and typhoeus: what their users get where those take more from a server
  # than the client: true for the answer, the name of another error, or the part of the body that they get. pause:
  # seconds until the next call.
  # late: the fault comes behind the end of the call, and may be found by a call that follows, which then fails, too.
  # warm: a good call comes first, so that the connection is a kept one. coding: what the build must be able to undo.
  # options: of the call; a case that needs some is not run through the facades. fault: of the lab, of HTTP/1.1.
  # script: called with the connection when the request has been read. Whatever the case, the next call of the same
  # client must be answered.
  Case = Struct.new(:group, :name, :does, :expected, :only, :net_http, :typhoeus, :pause, :late, :warm, :verb, :coding,
                    :options, :fault, :script, keyword_init: true) do
    # @param library [Symbol, nil] :net_http, :typhoeus
    # @return [Case] what its users get
    def for(library) = dup.tap { |one| one.expected = one[library] || expected }

    # @return [Boolean] whether it is a case for calls without options
    def facades? = options.empty? && verb == :get && !warm && !coding

    # @return [Boolean]
    def fails? = expected.is_a?(Symbol)
  end

  SHORT = { first_byte: 0.2, read: 0.2, write: 0.2, connect: 0.2, tls: 0.2, total: 10 }.freeze
  STALLED = { options: { timeout: SHORT } }.freeze
  SLOW = { options: { timeout: { total: 0.5 } } }.freeze
  LITTLE = { options: { max_body_bytes: 1_000_000 } }.freeze

  # The error of each fault whose body the caller must not get; what else Case has; nothing for what gives the body.
  EXPECTED = {
    lengths_that_differ: :InvalidResponse, length_below_zero: :InvalidResponse, length_of_letters: :InvalidResponse,
    length_beyond_64_bits: :InvalidResponse, length_and_chunked: [:InvalidResponse, { net_http: true }],
    length_too_large: :TruncatedBody, chunks_cut: :TruncatedBody, last_chunk_missing: :TruncatedBody,
    chunk_size_overflow: :InvalidResponse, chunk_longer_than_told: :InvalidResponse,
    chunk_extension_without_end: :InvalidResponse,
    http_0_9: :InvalidResponse, another_version: [:InvalidResponse, { net_http: true }],
    nul: [:InvalidResponse, { net_http: true }], giant_field: :HeadersTooLarge, flood_of_fields: :HeadersTooLarge,
    flood_of_1xx: :InvalidResponse, switching_unasked: [:InvalidResponse, { net_http: :FirstByteTimeout }],
    head_cut: :TruncatedBody,
    closed: :ConnectionClosed, reset: :ConnectionClosed, without_close_notify: :TruncatedBody,
    endless: [:BodyTooLarge, { options: { max_body_bytes: 4_000_000 } }],
    connect_stalls: [:ConnectTimeout, STALLED], handshake_stalls: [:TLSTimeout, STALLED],
    upload_stalls: [:WriteTimeout, STALLED], silence: [:FirstByteTimeout, STALLED],
    half_a_head: [:ReadTimeout, STALLED], half_a_body: [:ReadTimeout, STALLED], slow_body: [:TotalTimeout, SLOW],
    drip: [:TotalTimeout, SLOW],
    bomb: [:BodyTooLarge, { net_http: true, typhoeus: true }],
    nested_bomb: [:BodyTooLarge, { net_http: true, typhoeus: true }], many_codings: [:DecodeError, { net_http: true }],
    gzip_cut: :DecodeError, gzip_bad_crc: :DecodeError, no_gzip: :DecodeError, gzip_members: [nil, { net_http: "o" }],
    gzip_many_members: [nil, { net_http: "" }], br_bomb: [:BodyTooLarge, LITTLE], br_in_gzip: [:BodyTooLarge, LITTLE],
    br_cut: :DecodeError, br_none: :DecodeError, zstd_bomb: [:BodyTooLarge, LITTLE],
    zstd_in_gzip: [:BodyTooLarge, LITTLE], zstd_cut: :DecodeError, zstd_none: :DecodeError,
    zstd_bad_checksum: :DecodeError,
    loop: :RedirectLoop, to_file: :UnsafeRedirect, to_ftp: :UnsafeRedirect, to_nowhere: :UnsafeRedirect,
    down_to_http: :UnsafeRedirect, to_metadata: [:EgressRefused, { options: { egress: { allow: ["127.0.0.1"] } } }],
    tls_1_0: :TLSError, tls_1_1: :TLSError
  }.freeze

  class << self
    # @param fault [Trunkline::Lab::Faults::Fault]
    # @param error [Symbol, nil] that the caller gets; nil: the body
    # @param more [Hash, nil] what else the case has
    # @return [Case]
    def of(fault, error = nil, more = nil)
      options = { follow: (5 if fault.follow), headers: (fault.headers unless fault.headers.empty?),
                  body: ("x" * fault.upload if fault.upload) }.compact
      Case.new(**fault.to_h.slice(:group, :name, :does, :pause, :late, :warm, :verb, :coding, :script),
               expected: error || fault.body, only: (:tls if fault.tls), fault: fault,
               **more.to_h, options: { **options, **more.to_h[:options].to_h }).freeze
    end

    # @return [Symbol, nil] of a fault that EXPECTED has not
    def default(fault)
      return if fault.body
      return :ConnectionClosed if fault.warm

      :CertificateError if fault.place == :handshake
    end
  end

  ALL = Faults::ALL.reject(&:http2).map do |fault|
    of(fault, *EXPECTED.fetch(fault.name) { default(fault) })
  end.freeze
  # Those whose server is asked, and those whose call ends before.
  ASKED, UNASKED = ALL.partition { |row| row.fault.asked? }.map(&:freeze)
end
