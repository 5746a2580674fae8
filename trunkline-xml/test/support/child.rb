# frozen_string_literal: true

# Runs a separate Ruby process, for tests that change the whole process.
module Child
  LIBRARY = File.expand_path("../../lib", __dir__)
  # Ruby code to put into a program after it has loaded its libraries; from there on the program runs under the tests'
  # GC.stress.
  STRESS = GarbageCollection.stress? ? "GC.stress = #{GarbageCollection::YOUNG_ONLY};" : ""

  private

  # @return [String] the program's output
  def ruby(*arguments, **environment)
    IO.popen([environment.transform_keys(&:to_s), RbConfig.ruby, "-I#{LIBRARY}", *arguments], &:read)
  end
end
