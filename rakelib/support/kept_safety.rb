# frozen_string_literal: true

require "json"
require "rbconfig"
require "tmpdir"

# Writes the results of `trunkline-lab safety` that docs/safety.md needs.
module KeptSafety
  COMMAND = [RbConfig.ruby, "-I", "trunkline/lib", "-I", "trunkline-lab/lib", "trunkline-lab/exe/trunkline-lab",
             "safety", "--quiet"].freeze

  module_function

  # @param file [String]
  # @raise [RuntimeError] when the command fails
  def write(file)
    result = Dir.mktmpdir("trunkline-safety-") do |folder|
      path = File.join(folder, "safety.json")
      system(*COMMAND, "--json", path, exception: true)
      JSON.parse(File.read(path))
    end
    File.write(file, "#{JSON.pretty_generate(kept(result))}\n")
  end

  # @param result [Hash] the command's JSON output
  def kept(result)
    environment = result.fetch("environment")
    of_ruby = "of Ruby #{environment.fetch("versions").fetch("ruby")[/[\d.]+/]}"
    faults = result.fetch("data").fetch("faults")
    clients = faults.fetch("clients").map do |label, seen|
      { label: label, version: environment.fetch("clients").fetch(label, of_ruby),
        told: seen.transform_values { |one| one.fetch("told") },
        errors: seen.transform_values { |one| one["error"] }.compact }
    end
    { date: environment.fetch("date")[0, 10], **faults.slice("timeout", "limit"), clients: clients }
  end
end
