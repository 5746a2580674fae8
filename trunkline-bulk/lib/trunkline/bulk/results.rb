# frozen_string_literal: true

require "fileutils"
require "json"
require "sqlite3"
require_relative "../bulk"

module Trunkline
  class Bulk
    # Writes files of results: a line, or a row, for each item. After a process was killed, an item may occur twice,
    # with the same key.
    module Results
      # Raised when a library is not installed.
      class Unavailable < StandardError; end

      # Errors when a file cannot be written: the disk is full, the folder no longer exists.
      ERRORS = [SystemCallError, SQLite3::Exception].freeze

      FIELDS = %w[key url status error elapsed attempts bytes].freeze
      MORE = %w[timings body headers].freeze

      class << self
        # @param file [String] its extension selects the format
        # @param fields [Array<String>]
        # @param bodies [String, nil] a folder into which each body is written as a file
        # @return [Rows]
        # @raise [InvalidRequest] for an unknown field or format, and for a file that cannot be written
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

      # Converts each item and its result to a row.
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
          @error ||= error
        end

        # Writes a row for an item that has failed without a request.
        # @param error [String]
        # @return [void]
        def refuse(item, error, key)
          values = { "key" => key, "url" => url(item), "error" => error, "attempts" => 0 }
          @output << @fields.to_h { |name| [name, values[name]] }
        rescue *ERRORS => error
          @error ||= error
        end

        # Raises an error of writing here, where no item has been recorded yet: it ends the run, and is not a failure of
        # an item.
        # @return [void]
        # @raise [SystemCallError, SQLite3::Exception]
        def flush
          raise @error if @error

          @output.flush
        rescue *ERRORS => error
          @error = error
          raise
        end

        # @return [void]
        def close = @output.close(flush: @error.nil?)

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

        # A body that is not UTF-8 is written in Base64, after "base64:".
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
