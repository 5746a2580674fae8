# frozen_string_literal: true

module Trunkline
  # Writes at a position of a file, also where Ruby has no IO#pwrite: on Windows before Ruby 3.3.
  #
  # @api private
  module PositionedWriting
    LOCK = Mutex.new # several parts of a download share the position of one descriptor
    private_constant :LOCK

    module_function

    # @param descriptor [Integer] of a file that is open for reading and writing
    # @return [IO] for #write
    def open(descriptor) = IO.for_fd(descriptor, "r+b", autoclose: false)

    # @param file [IO]
    # @param bytes [String]
    # @yield [Integer] how many bytes were written, after each write
    # @return [Integer] how many bytes there are
    def write(file, bytes, offset)
      written = 0
      while written < bytes.bytesize
        count = write_some(file, written.zero? ? bytes : bytes.byteslice(written..), offset + written)
        raise Engine::Ruby::ErrorsOnJRuby.last if count.negative? # JRuby raises no error when the disk is full

        written += count
        yield count
      end
      written
    end

    # Since Ruby 3.3, IO#pwrite calls the fiber scheduler, and creates an object for it, without the GVL: if another
    # thread collects garbage meanwhile, the process crashes. For a blocking fiber it calls no scheduler.
    if Fiber.respond_to?(:blocking)
      def blocking(&block) = Fiber.blocking(&block)
    else
      def blocking = yield
    end
    private_class_method :blocking

    def write_some(file, bytes, offset)
      return blocking { file.pwrite(bytes, offset) } if file.respond_to?(:pwrite)

      LOCK.synchronize do
        file.sysseek(offset)
        file.syswrite(bytes)
      end
    end
    private_class_method :write_some
  end
end
