# frozen_string_literal: true

module Trunkline
  # The connection that a response came over. Frozen.
  #
  #   id           Integer, unique in the process
  #   reused?      whether it had carried another call before
  #   age          seconds since the connection was opened
  #   address      "127.0.0.1:443", or the path of a Unix socket; nil when unknown
  #   tls_version  "TLSv1.3"; nil without TLS
  #   cipher       "TLS_AES_256_GCM_SHA384"; nil without TLS
  ConnectionInfo = Struct.new(:id, :reused, :age, :address, :tls_version, :cipher, keyword_init: true) do
    alias_method :reused?, :reused

    def initialize(**)
      super
      freeze
    end
  end
end
