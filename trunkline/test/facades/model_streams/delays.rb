# frozen_string_literal: true

# Runs each library of libraries.rb with and without Trunkline against a local service, and exits with 1 when a token is
# missing or was received later than LIMIT: ruby -I trunkline/lib delays.rb
require_relative "../../support/separate_bundle"
require_relative "../../support/subprocess"
require_relative "libraries"
require_relative "service"

LIMIT = 0.05 # seconds

# @return [Hash] the output of program.rb
def ask(name, mode, url)
  program = File.expand_path("program.rb", __dir__)
  command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, program, name, mode, url]
  out, err, status = Subprocess.run_command(SeparateBundle.setup_environment("models"), command)
  raise "#{name}, #{mode}: #{err.lines.first(6).join}" unless status.success?

  JSON.parse(out.lines.last)
end

# The machine may cause delays in one stream; a library whose tokens are buffered is late in each stream.
def right?(rounds)
  rounds.all? { |delays| delays.size == ModelService::TOKENS } && rounds.map(&:max).min <= LIMIT
end

failed = []
ModelService.run do |url|
  ModelLibraries::ALL.each do |name, library|
    library.modes.each do |mode|
      report = ask(name, mode, url)
      rounds = report["rounds"]
      worst = rounds.map { |delays| delays.empty? ? "none" : format("%.1f ms", delays.max * 1000) }
      puts "#{"#{name} #{report["version"]}, #{mode}".ljust(40)} latest token of each stream: #{worst.join(", ")}"
      failed << "#{name}, #{mode}" unless right?(rounds)
    end
  end
end
abort "held back, or missing: #{failed.join("; ")}" unless failed.empty?
