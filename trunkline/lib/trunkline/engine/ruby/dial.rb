# frozen_string_literal: true

require_relative "connecting"
require_relative "names"
require_relative "socket_io"
require_relative "tunnel"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Opens a connection to an origin: resolves names, races addresses, negotiates TLS with a proxy, opens its tunnel,
      # and negotiates TLS with the server. Never waits: #step goes as far as it can. Each phase has its own timeout.
      class Dial
        include Redacted

        # The stages in the order in which they run; stages that an origin does not need are skipped.
        STAGES = %i[target names connect proxy_tls tunnel tls].freeze
        PHASES_OF = { target: :resolve, names: :resolve, connect: :connect, proxy_tls: :tls, tunnel: :connect,
                      tls: :tls }.freeze
        # JRuby's Addrinfo reads /etc/protocols, and raises only this error when no file descriptor is left.
        ADDRESS_ERRORS = RUBY_ENGINE == "jruby" ? [Java::JavaLang::RuntimeException].freeze : [].freeze
        private_constant :STAGES, :PHASES_OF, :ADDRESS_ERRORS

        # The open socket and its peer, once #step returns true.
        attr_reader :io, :peer
        # Seconds of each phase; nil: the phase was not needed.
        attr_reader :resolved_in, :connected_in, :secured_in
        # @return [Symbol] :read, :write or :both: the events to poll the sockets for
        attr_reader :events

        # @param origin [Origin]
        # @param waker [Waker] woken when a name has been resolved
        def initialize(origin, waker, now)
          @origin = origin
          @config = origin.config
          @proxy = origin.proxy
          @waker = waker
          @stage = 0
          @began = now
          @spent = Hash.new(0.0)
          @events = :write
          @wait = nil # for a name
        end

        def phase = PHASES_OF[STAGES[@stage]]

        # @return [Boolean] whether the connection is open
        # @raise [Failure]
        def step(now)
          while send(STAGES[@stage], now)
            next_stage
            return finish if @stage == STAGES.size
          end
          raise timed_out if now >= phase_deadline

          false
        rescue Failure => error
          raise name_proxy(error)
        end

        # @return [Array<Socket>] sockets to poll for #events
        def sockets
          return @connecting.sockets if @connecting

          inner = @tls_io || @io # within the TLS of a proxy, TLS has a socket of its own
          inner ? [inner.socket] : []
        end

        # @return [Float] when to call #step even without an event
        def due
          due = phase_deadline
          due = @connecting.due if @connecting && @connecting.due < due
          due
        end

        # @return [Boolean] whether it waits for a name to be resolved
        def resolving? = phase == :resolve

        def close
          @wait&.close
          @connecting&.close
          (@io || (@socket && SocketIO.over(@socket)))&.close(false)
        end

        private

        def phase_deadline
          limit = @config.timeouts[phase]
          limit == NEVER ? NEVER : @began + limit - @spent[phase]
        end

        def next_stage
          now = Ruby.now
          @spent[phase] += now - @began
          @began = now
          @stage += 1
        end

        def finish
          @resolved_in = @spent[:resolve] if @looked_up
          @connected_in = @spent[:connect]
          @secured_in = @spent[:tls] if @io.tls_version
          true
        end

        # ---- names ----

        def look_up(host)
          found = @wait ? @wait.result : Names.resolve(host, @config.max_age, @waker)
          if found.is_a?(Array)
            @wait = nil
            return found
          end
          @wait ||= found
          @looked_up = true
          nil
        end

        # Resolves the server's address for a SOCKS 5 proxy. Prefers IPv4, because such a proxy may be unable to use
        # IPv6.
        def target(_now)
          return true unless @proxy&.kind == :socks5

          found = look_up(@origin.host) or return
          @config.egress&.check(found)
          @target = found.find(&:ipv4?) || found.first
        end

        def names(_now)
          addresses = @origin.unix_path ? [unix_address] : addresses_of_peer
          @connecting = Connecting.new(addresses, @config.sockets) if addresses
        end

        def addresses_of_peer
          found = look_up(@origin.dialled_host) or return
          @config.egress&.check(found) unless @proxy
          port = @origin.dialled_port
          found.map { |one| Addrinfo.tcp(one.ip_address, port) }
        rescue *ADDRESS_ERRORS
          raise Failure.of_system(:CONNECT, Errno::EMFILE.new, phase: :connect)
        end

        def unix_address
          return Addrinfo.unix(@origin.unix_path) if Addrinfo.respond_to?(:unix)

          raise Failure.new(:CONNECT, "this Ruby has no Unix sockets", phase: :connect)
        rescue ArgumentError, SocketError
          size = @origin.unix_path.bytesize
          most = Limits::UNIX_PATH_BYTES
          raise Failure.new(:CONNECT, "the path of a Unix socket has 1 to #{most} bytes; this one has #{size}",
                            phase: :connect, errno: Errno::ENAMETOOLONG::Errno)
        end

        # ---- connect ----

        def connect(now)
          won = @connecting.step(now) or return
          @connecting = nil
          @socket, @peer = won
          @io = SocketIO.over(@socket)
        rescue Failure => error
          forget_address unless [Errno::EMFILE::Errno, Errno::ENFILE::Errno].include?(error.errno)
          raise
        end

        def forget_address
          Names.forget(@origin.dialled_host) unless @origin.unix_path
        end

        # ---- TLS with the proxy, the tunnel, TLS with the server ----

        def proxy_tls(_now)
          return true unless @proxy&.tls_name

          @tls_io ||= start_tls(@config.proxy_tls, @proxy.tls_name, @proxy.label)
          run_handshake
        end

        def tunnel(_now)
          return true unless @proxy&.tunnel

          @tunnel ||= Tunnel.for(@origin, @io, @target)
          done = @tunnel.step
          return done if done == true

          @events = done == :wait_writable ? :write : :read
          nil
        end

        def tls(_now)
          return true unless @origin.tls_name

          @tls_io ||= start_tls(@config.tls, @origin.tls_name, @origin.key)
          run_handshake
        end

        def start_tls(context, name, key)
          context.open(@io, name, key)
        end

        def run_handshake
          done = @tls_io.handshake
          if done == true
            @io = @tls_io
            @tls_io = nil
            return true
          end
          @events = done == :wait_writable ? :write : :read
          nil
        end

        # ---- failures ----

        def timed_out
          limit = format("within %g s", @config.timeouts[phase])
          case STAGES[@stage]
          when :target, :names then resolve_timed_out(limit)
          when :connect
            forget_address
            @connecting.timed_out(limit)
          when :tunnel then @tunnel.timed_out(limit)
          else
            label = STAGES[@stage] == :tls ? @origin.label : @proxy.label
            Failure.new(:TLS_TIMEOUT, "#{label} did not complete the TLS handshake #{limit}", phase: :tls)
          end
        end

        def resolve_timed_out(limit)
          host = STAGES[@stage] == :target ? @origin.host : @origin.dialled_host
          Failure.new(:RESOLVE_TIMEOUT, "no address of #{host} was found #{limit}", phase: :resolve)
        end

        # Adds the proxy to the message, since the origin's label names only the server.
        def name_proxy(failure)
          return failure unless @proxy && %i[names connect proxy_tls].include?(STAGES[@stage])

          Failure.new(failure.code, "proxy #{@proxy.label}: #{failure.detail}", phase: failure.phase,
                                                                                errno: failure.errno)
        end
      end
    end
  end
end
