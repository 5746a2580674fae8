# frozen_string_literal: true

# Runs each library of libraries.rb plainly and over Trunkline against a local service, and ends with 1 when a token is
# missing or was seen later than LIMIT: ruby -I trunkline/lib delays.rb
require_relative "../../support/gems_apart"
require_relative "../../support/subprocess"
require_relative "libraries"
require_relative "service"

LIMIT = 0.05 # seconds

# @return [Hash] what program.rb prints
def ask(name, mode, url)
  program = File.expand_path("program.rb", __dir__)
  command = [RbConfig.ruby, "-W0", "-I", Subprocess::LIB, program, name, mode, url]
  out, err, status = Subprocess.run_command(GemsApart.setup_environment("models"), command)
  raise "#{name}, #{mode}: #{err.lines.first(6).join}" unless status.success?

  JSON.parse(out.lines.last)
end

# The machine may do something else during one stream, but a library that is held back is so in each.
def right?(rounds)
  rounds.all? { |delays| delays.size == ModelService::TOKENS } && rounds.map(&:max).min <= LIMIT
end

failed = []
ModelService.run do |url|
  ModelLibraries::ALL.each do |name, library|
    library.modes.each do |mode|
      told = ask(name, mode, url)
      rounds = told["rounds"]
      worst = rounds.map { |delays| delays.empty? ? "none" : format("%.1f ms", delays.max * 1000) }
      puts "#{"#{name} #{told["version"]}, #{mode}".ljust(40)} latest token of each stream: #{worst.join(", ")}"
      failed << "#{name}, #{mode}" unless right?(rounds)
    end
  end
end
abort "held back, or missing: #{failed.join("; ")}" unless failed.empty?
