# frozen_string_literal: true

require "rbconfig"

# Runs programs in separate processes, which can be killed.
module Programs
  PATHS = $LOAD_PATH.select { |path| path.include?("trunkline") }.flat_map { |path| ["-I", path] }.freeze

  module_function

  # @return [Integer] the pid
  def start(code, output, variables = {})
    Process.spawn(variables, RbConfig.ruby, *PATHS, "-e", "require \"trunkline/bulk\"; #{code}",
                  out: output, err: %i[child out])
  end

  # @return [Process::Status]
  def kill(pid)
    Process.kill(:KILL, pid)
    Process.wait2(pid).last
  end
end
