# frozen_string_literal: true

require_relative "../trunkline/test/support/signatures"

# The gems' signatures (sig/), each with the gems on whose signatures it depends.
SIGNATURES = { "trunkline" => [], "trunkline-xml" => [], "trunkline-bulk" => %w[trunkline] }.freeze

desc "Are the signatures of all gems valid? (rbs)"
task :signatures do
  libraries = Signatures::LIBRARIES.flat_map { |name| ["-r", name] }
  SIGNATURES.each do |gem, others|
    folders = [gem, *others].flat_map { |name| ["-I", "#{ROOT}/#{name}/sig"] }
    sh("rbs", *libraries, *folders, "validate", verbose: false)
  end
end
