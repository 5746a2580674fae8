# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require_relative "../bundle"
require_relative "../certificates"
require_relative "../processes"
require_relative "nginx"

module Trunkline
  module Lab
    module Origins
      # Puma with one of the lab's Rack applications (puma_server.rb), in a separate process. Replaces nginx where that
      # is not installed.
      class Puma
        SERVER = File.join(__dir__, "puma_server.rb")

        # @param options [Hash] options of #initialize
        # @yield [origin] which is running; it is stopped in any case
        def self.open(**options)
          origin = new(**options)
          yield origin.start
        ensure
          origin&.stop
        end

        # @param app [String] a name in Apps; or the name of a class, with the file that defines it
        # @param environment [Hash, nil] environment of the process, when it needs other gems than this one
        # @param options [Hash] options of the application
        def initialize(app: "static", file: nil, threads: 16, environment: nil, **options)
          @folder = Dir.mktmpdir("trunkline-lab-")
          @app = app
          @file = file
          @threads = threads
          @environment = environment
          @options = options
          @certificates = Certificates.new(@folder)
        end

        def name = "Puma"
        def ca_file = @certificates.ca_file
        def plain = "http://127.0.0.1:#{@ports[0]}"
        def tls = "https://127.0.0.1:#{@ports[1]}"
        alias fresh_tls tls

        # @raise [Missing] always
        def http2 = raise(Missing, "HTTP/2 needs nginx, which is not installed; Puma serves without it")

        def start = launch.wait_until_ready

        # Starts the process without waiting for it, so that several can load in parallel.
        def launch
          settings = { app: @app, file: @file, threads: @threads, options: @options, cert: @certificates.cert_file,
                       key: @certificates.key_file }
          @output, input = IO.pipe
          @pid = Processes.spawn(RbConfig.ruby, SERVER, JSON.generate(settings), env: @environment || {}, out: input,
                                                                                 err: errors, core: core)
          input.close
          self
        end

        # @raise [Missing]
        def wait_until_ready
          line = @output.wait_readable(START_SECONDS) && @output.gets
          raise Missing, "Puma did not start: #{File.foreach(errors).grep(/Error|error/).first.to_s.strip}" unless line

          @ports = JSON.parse(line)
          self
        ensure
          stop unless @ports
        end

        def stop
          @output&.close
          Processes.stop(@pid) if @pid
          @pid = nil
          FileUtils.rm_rf(@folder)
        end

        # Puma does not count connections.
        def connections
          yield
          nil
        end

        private

        def errors = File.join(@folder, "errors")

        # A static server is pinned to the server's core. Applications under load are not pinned.
        def core = @environment ? nil : Processes::ORIGIN_CORE
      end
    end
  end
end
