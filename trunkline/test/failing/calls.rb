# frozen_string_literal: true

require "fiddle"
require "open3"
require "rbconfig"
require "tmpdir"

# Functions that are made to fail when the extension calls them: see calls.c, which is compiled here and must be
# preloaded.
module Calls
  SOURCE = File.join(__dir__, "calls.c")
  EXHAUSTED = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS].freeze
  HARMLESS = [Errno::EINTR, Errno::EAGAIN].freeze
  NAMES = %w[socket bind connect send recv recvmsg read writev epoll_create1 epoll_ctl epoll_wait eventfd getsockopt
             setsockopt poll ppoll pthread_create getaddrinfo].freeze
  # [function, error]. A waker writes to its own eventfd or pipe; such a write can fail only by a signal, since a full
  # one has woken already.
  ALL = [["malloc", Errno::ENOMEM], ["write", Errno::EINTR], *NAMES.product(EXHAUSTED + HARMLESS)].freeze

  module_function

  # @return [String] the path of the compiled library
  def build(folder)
    library = File.join(folder, "calls.so")
    output, status = Open3.capture2e(RbConfig::CONFIG["CC"], "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl")
    raise output unless status.success?

    library
  end

  # @return [Boolean] whether this process was started with the library
  def preloaded? = !arm.nil?

  # Makes the nth call of the function fail while the block runs.
  # @return [Boolean] whether there was an nth call
  def failing(name, error, nth)
    arm.call(*code, name, nth, error::Errno)
    yield
    disarm.call == 1
  ensure
    disarm.call
  end

  # The address range of the extension's code.
  def code
    @code ||= begin
      lines = File.readlines("/proc/self/maps").grep(%r{ r-xp .*/trunkline\.so$})
      [lines.first[/\A\h+/], lines.last[/-(\h+)/, 1]].map { |address| address.to_i(16) }
    end
  end

  ARM = ([Fiddle::TYPE_VOIDP] * 3 + [Fiddle::TYPE_LONG, Fiddle::TYPE_INT]).freeze
  private_constant :ARM

  def arm = @arm ||= function("failing_arm", ARM, Fiddle::TYPE_VOID)
  def disarm = @disarm ||= function("failing_disarm", [], Fiddle::TYPE_INT)

  def function(name, arguments, result)
    Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], arguments, result)
  rescue Fiddle::DLError
    nil
  end
end
