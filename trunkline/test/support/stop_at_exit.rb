# frozen_string_literal: true

# Servers run once per process and must be stopped however it ends: after a passed or failed run, by Ctrl-C, or by
# SIGTERM. A forked child inherits the list and must not stop its parent's servers, hence the owner.
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
