# frozen_string_literal: true

require_relative "../../../trunkline-lab/lib/trunkline/lab/faults"
require_relative "../support/responses"

# Faults of an HTTP/1.1 server, and the required behaviour of the client: docs/safety.md is made from this table (rake
# safety:docs), and test_cases.rb runs it. The servers are those of `trunkline-lab safety`.
module HostileCases
  Faults = Trunkline::Lab::Faults

  # does: the server's behaviour, for the page. expected: the name of the error, or the body for the caller. only: :tls
  # for a case that exists only with TLS. net_http: and typhoeus: the result for their users if they accept more than
  # the client: true for the response, the name of another error, or the part of the body that they get. pause: seconds
  # until the next call. late: the fault occurs after the end of the call, and may be found by a later call, which then
  # fails. warm: a successful call is made first, so that the connection is a kept one. coding: the content coding that
  # the build must support. options: of the call; a case with options is not run through the facades. fault: the lab's
  # fault, over HTTP/1.1. script: called with the connection when the request has been read. In every case, the next
  # call of the same client must get its response.
  Case = Struct.new(:group, :name, :does, :expected, :only, :net_http, :typhoeus, :pause, :late, :warm, :verb, :coding,
                    :options, :fault, :script, keyword_init: true) do
    # @param library [Symbol, nil] :net_http, :typhoeus
    # @return [Case] the case with the result for that library's users
    def for(library) = dup.tap { |one| one.expected = one[library] || expected }

    # @return [Boolean] whether the case can run through the facades, which need calls without options
    def facades? = options.empty? && verb == :get && !warm && !coding

    # @return [Boolean]
    def fails? = expected.is_a?(Symbol)
  end

  SHORT = { first_byte: 0.2, read: 0.2, write: 0.2, connect: 0.2, tls: 0.2, total: 10 }.freeze
  STALLED = { options: { timeout: SHORT } }.freeze
  SLOW = { options: { timeout: { total: 0.5 } } }.freeze
  LITTLE = { options: { max_body_bytes: 1_000_000 } }.freeze

  # The error of each fault whose body the caller must not get, and further attributes of Case; faults whose body the
  # caller gets are not listed.
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
    # @param error [Symbol, nil] the error that the caller gets; nil: the caller gets the body
    # @param more [Hash, nil] further attributes of the case
    # @return [Case]
    def of(fault, error = nil, more = nil)
      options = { follow: (5 if fault.follow), headers: (fault.headers unless fault.headers.empty?),
                  body: ("x" * fault.upload if fault.upload) }.compact
      Case.new(**fault.to_h.slice(:group, :name, :does, :pause, :late, :warm, :verb, :coding, :script),
               expected: error || fault.body, only: (:tls if fault.tls), fault: fault,
               **more.to_h, options: { **options, **more.to_h[:options].to_h }).freeze
    end

    # @return [Symbol, nil] the error of a fault that is not in EXPECTED
    def default(fault)
      return if fault.body
      return :ConnectionClosed if fault.warm

      :CertificateError if fault.place == :handshake
    end
  end

  ALL = Faults::ALL.reject(&:http2).map do |fault|
    of(fault, *EXPECTED.fetch(fault.name) { default(fault) })
  end.freeze
  # Cases whose server receives the request, and cases whose call ends before that.
  ASKED, UNASKED = ALL.partition { |row| row.fault.request_received? }.map(&:freeze)
end
