# frozen_string_literal: true

require_relative "limits"
require_relative "waker"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Names that wait for their look-up, and the choice of the next one (docs/names.md). Look-ups may hang for
      # seconds, so each domain has a queue, and the domains take turns. In a domain the newest name goes first, and
      # every fourth time the oldest, because the callers of old names have often given up. The caller holds the lock of
      # Names.
      class NameQueue
        include Redacted

        # Look-ups of one domain that may start at once, and seconds between the starts of further ones.
        AT_ONCE = 32
        PACE = 0.02
        OLDEST_EVERY = 4
        private_constant :AT_ONCE, :PACE, :OLDEST_EVERY

        # The queue of one domain, for names that were resolved before, or for those that were not. It exists while one
        # of its names is queued or being looked up.
        class Domain
          include Redacted

          # @return [Array<#host>] names, the oldest first
          attr_reader :names
          attr_reader :key, :known
          # Number of look-ups in progress; when one beyond AT_ONCE may start; how many names were taken.
          attr_accessor :running, :next_start, :taken

          def initialize(key, known)
            @key = key
            @known = known
            @names = []
            @running = @taken = 0
            @next_start = 0.0
          end

          # @return [Float] when its next look-up may start; NEVER: not before one has ended
          def due
            return NEVER if @running >= Limits::LOOKUPS_OF_DOMAIN

            @running < AT_ONCE ? 0.0 : @next_start
          end

          def take(now)
            @next_start = now + PACE
            @running += 1
            @taken += 1
            (@taken % OLDEST_EVERY).zero? ? @names.shift : @names.pop
          end
        end
        private_constant :Domain

        # @return [Integer] number of queued names
        attr_reader :size

        def initialize
          @domains = { true => {}, false => {} } # by #known: domains by key
          @turns = { true => {}, false => {} } # by #known: domains with queued names; the next to be served first
          @size = @running = @running_unknown = 0
        end

        def empty? = @size.zero?

        # @param name [#host, #known, #domain=]
        # @return [void]
        def add(name)
          key = domain_key(name.host)
          domain = name.domain = @domains[name.known][key] ||= Domain.new(key, name.known)
          domain.names << name
          @turns[name.known][key] = domain
          @size += 1
        end

        # Removes a queued name.
        # @return [void]
        def remove(name)
          domain = name.domain
          domain.names.delete_at(domain.names.index { |one| one.equal?(name) })
          dequeued(domain)
          leave(name)
        end

        # @return [Object, Float] the next name to look up, until #finished; or when one may start: NEVER, not before
        #   another has ended, or has been added
        def take(now)
          return NEVER if @running >= Limits::LOOKUPS

          first = next_domain(true, now)
          return take_from(first, now) if first.is_a?(Domain)
          return first if @running_unknown >= Limits::LOOKUPS_OF_UNKNOWN

          second = next_domain(false, now)
          second.is_a?(Domain) ? take_from(second, now) : [first, second].min
        end

        # Must be called when the look-up of a name that was taken has ended.
        # @return [void]
        def finished(name)
          domain = name.domain
          domain.running -= 1
          @running -= 1
          @running_unknown -= 1 unless domain.known
          leave(name)
        end

        # @param newcomer [#domain] a queued name that is one too many
        # @return [Object] the name to drop: the oldest of its domain, or, when it is alone there, of the domain whose
        #   turn it is
        def surplus(newcomer)
          domain = newcomer.domain
          return domain.names.first unless domain.names.first.equal?(newcomer)

          turns = @turns[domain.known]
          turns = @turns[!domain.known] if turns.size == 1
          turns.each_value.first.names.first
        end

        private

        # "a.example.com" is in "example.com"; "localhost" is its own domain.
        def domain_key(host)
          rest = host.partition(".").last
          rest.empty? ? host : rest
        end

        # @return [Domain, Float] see #take
        def next_domain(known, now)
          due = NEVER
          @turns[known].each_value do |domain|
            start = domain.due
            return domain if start <= now

            due = start if start < due
          end
          due
        end

        def take_from(domain, now)
          name = domain.take(now)
          turns = @turns[domain.known]
          turns[domain.key] = turns.delete(domain.key) # the others are served before it
          dequeued(domain)
          @running += 1
          @running_unknown += 1 unless domain.known
          name
        end

        def dequeued(domain)
          @size -= 1
          @turns[domain.known].delete(domain.key) if domain.names.empty?
        end

        def leave(name)
          domain = name.domain
          name.domain = nil
          @domains[domain.known].delete(domain.key) if domain.names.empty? && domain.running.zero?
        end
      end
    end
  end
end
