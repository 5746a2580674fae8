# frozen_string_literal: true

require "openssl"

# For an SSLSocket of JRuby, whose data gets corrupted when one thread reads while another writes: both operate on the
# unsent data.
module SerializedIO
  def self.extended(socket)
    socket.instance_variable_set(:@one_at_a_time, Mutex.new)
  end

  def syswrite(bytes) = @one_at_a_time.synchronize { super }

  def sysread(size, buffer = nil)
    until (came = read_now(size)).is_a?(String)
      raise EOFError, "end of file reached" if came.nil?

      # IO.select instead of wait_readable, which would block writing threads until it returns.
      IO.select([to_io]) # rubocop:disable Lint/IncompatibleIoSelectWithFiberScheduler
    end
    buffer ? buffer.replace(came) : came
  end

  private

  def read_now(size)
    @one_at_a_time.synchronize { sysread_nonblock(size, exception: false) }
  rescue OpenSSL::SSL::SSLErrorWaitReadable # before 0.16 it is raised despite exception: false
    :wait_readable
  end
end
