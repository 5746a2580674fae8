# frozen_string_literal: true

module Trunkline
  class Command
    # Why this installation of the gem has no extension. ext/trunkline/extconf.rb writes the reason into a file.
    module MissingExtension
      FOLDER = File.expand_path("../../../ext/trunkline", __dir__)
      FILE = "extension_missing.txt"
      WINDOWS = /mswin|mingw/
      private_constant :FOLDER, :FILE, :WINDOWS

      module_function

      # @param folder [String] that of extconf.rb
      # @return [Array(String, String), Array(String, nil)] the reason, and what to do
      def reason(folder = FOLDER)
        return other_platform unless File.exist?(File.join(folder, "extconf.rb"))

        [File.read(File.join(folder, FILE)).strip, "when that is there: gem pristine trunkline"]
      rescue Errno::ENOENT
        ["the reason is not known", "gem pristine trunkline, and read gem_make.out or mkmf.log if it stays so"]
      end

      # The gems for some platforms have no extension.
      def other_platform
        advice = "gem install trunkline --platform ruby" unless RbConfig::CONFIG["host_os"].match?(WINDOWS)
        ["the gem that is installed is one without it", advice]
      end
    end
  end
end
