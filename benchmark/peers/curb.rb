# frozen_string_literal: true

require "trunkline/lab/peers/curb"

module Bench
  module Peers
    class Curb < ::Trunkline::Lab::Peers::Curb
      gems "curb" => ">= 1.4"

      # Each easy handle is added again when it is done, until there are enough.
      def list(path, count, at_once)
        multi = @multi ||= self.multi
        easies = (@easies ||= {})[at_once] ||= Array.new(at_once) { open }
        left = count
        easies.each do |easy|
          easy.url = "#{@base}#{path}"
          easy.on_complete do |done|
            raise "status #{done.response_code}" unless done.response_code == 200

            yield done.body_str
            multi.add(done) if (left -= 1) >= at_once
          end
          multi.add(easy)
        end
        multi.perform
      end
    end
  end
end
