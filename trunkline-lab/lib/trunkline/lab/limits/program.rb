# frozen_string_literal: true

require_relative "../cache"
require_relative "../processes"

module Trunkline
  module Lab
    module Limits
      # The program is not there, cannot be compiled, or failed.
      class Failed < StandardError; end

      # Runs and compiles the programs.
      module Program
        SECONDS_TO_COMPILE = 60

        module_function

        # Runs it on the clients' core.
        # @return [String] what it printed
        # @raise [Failed]
        def run(*command, core: Processes::CLIENT_CORE, **options)
          output, status = Processes.run(*command, core: core, **options)
          raise Failed, "#{File.basename(command.first)}: #{output.lines.last.to_s.strip}" unless status.success?

          output
        end

        # Compiles a source of one file, once, and again when it has changed.
        # @return [String] path of the program
        # @raise [Failed]
        def compile(source, libraries)
          compiler = Processes.available?(ENV.fetch("CC", "cc")) or raise Failed, "there is no C compiler"
          built_from(source, File.basename(source, ".c")) do |program|
            run(compiler, "-std=gnu99", "-O2", "-o", program, source, *libraries, core: nil, limit: SECONDS_TO_COMPILE)
          end
        end

        # The file of that name in the cache. When it is missing or older than its source, the block makes it, under
        # another name first, so that no other process finds it half written.
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
