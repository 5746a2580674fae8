# frozen_string_literal: true

require_relative "child_server"

# Debian's microsocks, open or with a user and a password.
class Microsocks < ChildServer
  class << self
    def instance = @instance ||= new(nil).tap(&:start)
    def with_password = @with_password ||= new(%w[robin secret]).tap(&:start)
  end

  def initialize(credentials)
    super("microsocks")
    @credentials = credentials
  end

  def url(scheme = "socks5h", credentials: @credentials&.join(":"))
    "#{scheme}://#{"#{credentials}@" if credentials}127.0.0.1:#{@port}"
  end

  def start
    super do
      @port, = FreePort.take(1)
      asks = @credentials ? ["-u", @credentials[0], "-P", @credentials[1]] : []
      [[@port], ["microsocks", "-i", "127.0.0.1", "-p", @port.to_s, *asks]]
    end
  end
end
