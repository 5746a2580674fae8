# frozen_string_literal: true

require "net/http"
require_relative "patch"

module Trunkline
  module Facades
    module NetHTTP
      # Puts Patch's methods in the place of Net::HTTP's own. Agents hook Net::HTTP by modules that they prepend and by
      # alias chains; both end in Net::HTTP's own methods, and so in Patch, whether they came before it or come later.
      # An alias that was taken before holds Net::HTTP's method under a name of its own, which is replaced likewise.
      module OwnMethods
        # What `super` in Patch calls: Net::HTTP's own methods, which stay in Net::HTTP under PREFIX and their name.
        module Originals
        end

        PREFIX = "trunkline_own_"
        # Without these two there is no session of ours.
        REQUIRED = %i[connect transport_request].freeze
        private_constant :PREFIX, :REQUIRED

        class << self
          # Idempotent: replaces what has not been replaced yet.
          #
          # @param http [Class] Net::HTTP
          # @return [String, nil] what stands in the way: a method that another library has replaced
          def replace(http)
            names = names_by_original(http)
            missing = REQUIRED.find { |name| !names.key?(name) && !replaced?(http, name) }
            return "another Net::HTTP##{missing} (#{own(http, missing)&.source_location&.join(":")})" if missing

            keep(http, names)
            Patch.private_instance_methods(false).each { |name| put(http, name, name) unless original?(name) }
            names.each { |name, aliases| aliases.each { |found| put(http, found, name) } }
            nil
          end

          private

          # @return [Hash{Symbol => Array<Symbol>}] the methods of Patch by the names that Net::HTTP's own have
          def names_by_original(http)
            (http.instance_methods(false) + http.private_instance_methods(false))
              .reject { |name| name.start_with?(PREFIX) || !from_net_http?(http, own(http, name)) }
              .group_by { |name| own(http, name).original_name }
              .select { |name, _| Patch.method_defined?(name) || Patch.private_method_defined?(name) }
          end

          # @return [UnboundMethod, nil] the method in the class itself, below what is prepended to it
          def own(http, name)
            method = http.instance_method(name)
            method = method.super_method until method.nil? || method.owner == http
            method
          end

          def from_net_http?(http, method)
            method.source_location&.first == http.const_source_location(:VERSION).first
          end

          def replaced?(http, name)
            own(http, name)&.source_location == Patch.instance_method(name).source_location
          end

          def original?(name) = Originals.private_method_defined?(name)

          # Originals has no method object to call: a Ractor could not use it.
          def keep(http, names)
            names.each do |name, aliases|
              http.define_method(:"#{PREFIX}#{name}", own(http, aliases.first))
              http.send(:private, :"#{PREFIX}#{name}")
              [name, *(aliases if RUBY_ENGINE == "jruby")].each { |called| call_original(called, name) }
            end
            http.include(Originals)
          end

          # On JRuby `super` in an alias of a method goes by the alias's name.
          def call_original(called, name)
            return if original?(called)

            Originals.module_eval(<<~RUBY, __FILE__, __LINE__ + 1)
              private def #{called}(...) = #{PREFIX}#{name}(...) # private def connect(...) = trunkline_own_connect(...)
            RUBY
          end

          def put(http, name, from)
            hidden = http.private_method_defined?(name) || Patch.private_method_defined?(from)
            http.define_method(name, Patch.instance_method(from))
            http.send(:private, name) if hidden
          end
        end
      end
    end
  end
end
