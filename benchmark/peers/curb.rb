# frozen_string_literal: true

require "trunkline/lab/peers/curb"

module Bench
  module Peers
    class Curb < ::Trunkline::Lab::Peers::Curb
      gems "curb" => ">= 1.4"

      # Each easy handle is added again, with the next URL, when it is done.
      def list(paths, concurrency)
        multi = @multi ||= self.multi
        easies = (@easies ||= {})[concurrency] ||= Array.new(concurrency) { open }
        left = paths.map { |path| "#{@base}#{path}" }
        easies.each do |easy|
          easy.url = left.pop or break
          easy.on_complete do |done|
            raise "status #{done.response_code}" unless done.response_code == 200

            yield done.body_str
            multi.add(done) if (url = left.pop) && (done.url = url)
          end
          multi.add(easy)
        end
        multi.perform
      end
    end
  end
end
