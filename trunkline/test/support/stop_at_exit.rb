# frozen_string_literal: true

# Servers live once per process and must be gone whatever ends it: a passed run, a failed one, Ctrl-C, SIGTERM.
# A forked child inherits the list and must not stop its parent's servers, hence the owner.
module StopAtExit
  @owner = Process.pid
  @things = []

  class << self
    def register(thing)
      @things << thing
      thing
    end

    def stop_all
      return unless Process.pid == @owner

      @things.pop.stop until @things.empty?
    end
  end

  at_exit { stop_all }
end
