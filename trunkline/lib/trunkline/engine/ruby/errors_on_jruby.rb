# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # What Java tells of the system, as Ruby does.
      module ErrorsOnJRuby
        # @param error [Java::JavaIo::IOException] whose words are the system's own
        # @return [SystemCallError]
        def self.of(error)
          words = error.message.to_s
          numbers = Errno.constants.map { |name| Errno.const_get(name)::Errno }
          number = numbers.find { |one| SystemCallError.new(one).message == words }
          SystemCallError.new(words, number || Errno::EIO::Errno)
        end

        # @return [SystemCallError] of the call of the system that this thread made last
        def self.last
          require "jruby"
          SystemCallError.new(nil, JRuby.runtime.posix.errno)
        end
      end
    end
  end
end
