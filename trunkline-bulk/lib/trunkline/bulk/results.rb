# frozen_string_literal: true

require "fileutils"
require "json"
require "sqlite3"
require_relative "../bulk"

module Trunkline
  class Bulk
    # Files of results: a line, or a row, for each item. After a process was killed an item may be in it twice, with the
    # same key.
    module Results
      # A library that is not there.
      class Unavailable < StandardError; end

      # What a file may raise that cannot be written: a disk that is full, a folder that is gone.
      ERRORS = [SystemCallError, SQLite3::Exception].freeze

      FIELDS = %w[key url status error elapsed attempts bytes].freeze
      MORE = %w[timings body headers].freeze

      class << self
        # @param file [String] its ending tells the format
        # @param fields [Array<String>]
        # @param bodies [String, nil] a folder for a file of each body
        # @return [Rows]
        # @raise [InvalidRequest] also for a file that cannot be written
        # @raise [Unavailable]
        def open(file, fields: FIELDS, bodies: nil)
          unknown = fields - FIELDS - MORE
          if fields.empty? || unknown.any?
            raise InvalidRequest.of("fields", unknown.first, "of #{(FIELDS + MORE).join(", ")}")
          end

          FileUtils.mkdir_p(bodies) if bodies
          Rows.new(format_of(file, fields + (bodies ? %w[file] : [])), fields, bodies)
        rescue *ERRORS => error
          raise InvalidRequest, "out: #{file} cannot be written: #{error.message}"
        end

        private

        def format_of(file, columns)
          case file
          when /\.(jsonl|ndjson)(\.gz|\.zst)?\z/ then Lines.new(file)
          when /\.(sqlite3?|db)\z/ then Table.new(file, columns)
          when /\.parquet\z/ then Parquet.new(file)
          else raise InvalidRequest.of("out", file,
                                       "a file that ends in .jsonl, .jsonl.gz, .jsonl.zst, .sqlite or .parquet")
          end
        end
      end

      autoload :Lines, "#{__dir__}/results/lines"
      autoload :Table, "#{__dir__}/results/table"
      autoload :Parquet, "#{__dir__}/results/parquet"

      # Makes a row of each item.
      class Rows
        def initialize(output, fields, bodies)
          @output = output
          @fields = fields
          @bodies = bodies
        end

        # @return [void]
        def add(item, result, key)
          response = result if result.is_a?(Response)
          row = @fields.to_h { |name| [name, field(name, item, result, response, key)] }
          row["file"] = save(response, key) if @bodies && response
          @output << row
        rescue *ERRORS => error
          @broken ||= error
        end

        # An item that came to no request.
        # @param error [String]
        # @return [void]
        def refuse(item, error, key)
          known = { "key" => key, "url" => url(item), "error" => error, "attempts" => 0 }
          @output << @fields.to_h { |name| [name, known[name]] }
        rescue *ERRORS => error
          @broken ||= error
        end

        # What could not be written ends the run here, where no item is over yet: it is no failure of the item.
        # @return [void]
        # @raise [SystemCallError, SQLite3::Exception]
        def flush
          raise @broken if @broken

          @output.flush
        rescue *ERRORS => error
          @broken = error
          raise
        end

        # @return [void]
        def close = @output.close(whole: @broken.nil?)

        private

        def field(name, item, result, response, key)
          case name
          when "key" then key
          when "url" then url(item)
          when "attempts" then result.attempts.size
          else response ? of_response(name, response) : of_error(name, result)
          end
        end

        def url(item) = item.is_a?(Hash) ? item["url"] : item.to_s

        def of_error(name, error)
          case name
          when "error" then "#{error.class.name.delete_prefix("Trunkline::")}: #{error.message}"
          when "elapsed" then error.elapsed&.round(6)
          end
        end

        def of_response(name, response)
          case name
          when "elapsed" then response.timings.total.round(6)
          when "status" then response.status
          when "bytes" then response.body.bytesize
          when "timings" then response.timings.to_h.compact.transform_values { |seconds| seconds.round(6) }
          when "body" then text(response.body)
          when "headers" then response.headers.to_h
          end
        end

        # What is no text is written in Base64, with a mark before it.
        def text(body)
          text = body.dup.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? text : "base64:#{[body].pack("m0")}"
        end

        def save(response, key)
          name = "#{key[/\d+\z/]}.body"
          File.binwrite(File.join(@bodies, name), response.body)
          name
        end
      end
    end
  end
end
