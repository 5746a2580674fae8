# frozen_string_literal: true

require "ffi"

# Reads socket options by the file descriptor, which JRuby's BasicSocket.for_fd does not support.
class DescriptorOnJRuby
  # The system's getsockopt.
  module System
    extend FFI::Library

    ffi_lib FFI::Library::LIBC
    attach_function :getsockopt, %i[int int int pointer pointer], :int
  end

  # @return [DescriptorOnJRuby, nil] the client's end of the only connection to this port
  def self.connected_to(port)
    remote = format(":%04X", port)
    lines = %w[tcp tcp6].flat_map { |table| File.readlines("/proc/net/#{table}").drop(1).map(&:split) }
    inodes = lines.select { |line| line[2].end_with?(remote) }.map { |line| "socket:[#{line[9]}]" }
    number, = LeakCheck.descriptors.find { |_, target| inodes.include?(target) }
    number && new(number)
  end

  def initialize(number)
    @number = number
  end

  # @return [Integer] the option's value
  def option(level, name)
    value = FFI::MemoryPointer.new(:int)
    size = FFI::MemoryPointer.new(:int).write_int(value.size)
    failed = System.getsockopt(@number, level, name, value, size)
    raise SystemCallError.new("getsockopt", FFI.errno) unless failed.zero?

    value.read_int
  end
end
