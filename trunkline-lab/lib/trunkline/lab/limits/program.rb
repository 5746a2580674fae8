# frozen_string_literal: true

require_relative "../cache"
require_relative "../processes"

module Trunkline
  module Lab
    module Limits
      # Raised when a program is missing, cannot be compiled, or failed.
      class Failed < StandardError; end

      # Compiles and runs the programs in C.
      module Program
        SECONDS_TO_COMPILE = 60

        module_function

        # Runs a program on the clients' core.
        # @return [String] its output
        # @raise [Failed]
        def run(*command, core: Processes::CLIENT_CORE, **options)
          output, status = Processes.run(*command, core: core, **options)
          raise Failed, "#{File.basename(command.first)}: #{output.lines.last.to_s.strip}" unless status.success?

          output
        end

        # Compiles a source of one file, unless the cached program is newer.
        # @return [String] path of the program
        # @raise [Failed]
        def compile(source, libraries)
          compiler = Processes.available?(ENV.fetch("CC", "cc")) or raise Failed, "there is no C compiler"
          built_from(source, File.basename(source, ".c")) do |program|
            run(compiler, "-std=gnu99", "-O2", "-o", program, source, *libraries, core: nil, limit: SECONDS_TO_COMPILE)
          end
        end

        # Returns the path of a file in the cache. When it is missing or older than its source, the block creates it
        # under a temporary name, so that no other process finds it incomplete.
        def built_from(source, name)
          built = File.join(Cache.directory("bin", *File.dirname(name)), File.basename(name))
          unless File.exist?(built) && File.mtime(built) > File.mtime(source)
            yield "#{built}.#{Process.pid}"
            File.rename("#{built}.#{Process.pid}", built)
          end
          built
        end
      end
    end
  end
end
