# frozen_string_literal: true

module Trunkline
  # Chooses and loads one of the two engines.
  module Engine
    class << self
      private

      # A precompiled gem has one extension for each Ruby version.
      def load_c
        compiled = "#{__dir__}/../#{RUBY_VERSION[/\A\d+\.\d+/]}/trunkline.so"
        require File.exist?(compiled) ? compiled : "trunkline/trunkline"
        :c
      end

      def load_ruby
        require_relative "ruby"
        :ruby
      end

      # @return [Symbol] the engine that TRUNKLINE_ENGINE names; without it C if it was built, else Ruby
      def load_one
        case wanted = ENV.fetch("TRUNKLINE_ENGINE", nil)
        when "c" then load_c
        when "ruby" then load_ruby
        when nil, "" then load_c_or_ruby
        else raise ArgumentError, "TRUNKLINE_ENGINE: must be c or ruby, got #{wanted.inspect}"
        end
      end

      def load_c_or_ruby
        load_c
      rescue LoadError => error
        raise unless error.path == "trunkline/trunkline"

        load_ruby
      end
    end
  end

  # @return [Symbol] :c or :ruby: the engine in use
  ENGINE = Engine.__send__(:load_one)
end
