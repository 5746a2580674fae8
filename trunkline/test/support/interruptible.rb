# frozen_string_literal: true

require_relative "subprocess"

# A separate process that starts one call after the other, and receives a signal during each of them.
module Interruptible
  # Long enough for a call to begin to wait.
  SETTLE = 0.15

  module_function

  # @param prelude [String] Ruby code that runs first
  # @param calls [Hash] name => Ruby code that waits for ever
  # @return [Hash] name => seconds from the signal to the exception that it raised in the main thread; :late => seconds
  #   by which the machine delayed this process meanwhile
  def run(prelude, calls, signal)
    took = {}
    began = now
    Open3.popen2e(*Subprocess.command(program(prelude, calls))) do |input, output, waiter|
      calls.each_key do |name|
        raise "expected #{name} to begin: #{output.read}" unless output.gets == "#{name}\n"

        sleep SETTLE
        sent = now
        Process.kill(signal, waiter.pid)
        line = output.gets
        raise "#{name} ended by #{line.inspect}" unless line == "Interrupt\n"

        took[name] = now - sent
      end
      input.close
      Subprocess.end_after(waiter)
    ensure
      Subprocess.kill(waiter)
    end
    took.merge(late: ClockJitter.lateness(now - began))
  end

  def program(prelude, calls)
    bodies = calls.map { |name, code| "attempt(#{name.inspect}) { #{code} }" }
    <<~RUBY
      def attempt(name)
        puts name
        yield
        puts "no exception"
      rescue Exception => error
        puts error.class
      end
      #{Subprocess::CTRL_C}#{prelude}
      #{bodies.join("\n")}
      exit!(0)
    RUBY
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
