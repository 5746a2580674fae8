# frozen_string_literal: true

# A process that requests COUNT distinct URLs, by Client#each or by a bulk run, and prints the seconds that it took, the
# number of responses, and its peak memory in bytes.
#
#   ruby bulk_runner.rb each|bulk URL COUNT FOLDER

require "json"
require "trunkline/bulk"

way, base, count, folder = ARGV
urls = (1..Integer(count)).lazy.map { |number| "#{base}?#{number}" }
answers = 0
began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
if way == "each"
  Trunkline.new(nil, timeout: 30).each(urls, concurrency: :auto) do |_url, result|
    answers += 1 if result.is_a?(Trunkline::Response)
  end
else
  measured = Class.new(Trunkline::Bulk) do
    define_singleton_method(:name) { "Measured" }
    source { urls }
    request { |url| url }
    result { |_url, result| answers += 1 if result.is_a?(Trunkline::Response) }
  end
  measured.start("run", state: File.join(folder, "state.sqlite"), progress: false)
end
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024
puts JSON.generate(seconds: seconds, answers: answers, peak: peak)
