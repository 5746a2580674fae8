# frozen_string_literal: true

require "openssl"

# For an SSLSocket of JRuby, whose bytes are mixed up when one thread reads while another writes: both work on what is
# not sent yet.
module OneAtATime
  def self.extended(socket)
    socket.instance_variable_set(:@one_at_a_time, Mutex.new)
  end

  def syswrite(bytes) = @one_at_a_time.synchronize { super }

  def sysread(size, buffer = nil)
    until (came = read_now(size)).is_a?(String)
      raise EOFError, "end of file reached" if came.nil?

      # wait_readable keeps other threads from writing until it is over.
      IO.select([to_io]) # rubocop:disable Lint/IncompatibleIoSelectWithFiberScheduler
    end
    buffer ? buffer.replace(came) : came
  end

  private

  def read_now(size)
    @one_at_a_time.synchronize { sysread_nonblock(size, exception: false) }
  rescue OpenSSL::SSL::SSLErrorWaitReadable # before 0.16 it is raised all the same
    :wait_readable
  end
end
