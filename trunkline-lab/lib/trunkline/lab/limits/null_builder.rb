# frozen_string_literal: true

require "rbconfig"
require_relative "program"

module Trunkline
  module Lab
    module Limits
      # An XML builder in C that writes nothing (null_builder.c): no builder with the same interface can be faster.
      module NullBuilder
        SOURCE = File.join(__dir__, "null_builder.c")

        module_function

        def label = "a builder in C that does nothing"

        # @return [String] path of the extension, compiled for this Ruby
        # @raise [Failed]
        def library
          settings = RbConfig::CONFIG
          headers = settings.values_at("rubyhdrdir", "rubyarchhdrdir")
          raise Failed, "Ruby's headers are not installed" unless headers.all? { |folder| File.directory?(folder) }

          name = "#{RUBY_VERSION}-#{settings["arch"]}/null_builder.#{settings["DLEXT"]}"
          Program.built_from(SOURCE, name) do |library|
            Program.run(*settings.values_at("CC").flat_map(&:split), "-shared", "-fPIC", "-O2",
                        *headers.flat_map { |folder| ["-I", folder] }, "-o", library, SOURCE, core: nil)
          end
        end
      end
    end
  end
end
