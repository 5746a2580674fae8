# frozen_string_literal: true

require "rbconfig"

module Trunkline
  module Engine
    module Ruby
      # The engine's fixed limits, which no option changes (docs/limits.md).
      module Limits
        TRAILER_BYTES = 8 * 1024
        EXTENSION_LINE = 256
        EXTENSION_TOTAL = 16 * 1024
        INFORMATIONAL = 16
        # Maximum of bytes of chunk framing as a multiple of the bytes of data, and the bytes allowed in addition.
        OVERHEAD_RATIO = 16
        OVERHEAD_SLACK = 16 * 1024
        # Bytes of a streamed body that the caller must take before more is read.
        PIECE = 128 * 1024
        # The first attempt, one after :moved, one after :replayed.
        ATTEMPTS = 3
        CODINGS = 5
        # Bytes of decoded output below which the ratio is not checked.
        RATIO_FROM = 16 * 1024 * 1024
        CONNECTS_AT_ONCE = 8
        ADDRESSES = 64
        NAMES = 1000
        NAMES_QUEUED = 4096
        LOOKUPS = 320
        # Of these, look-ups of names that were not resolved before, and look-ups of one domain.
        LOOKUPS_OF_UNKNOWN = 304
        LOOKUPS_OF_DOMAIN = 288
        # See Options::Checks.
        UNIX_PATH_BYTES = RbConfig::CONFIG["host_os"].match?(/darwin|bsd|dragonfly/) ? 103 : 107
        PROXY_REFUSAL_BYTES = 16 * 1024
        TLS_SESSION_KEYS = 512
        TLS_SESSIONS_PER_KEY = 8
        TLS_CONTEXTS = 32
      end

      # Limits for a head. lenient: accept what Net::HTTP accepts.
      HeadLimits = Struct.new(:head_bytes, :fields, :extension_line, :extension_total, :trailer_bytes, :informational,
                              :lenient) do
        def self.of(head_bytes, fields, lenient)
          wide = 1024 * 1024
          lines = [Limits::EXTENSION_LINE, Limits::EXTENSION_TOTAL, Limits::TRAILER_BYTES, Limits::INFORMATIONAL]
          lines = [wide, wide, wide, 100] if lenient
          new(head_bytes, fields, *lines, lenient ? true : false).freeze
        end
      end
    end
  end
end
