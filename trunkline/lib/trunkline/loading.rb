# frozen_string_literal: true

module Trunkline
  # Loads files on first use, also in a fiber of a scheduler. Ruby 3.1 reads source files through the scheduler, and
  # Async's hook for that calls methods that exist only since Ruby 3.2.
  #
  # @api private
  module Loading
    IN_FIBERS = RUBY_VERSION >= "3.2" || !Fiber.respond_to?(:current_scheduler) # JRuby 9.4 has no schedulers
    AUTOLOADED = %i[BearerRefresh Cache CookieJar Recording].freeze
    # Held while a thread loads files: two fibers may need the same files at the same time, and Ruby warns when one
    # thread waits for another to load a file.
    LOCK = Mutex.new
    private_constant :IN_FIBERS, :AUTOLOADED, :LOCK

    class << self
      # @yield loads files; called in a new thread if the current fiber cannot load files
      # @return [Object] what the block returns
      def in_thread_if_needed(&block)
        return yield if IN_FIBERS || Fiber.current_scheduler.nil?

        Thread.new do
          Thread.current.report_on_exception = false
          LOCK.synchronize(&block)
        end.value
      end

      # Loads the autoloaded constants in a thread, if the current fiber cannot load files. Fibers that call this method
      # at the same time share the thread.
      # @return [void]
      def preload_for_fibers
        return if IN_FIBERS || @preloaded || Fiber.current_scheduler.nil?

        @loading = load_autoloaded unless @loading&.alive?
        @loading.value
      end

      private

      # @return [Thread]
      def load_autoloaded
        Thread.new do
          Thread.current.report_on_exception = false
          LOCK.synchronize do
            AUTOLOADED.each { |name| Trunkline.const_get(name) }
            Policy.constants.each { |name| Policy.const_get(name) }
          end
          @preloaded = true
        end
      end
    end
  end
end
