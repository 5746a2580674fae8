# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # Converts Java's I/O errors to Ruby's.
      module ErrorsOnJRuby
        # @param error [Java::JavaIo::IOException] an error with the message of the operating system
        # @return [SystemCallError]
        def self.of(error)
          words = error.message.to_s
          numbers = Errno.constants.map { |name| Errno.const_get(name)::Errno }
          number = numbers.find { |one| SystemCallError.new(one).message == words }
          SystemCallError.new(words, number || Errno::EIO::Errno)
        end

        # @return [SystemCallError] the error of the last system call of this thread
        def self.last
          require "jruby"
          SystemCallError.new(nil, JRuby.runtime.posix.errno)
        end
      end
    end
  end
end
