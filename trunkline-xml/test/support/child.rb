# frozen_string_literal: true

# A Ruby of its own, for what changes a whole process.
module Child
  LIBRARY = File.expand_path("../../lib", __dir__)
  # Ruby to write where a program has loaded what it needs: from there on it is stressed as the tests are.
  STRESS = GarbageCollection.stress? ? "GC.stress = #{GarbageCollection::YOUNG_ONLY};" : ""

  private

  # @return [String] what it printed
  def ruby(*arguments, **environment)
    IO.popen([environment.transform_keys(&:to_s), RbConfig.ruby, "-I#{LIBRARY}", *arguments], &:read)
  end
end
