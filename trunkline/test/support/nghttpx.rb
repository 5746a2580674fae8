# frozen_string_literal: true

require_relative "child_server"
require_relative "nginx"
require_relative "certificate_authority"

# Debian's nghttpx: HTTP/2 (by ALPN, or with prior knowledge) in front of nginx, or of a test's own server.
class Nghttpx < ChildServer
  LISTENERS = %i[tls plain].freeze
  STREAMS = 100

  class << self
    def instance = @instance ||= new.tap(&:start)

    def url(path = "/small", listener = :tls)
      "#{listener == :tls ? "https" : "http"}://localhost:#{instance.ports.fetch(listener)}#{path}"
    end
  end

  attr_reader :ports

  # @param backend [Integer, nil] the port of the server behind it; nil: nginx
  def initialize(backend = nil)
    super("nghttpx")
    @backend = backend
  end

  def start
    super do
      @ports = LISTENERS.zip(FreePort.take(LISTENERS.size)).to_h
      [@ports.values, ["nghttpx", "--conf=/dev/null", "--workers=1", "--log-level=WARN",
                       "--frontend-http2-max-concurrent-streams=#{STREAMS}",
                       "--frontend=127.0.0.1,#{@ports[:tls]}", "--frontend=127.0.0.1,#{@ports[:plain]};no-tls",
                       "--backend=127.0.0.1,#{@backend || Nginx.port}",
                       TestCA.key_file(:localhost), TestCA.certificate_file(:localhost)]]
    end
  end
end
