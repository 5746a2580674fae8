# frozen_string_literal: true

require "json"
require_relative "errors"

module Trunkline
  class Bulk
    # Where items come from: read once, lazily, and from a cursor on when a run goes on.
    #
    # @api private
    module Source
      # @param value [Enumerable, ActiveRecord::Relation, Pathname]
      # @return [#each_from, #size] each_from(cursor) yields each item behind the cursor (nil: all) with the cursor
      #   behind it; size: how many items, nil when that is not known without counting them
      # @raise [InvalidItem]
      def self.of(value)
        return Records.new(value) if value.respond_to?(:in_batches)
        return file(value) if defined?(::Pathname) && value.is_a?(::Pathname)
        return Items.new(value) if value.respond_to?(:each)

        raise InvalidItem, "source: must give an Enumerable, a relation or a Pathname, got a #{value.class}"
      end

      def self.file(path)
        case path.extname.downcase
        when ".csv" then Rows.new(path)
        when ".jsonl", ".ndjson" then Lines.new(path) { |line| JSON.parse(line) unless line.strip.empty? }
        else Lines.new(path)
        end
      end
      private_class_method :file

      # Anything that can be iterated: the cursor is a number of items, which are passed over.
      class Items
        def initialize(items)
          @items = items
        end

        def size
          @items.size if @items.is_a?(Array) || @items.is_a?(Hash) || @items.is_a?(Range)
        end

        def each_from(cursor)
          skipped = cursor.to_i
          at = 0
          @items.each do |item|
            at += 1
            yield item, at if at > skipped
          end
        end
      end

      # The lines of a file: the cursor is an offset in bytes.
      class Lines
        # @yield [line] gives the item; nil: there is none in it
        def initialize(path, &item)
          @path = path
          @item = item
        end

        def size = nil

        def each_from(cursor)
          File.open(@path) do |file|
            file.seek(cursor.to_i)
            while (line = file.gets)
              item = line.chomp
              item = @item.call(item) if @item
              yield item, file.pos unless item.nil? || item == ""
            end
          end
        end
      end

      # The rows of a CSV with a header, as Hashes: the cursor is a number of rows.
      class Rows
        def initialize(path)
          @path = path
        end

        def size = nil

        def each_from(cursor, &block)
          require "csv"
          Items.new(CSV.foreach(@path, headers: true).lazy.map(&:to_h)).each_from(cursor, &block)
        end
      end

      # The records of a relation, in the order of their primary key, which is the cursor.
      class Records
        BATCH = 1_000
        private_constant :BATCH

        def initialize(relation)
          @relation = relation
          @key = relation.klass.primary_key or raise InvalidItem, "source: #{relation.klass} has no primary key"
        end

        def size = @relation.count(:all)

        def each_from(cursor)
          relation = @relation.reorder(@key => :asc).limit(BATCH)
          loop do
            records = (cursor ? relation.where(@relation.arel_table[@key].gt(cursor)) : relation).to_a
            return if records.empty?

            records.each { |record| yield record, cursor = record.id }
          end
        end
      end
    end
  end
end
