# frozen_string_literal: true

require "json"
require_relative "codec"
require_relative "errors"

module Trunkline
  class Bulk
    # The sources of items. A source is read once, lazily, and from a cursor if a run is resumed.
    #
    # @api private
    module Source
      # @param value [Enumerable, ActiveRecord::Relation, Pathname]
      # @return [#each_from, #cursor, #size, #retained?] each_from(cursor) yields each item after the cursor (nil: all);
      #   cursor(count) is the cursor after the last yielded item, the count-th; size: the number of items, nil if they
      #   would have to be counted; retained?: whether other objects hold the items, too
      # @raise [InvalidItem]
      def self.of(value)
        return Records.new(value.all) if value.respond_to?(:in_batches)
        return Items.new(value.each_record) if value.respond_to?(:each_record) # the result of Relation#in_batches
        return file(value) if defined?(::Pathname) && value.is_a?(::Pathname)
        return Items.new(value) if value.respond_to?(:each)

        raise InvalidItem, "source: must give an Enumerable, a relation or a Pathname, got a #{value.class}"
      end

      def self.file(path)
        case path.extname.downcase
        when ".csv" then Rows.new(path)
        when ".jsonl", ".ndjson" then Lines.new(path) { |line| parsed(line) }
        else Lines.new(path)
        end
      end

      def self.parsed(line)
        JSON.parse(line) unless line.valid_encoding? && line.strip.empty?
      rescue JSON::ParserError, EncodingError => error
        Codec::Unreadable.new(line, "no JSON: #{error.message.scrub}")
      end
      private_class_method :file, :parsed

      # An object that can be iterated. The cursor is the number of items to skip.
      class Items
        def initialize(items)
          @items = items
        end

        def size
          size = @items.size if @items.is_a?(Array) || @items.is_a?(Hash) || @items.is_a?(Range)
          size if size.is_a?(Integer) # a range may have no end
        end

        # @return [Boolean] whether other objects hold the items, too
        def retained? = @items.is_a?(Array) || @items.is_a?(Hash)

        def each_from(cursor, &block)
          @passed = cursor.to_i
          # If each yields several values, each_entry packs them into one Array.
          each = @items.method(@items.respond_to?(:each_entry) ? :each_entry : :each)
          @passed.zero? ? each.call(&block) : behind(@passed, each, &block)
        end

        def cursor(count) = @passed + count

        private

        def behind(skipped, each)
          each.call do |item|
            skipped.zero? ? yield(item) : skipped -= 1
          end
        end
      end

      # UTF-8 in any locale. Other programs may begin a file with a byte order mark.
      MODE = "r:BOM|UTF-8"

      # The lines of a file: the cursor is an offset in bytes.
      class Lines
        # @yield [line] returns the item; nil if the line has none
        def initialize(path, &item)
          @path = path
          @item = item
        end

        def size = nil

        def retained? = false

        def each_from(cursor)
          File.open(@path, MODE) do |file|
            @file = file
            file.seek(cursor) if cursor
            while (line = file.gets)
              line.chomp!
              line = @item.call(line) if @item
              yield line unless line.nil? || line == ""
            end
            @end = file.pos
          end
        end

        def cursor(_count) = @end || @file.pos
      end

      # The rows of a CSV with a header, as Hashes: the cursor is a number of rows.
      class Rows
        def initialize(path)
          @path = path
        end

        def size = nil

        def retained? = false

        # @return [Array<String>, nil] the names of the columns
        def names = read { |csv| csv.foreach(@path, MODE).first }

        def each_from(cursor, &block)
          read do |csv|
            @rows = Items.new(csv.foreach(@path, MODE, headers: true).lazy.map(&:to_h))
            @rows.each_from(cursor, &block)
          end
        end

        def cursor(count) = @rows.cursor(count)

        private

        def read
          require "csv"
          yield CSV
        rescue LoadError
          raise InvalidItem, "source: a .csv needs the gem csv: add gem \"csv\" to the Gemfile"
        rescue CSV::MalformedCSVError => error
          raise InvalidItem, "source: #{@path}: #{error.message}"
        end
      end

      # The records of a relation, in the order of their primary key, as in in_batches: the relation's own order is
      # ignored, its limit and offset apply. The cursor is the number of records read, and the key of the last one.
      class Records
        BATCH = 1_000
        private_constant :BATCH

        def initialize(relation)
          @relation = relation
          @keys = Array(relation.klass.primary_key)
          raise InvalidItem, "source: #{relation.klass} has no primary key" if @keys.empty?
        end

        def retained? = false

        def size
          count = @relation.count(:all)
          count if count.is_a?(Integer) # a grouped relation returns a Hash
        end

        def each_from(cursor)
          @passed, *last = cursor
          taken = @passed ||= 0
          until (records = batch(taken, last)).empty?
            taken += records.size
            last = keys_of(records.last)
            records.each { |record| yield @last = record }
          end
        end

        def cursor(count) = [@passed + count, *keys_of(@last)]

        private

        def keys_of(record) = @keys.map { |key| record.read_attribute(key) }

        def batch(taken, last)
          most = [BATCH, *(@relation.limit_value - taken if @relation.limit_value)].min
          records = @relation.reorder(@keys.to_h { |key| [key, :asc] }).limit(most)
          records = records.offset(nil).where(behind(last)) unless last.empty?
          records.to_a
        end

        # The condition for records after a key. With several columns: a greater first one, or the same and a greater
        # second one.
        def behind(last)
          @keys.zip(last).reverse.inject(nil) do |greater, (key, value)|
            column = @relation.klass.arel_table[key]
            greater ? column.gt(value).or(column.eq(value).and(greater)) : column.gt(value)
          end
        end
      end
    end
  end
end
