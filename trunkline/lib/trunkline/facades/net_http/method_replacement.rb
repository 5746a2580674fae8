# frozen_string_literal: true

require "net/http"
require_relative "patch"

module Trunkline
  module Facades
    module NetHTTP
      # Replaces Net::HTTP's own methods with those of Patch. Monitoring agents hook Net::HTTP with prepended modules
      # and with alias chains. Both end in Net::HTTP's own methods, and so in Patch, whether the agent is loaded before
      # or after Trunkline. An alias that an agent has already made of a Net::HTTP method is replaced too.
      module MethodReplacement
        # The methods that `super` in Patch calls. They call Net::HTTP's own methods, which remain in Net::HTTP, each
        # under PREFIX and its name.
        module Originals
        end

        PREFIX = "trunkline_own_"
        # The methods that must be replaced for Trunkline to run a session.
        REQUIRED = %i[connect transport_request].freeze
        private_constant :PREFIX, :REQUIRED

        class << self
          # Idempotent: replaces what has not been replaced yet.
          #
          # @param http [Class] Net::HTTP
          # @return [String, nil] a required method that another library has replaced; nil on success
          def replace(http)
            names = names_by_original(http)
            missing = REQUIRED.find { |name| !names.key?(name) && !replaced?(http, name) }
            return "another Net::HTTP##{missing} (#{own_method(http, missing)&.source_location&.join(":")})" if missing

            keep_originals(http, names)
            Patch.private_instance_methods(false).each do |name|
              replace_method(http, name, name) unless original?(name)
            end
            names.each { |name, aliases| aliases.each { |alias_name| replace_method(http, alias_name, name) } }
            nil
          end

          private

          # @return [Hash{Symbol => Array<Symbol>}] for each of Net::HTTP's methods that Patch replaces, all its names,
          #   including aliases
          def names_by_original(http)
            (http.instance_methods(false) + http.private_instance_methods(false))
              .reject { |name| name.start_with?(PREFIX) || !from_net_http?(http, own_method(http, name)) }
              .group_by { |name| own_method(http, name).original_name }
              .select { |name, _| Patch.method_defined?(name) || Patch.private_method_defined?(name) }
          end

          # @return [UnboundMethod, nil] the method of the class itself, not of a module that is prepended to it
          def own_method(http, name)
            method = http.instance_method(name)
            method = method.super_method until method.nil? || method.owner == http
            method
          end

          def from_net_http?(http, method)
            method.source_location&.first == http.const_source_location(:VERSION).first
          end

          def replaced?(http, name)
            own_method(http, name)&.source_location == Patch.instance_method(name).source_location
          end

          def original?(name) = Originals.private_method_defined?(name)

          # Originals calls the methods by name: a Ractor could not use a stored method object.
          def keep_originals(http, names)
            names.each do |name, aliases|
              http.define_method(:"#{PREFIX}#{name}", own_method(http, aliases.first))
              http.send(:private, :"#{PREFIX}#{name}")
              [name, *(aliases if RUBY_ENGINE == "jruby")].each { |alias_name| call_original(alias_name, name) }
            end
            http.include(Originals)
          end

          # On JRuby, `super` in an aliased method looks up the alias's name.
          def call_original(called, name)
            return if original?(called)

            Originals.module_eval(<<~RUBY, __FILE__, __LINE__ + 1)
              private def #{called}(...) = #{PREFIX}#{name}(...) # private def connect(...) = trunkline_own_connect(...)
            RUBY
          end

          def replace_method(http, name, from)
            hidden = http.private_method_defined?(name) || Patch.private_method_defined?(from)
            http.define_method(name, Patch.instance_method(from))
            http.send(:private, name) if hidden
          end
        end
      end
    end
  end
end
