# frozen_string_literal: true

require "rbconfig"
require "socket"
require_relative "failures"
require_relative "limits"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # A socket that the engine opened, which a forked child must close.
      class ConnectionSocket < Socket; end

      # Opens sockets and sets their options (bind:, keepalive: and user_timeout:).
      SocketOptions = Struct.new(:address, :interface, :keepalive_idle, :keepalive_interval, :user_timeout) do
        def initialize(hash)
          super(*hash.fetch_values(*members))
          @local = address && Addrinfo.tcp(address, 0)
          freeze
        rescue SocketError
          raise InvalidRequest, "bind: #{address.inspect} is no IP address"
        end

        # Called in a forked child, so that servers see the end of the parent's connections. A WeakMap of the sockets
        # does not work: Ruby 3.1's crashes the process some time after GC.compact, which servers call before they fork.
        def self.close_all
          ObjectSpace.each_object(ConnectionSocket) do |socket|
            socket.close
          rescue IOError # Socket.new failed, and left an object without a descriptor
            nil
          end
        end

        # @return [Socket] non-blocking, and not connected
        def open(address)
          return UnixOnJRuby.open(address.unix_path) if address.unix? && RUBY_ENGINE == "jruby"

          socket = ConnectionSocket.new(address.afamily, Socket::SOCK_STREAM, 0)
          prepare(socket, address) unless address.unix?
          socket
        rescue SystemCallError
          socket&.close
          raise
        end

        private

        def prepare(socket, address)
          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          probe(socket) if keepalive_idle.positive?
          set(socket, :TCP_USER_TIMEOUT, user_timeout) if user_timeout.positive?
          bind(socket, address)
        end

        def probe(socket)
          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_KEEPALIVE, 1)
          set(socket, Socket.const_defined?(:TCP_KEEPIDLE) ? :TCP_KEEPIDLE : :TCP_KEEPALIVE, keepalive_idle)
          set(socket, :TCP_KEEPINTVL, keepalive_interval)
        end

        # Not all systems have all options; a missing one is ignored.
        def set(socket, name, value)
          socket.setsockopt(Socket::IPPROTO_TCP, Socket.const_get(name), value) if Socket.const_defined?(name)
        end

        def bind(socket, address)
          bind_to_interface(socket) if interface
          return unless @local
          raise Errno::EADDRNOTAVAIL unless @local.afamily == address.afamily

          socket.bind(@local)
        end

        def bind_to_interface(socket)
          raise Errno::ENOTSUP unless Socket.const_defined?(:SO_BINDTODEVICE)

          socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_BINDTODEVICE, interface)
        end
      end

      # Connects to one of a server's addresses (Happy Eyeballs, RFC 8305): while an attempt is in progress the next
      # address is tried after a delay, and the first connection is used.
      class Connecting
        include Redacted

        ATTEMPT_DELAY = 0.25
        # Seconds: connect to a Unix socket whose backlog is full fails at once, and no event signals when there is
        # room.
        RETRY_DELAY = 0.005
        # On Windows, a failed attempt is reported to select as an exceptional condition alone, for which neither
        # IO#wait_writable nor a fiber scheduler waits: the attempts are checked every 20 ms.
        WINDOWS = RbConfig::CONFIG["host_os"].match?(/mswin|mingw/)
        CHECK_INTERVAL = 0.02
        private_constant :ATTEMPT_DELAY, :RETRY_DELAY, :WINDOWS, :CHECK_INTERVAL

        # @param addresses [Array<Addrinfo>] with ports
        # @param options [SocketOptions]
        def initialize(addresses, options)
          @waiting = interleave(addresses)
          @options = options
          @under_way = {} # sockets to addresses
          @errors = []
          @errno = 0
          @due = -NEVER
        end

        # @return [Array(Socket, Addrinfo), nil] the connected socket; nil: see #sockets and #due
        # @raise [Failure] when all attempts have failed
        def step(now)
          won = collect(now)
          unless won
            start_due(now)
            won = collect(now) # a loopback connection is complete at once
            start_due(now) unless won
          end
          return winner(won) if won
          return unless @under_way.empty? && @waiting.empty?

          raise Failure.new(:CONNECT, @errors.join("; ")[0, 300], phase: :connect, errno: @errno)
        end

        # @return [Array<Socket>] sockets to poll for writing
        def sockets = @under_way.keys

        # @return [Float] when to call #step even if no socket is writable
        def due
          due = may_start? ? @due : NEVER
          WINDOWS && !@under_way.empty? ? [due, @checked_at + CHECK_INTERVAL].min : due
        end

        # @param limit [String] the limit in words: "within 2 s"
        # @return [Failure]
        def timed_out(limit)
          names = (@under_way.empty? ? @waiting.first(1) : @under_way.values).map { |one| Connecting.endpoint(one) }
          errors = "; #{@errors.join("; ")}" unless @errors.empty?
          Failure.new(:CONNECT_TIMEOUT, "#{names.join(", ")} did not answer #{limit}#{errors}",
                      phase: :connect, errno: @errno)
        end

        def close
          @under_way.each_key(&:close)
          @under_way.clear
        end

        # @param address [Addrinfo]
        # @return [String] "127.0.0.1:80", "[::1]:80", or a path
        def self.endpoint(address)
          return address.unix_path if address.unix?

          host = address.ip_address
          address.ipv6? ? "[#{host[/\A[^%]+/]}]:#{address.ip_port}" : "#{host}:#{address.ip_port}"
        end

        private

        # Alternates the address families, beginning with that of the first address; within a family the order stays.
        def interleave(addresses)
          first, other = addresses.partition { |one| one.afamily == addresses.first.afamily }
          other = other.first(first.size) + other.drop(first.size)
          first.zip(other).flatten.compact + other.drop(first.size)
        end

        def may_start? = !@waiting.empty? && @under_way.size < Limits::CONNECTS_AT_ONCE

        def start_due(now)
          start_next(now) while may_start? && now >= @due
        end

        # Starts the next attempt; when it fails at once, the one after it is due at once.
        def start_next(now)
          address = @waiting.shift
          socket = @options.open(address)
          socket.connect_nonblock(address.to_sockaddr, exception: false)
          @under_way[socket] = address
          @due = now + ATTEMPT_DELAY
        rescue SystemCallError => error
          failed(socket, address, error, now)
        rescue SocketError => error
          socket&.close
          raise Failure.new(:CONNECT, Failure.text(error.message), phase: :connect)
        end

        def failed(socket, address, error, now)
          socket&.close
          if address.unix? && error.is_a?(Errno::EAGAIN)
            @waiting.unshift(address)
            @due = now + RETRY_DELAY
          else
            @errno = error.errno
            @errors << "#{Connecting.endpoint(address)}: #{Failure.strerror(error.errno)}"
            @due = now
          end
        end

        # Removes attempts that have failed. @return [Socket, nil] the first that has connected
        def collect(now)
          @checked_at = now
          return if @under_way.empty?

          sockets = @under_way.keys
          _, ready, failed = Ruby.poll(nil, sockets, WINDOWS ? sockets : nil)
          [*failed, *ready].uniq.find { |socket| connected?(socket, now) }
        end

        # A second connect returns the result of the first; that of a Unix socket is already complete. On Windows, it
        # would begin another attempt.
        def connected?(socket, now)
          return connected_on_windows?(socket) if WINDOWS

          socket.connect_nonblock(@under_way[socket].to_sockaddr, exception: false) != :wait_writable
        rescue Errno::EISCONN, Errno::ECONNRESET # ECONNRESET: connected, but reset since then
          true
        rescue SystemCallError => error
          failed(socket, @under_way.delete(socket), error, now)
          false
        end

        # @raise [SystemCallError] when the attempt has failed
        def connected_on_windows?(socket)
          error = socket.getsockopt(Socket::SOL_SOCKET, Socket::SO_ERROR).int
          raise SystemCallError.new(nil, error) unless error.zero?

          true
        end

        def winner(socket)
          address = @under_way.delete(socket)
          close # the attempts that are still in progress
          [socket, address]
        end
      end
    end
  end
end

require_relative "unix_on_jruby" if RUBY_ENGINE == "jruby"
