# frozen_string_literal: true

module Trunkline
  # The connection that carried an answer.
  class ConnectionInfo
    # @return [Integer] unique in the process
    attr_reader :id
    # @return [Float] seconds since it was made
    attr_reader :age
    # @return [String, nil] "127.0.0.1:443", or the path of a Unix socket
    attr_reader :address
    # @return [String, nil] "TLSv1.3"; nil without TLS
    attr_reader :tls_version
    # @return [String, nil] "TLS_AES_256_GCM_SHA384"; nil without TLS
    attr_reader :cipher

    def initialize(id:, reused:, age:, address:, tls_version:, cipher:)
      @id = id
      @reused = reused
      @age = age
      @address = address
      @tls_version = tls_version
      @cipher = cipher
      freeze
    end

    # @return [Boolean] whether it had carried a call before
    def reused?
      @reused
    end

    # @return [Hash]
    def to_h
      { id: id, reused: reused?, age: age, address: address, tls_version: tls_version, cipher: cipher }
    end
  end
end
