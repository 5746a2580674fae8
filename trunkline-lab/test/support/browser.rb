# frozen_string_literal: true

require "io/nonblock"
require "io/wait"
require "json"
require "tmpdir"
require "trunkline/lab/clock"
require "trunkline/lab/processes"

module Trunkline
  module Lab
    # Chromium with one tab, controlled over a pipe (the DevTools protocol).
    class Browser
      FLAGS = %w[--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync
                 --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe].freeze
      LIMIT = 30 # seconds for one reply

      # @return [String, nil] the path of the browser's program
      def self.program
        %w[chromium chromium-browser google-chrome].filter_map { |name| Processes.available?(name) }.first
      end

      # @yield [browser] which is stopped afterwards in any case
      def self.open
        Dir.mktmpdir do |folder|
          browser = new(folder)
          yield browser
        ensure
          browser&.stop
        end
      end

      # @return [Array<String>] errors of the page's script
      attr_reader :complaints

      def initialize(folder)
        @number = 0
        @complaints = []
        commands, @commands = IO.pipe
        @replies, replies = IO.pipe
        [commands, replies].each { |pipe| pipe.nonblock = false } # the browser treats EAGAIN as the end
        @log = File.join(folder, "log")
        @pid = Processes.spawn(Browser.program, *FLAGS, "--user-data-dir=#{folder}/profile", "about:blank",
                               3 => commands, 4 => replies, out: @log, err: @log, in: File::NULL,
                               env: { "LD_PRELOAD" => nil }) # without the sanitizers' libraries (rake sanitize)
        [commands, replies].each(&:close)
        attach
      end

      def open(path, width:) = go("file://#{path}", width: width)

      # @param url [String]
      def go(url, width:)
        resize(width)
        ask("Page.navigate", url: url)
        deadline = Clock.now + LIMIT
        until js("location.protocol !== 'about:' && document.readyState === 'complete'")
          raise "#{url} was not loaded" if Clock.now > deadline

          sleep 0.01
        end
      end

      # @return [Object] the value of the expression, converted by JSON
      def js(expression)
        message = ask("Runtime.evaluate", expression: expression, returnByValue: true)
        raise message["exceptionDetails"].to_s if message["exceptionDetails"]

        message["result"]["value"]
      end

      # Moves the mouse pointer to a position in the window.
      def point(x, y) = ask("Input.dispatchMouseEvent", type: "mouseMoved", x: x, y: y)

      # The browser needs these values to handle the key itself: Tab by its number, Enter by its text.
      KEYS = { "Tab" => { windowsVirtualKeyCode: 9 }, "Enter" => { windowsVirtualKeyCode: 13, text: "\r" } }.freeze

      def press(key)
        %w[keyDown keyUp].each do |type|
          ask("Input.dispatchKeyEvent", type: type, key: key, code: key, **KEYS.fetch(key, {}))
        end
      end

      # @return [String] a PNG of the window
      def screenshot = ask("Page.captureScreenshot", format: "png")["data"].unpack1("m")

      # @param width [Integer] of the paper inside its margins, in CSS pixels
      def print_to_screen(width)
        ask("Emulation.setEmulatedMedia", media: "print")
        resize(width)
      end

      def stop
        Processes.stop(@pid)
        [@commands, @replies].each(&:close)
      end

      private

      def resize(width)
        ask("Emulation.setDeviceMetricsOverride", width: width, height: 800, deviceScaleFactor: 1, mobile: false)
      end

      def attach
        target = ask("Target.createTarget", url: "about:blank")["targetId"]
        @session = ask("Target.attachToTarget", targetId: target, flatten: true)["sessionId"]
        %w[Page Runtime Log].each { |domain| ask("#{domain}.enable") }
      end

      # Messages are JSON that ends with a zero byte.
      def ask(method, **params)
        id = @number += 1
        @commands.write(JSON.generate({ id: id, method: method, params: params, sessionId: @session }.compact), "\0")
        loop do
          message = receive(method)
          record(message)
          next unless message["id"] == id

          raise "#{method}: #{message["error"]}" if message["error"]

          return message["result"]
        end
      end

      def receive(method)
        raise "#{method}: no reply within #{LIMIT} s" unless @replies.wait_readable(LIMIT)

        line = @replies.gets("\0") or raise "#{method}: the browser has ended: #{File.read(@log)}"
        JSON.parse(line.chomp("\0"))
      end

      def record(message)
        case message["method"]
        when "Runtime.exceptionThrown" then @complaints << message["params"]["exceptionDetails"].to_s
        when "Log.entryAdded", "Runtime.consoleAPICalled" then @complaints << message["params"].to_s
        end
      end
    end
  end
end
