# frozen_string_literal: true

require "json"
require_relative "../codec"
require_relative "../state"
begin
  require "active_record"
rescue LoadError => error
  raise Trunkline::InvalidRequest, "state: :active_record needs the gem activerecord: add gem \"activerecord\", " \
                                   "\">= 7.1\" to the Gemfile (#{error.message})"
end
require_relative "tables"

module Trunkline
  class Bulk
    class State
      # Stores runs in a database of the application, PostgreSQL or MySQL (MariaDB), for processes on many machines.
      # Leases use the clock of the database. The tables are created when they are first needed.
      #
      # A claim takes the first row that no other transaction has locked (FOR UPDATE SKIP LOCKED), so that workers do
      # not wait for each other. All transactions lock the row of a run after the rows of its slices.
      class ActiveRecord < State
        CLOCKS = {
          "PostgreSQL" => "EXTRACT(EPOCH FROM clock_timestamp())", "PostGIS" => "EXTRACT(EPOCH FROM clock_timestamp())",
          "Mysql2" => "UNIX_TIMESTAMP(SYSDATE(6))", "Trilogy" => "UNIX_TIMESTAMP(SYSDATE(6))"
        }.freeze
        # The number of tries of a transaction that the database has ended in favour of another, or that got no lock.
        TRIES = 8
        LOCK_CONFLICTS = [::ActiveRecord::Deadlocked, ::ActiveRecord::SerializationFailure,
                          ::ActiveRecord::LockWaitTimeout].freeze
        # Errors of a database that is restarted. The next try is after 0.1 s, 0.2 s, ..., 12.7 s in all.
        UNAVAILABLE = [::ActiveRecord::ConnectionNotEstablished, ::ActiveRecord::ConnectionFailed,
                       ::ActiveRecord::StatementTimeout].freeze
        # The number of failures that are read at once.
        PAGE = 1_000
        private_constant :CLOCKS, :LOCK_CONFLICTS, :PAGE, :TRIES, :UNAVAILABLE

        # @return [ActiveRecord] the State of this process for ActiveRecord::Base
        def self.instance = @instance ||= new

        # @param base [Class] the class whose connections are used
        # @raise [InvalidRequest] for another database than PostgreSQL and MySQL
        def initialize(base = ::ActiveRecord::Base)
          super()
          @base = base
          @run, @slice, @count, @failure, @report = Tables::NAMES.map { |name| model(name) }
        end

        def to_s = "active_record"

        def inspect = "#<#{self.class} #{@base}>"

        # @return [Run]
        def begin_run(key, slice)
          write do
            @run.insert_all([{ key: key, state: "running", slice_size: slice, began: Time.now.to_f }])
            @run.where(key: key, state: "paused").update_all(state: "running", ended: nil)
          end
          run(key)
        end

        # @return [Run, nil]
        def run(key)
          read do
            row = @run.find_by(key: key) or next
            reports = @report.where(run_id: row.id, lease: now..).pluck(:figures).map { |figures| JSON.parse(figures) }
            run_of(row, @count.where(run_id: row.id).pluck(:outcome, :items).to_h, @slice.where(run_id: row.id).count,
                   reports)
          end
        end

        # @return [Array<Run>] all runs, the newest first
        def runs = read { @run.order(id: :desc).pluck(:key) }.filter_map { |key| run(key) }

        # @return [Symbol] only the run's state
        def state_of_run(run_id) = read { @run.where(id: run_id).pick(:state).to_sym }

        def change(run_id, to, from:)
          write do
            @run.where(id: run_id, state: from.map(&:name)).update_all(state: to.name, ended: nil)
            end_when_complete(run_id)
          end
        end

        # @return [Feed, nil]
        def claim_source(run_id, worker, lease)
          write do
            row = @run.lock.find_by(id: run_id, cut_all: false) or next
            next unless row.worker.nil? || row.worker == worker || row.lease.nil? || lease_expired?(row.lease, lease)

            row.update_columns(worker: worker, fence: row.fence + 1, lease: now + lease)
            Feed.new(run_id, row.fence, row.cursor && JSON.parse(row.cursor), row.cut)
          end
        end

        # Ends a worker's claim of the source.
        def release_source(feed)
          write { @run.where(id: feed.run_id, fence: feed.fence).update_all(worker: nil) }
        end

        def total(run_id, count)
          write { @run.where(id: run_id).update_all(total: count) }
        end

        def add_slices(feed, slices, cursor, ended:)
          cut = slices.sum { |_, _, size| size }
          write do
            # `cut` differs if the database has lost committed transactions.
            row = @run.lock.find_by(id: feed.run_id, fence: feed.fence, cut: feed.position) or
              raise LeaseLost, "the source was taken over"
            rows = slices.map { |first, items, size| { run_id: row.id, first: first, items: items, size: size } }
            @slice.insert_all!(rows) unless rows.empty?
            row.update_columns(cursor: JSON.generate(cursor), cut: row.cut + cut, cut_all: ended ? true : false,
                               total: ended ? row.cut + cut : row.total)
            end_when_complete(row.id) if ended
          end
          feed.position += cut
        end

        # @return [Slice, nil]
        def claim(run_id, worker, lease)
          write do
            row = free(run_id, lease) or next
            row.update_columns(worker: worker, lease: now + lease, fence: row.fence + 1, attempts: row.attempts + 1)
            slice_of(row)
          end
        end

        def record(slice, recorded, counts, failures)
          complete = complete?(recorded)
          write do
            row = @slice.lock.find_by(id: slice.id, fence: slice.fence) or raise LeaseLost, "a slice was taken over"
            next if row.recorded == recorded # by an earlier try, whose commit was not confirmed

            complete ? row.delete : row.update_columns(recorded: recorded)
            count(slice.run_id, counts, failures)
            end_when_complete(slice.run_id) if complete
          end
          slice.recorded = recorded
        end

        def release(slice)
          write do
            claimed = @slice.where(id: slice.id, fence: slice.fence)
            claimed.update_all("worker = NULL, lease = NULL, attempts = attempts - 1")
          end
        end

        def renew(run_id, worker, lease)
          write do
            @slice.where(run_id: run_id, worker: worker).update_all(lease: now + lease)
            @run.where(id: run_id, worker: worker).update_all(lease: now + lease)
          end
        end

        def retry_failed(run_id)
          write do
            row = @run.lock.find(run_id)
            failed = @failure.where(run_id: run_id).order(:position).to_a
            next if failed.empty?

            failed.each_slice(row.slice_size) { |some| add_again(run_id, some) }
            forget_failures(row, failed)
            row.update_columns(state: "running", ended: nil) if row.state == "done"
          end
        end

        def report(run_id, process, figures, life)
          row = { run_id: run_id, process: process, figures: JSON.generate(figures) }
          write { @report.upsert_all([{ **row, lease: now + life }], **unique(%i[run_id process])) }
        end

        # @return [Enumerator<Failure>]
        def failures(run_id)
          Enumerator.new do |all|
            last = -1
            loop do
              rows = read { @failure.where(run_id: run_id, position: (last + 1)..).order(:position).limit(PAGE).to_a }
              break if rows.empty?

              last = rows.last.position
              rows.each do |row|
                all << Failure.new(row.position, Codec.load(row.item).first, row.outcome, row.message)
              end
            end
          end
        end

        # @yield [jobs, now] the stored data of a run's jobs (Hash of JSON; nil for none), and the database's time
        # @yieldreturn [Hash] the data to store
        # @return [Hash]
        def jobs(run_id)
          write do
            row = @run.lock.find(run_id)
            jobs = yield(row.jobs && JSON.parse(row.jobs), now)
            row.update_columns(jobs: JSON.generate(jobs))
            jobs
          end
        end

        private

        # Makes a class of records for one of the tables, on the connections of @base.
        def model(name)
          Class.new(@base) do
            self.abstract_class = false
            self.table_name = "#{Tables::PREFIX}#{name}"
            self.inheritance_column = nil
            define_singleton_method(:name) { "Trunkline::Bulk::State::ActiveRecord::#{name.capitalize}" }
          end
        end

        # Does not retry within a transaction of the caller, because that transaction is lost as a whole.
        def read
          tries = 0
          begin
            connected { |connection| @base.uncached { yield connection } }
          rescue *LOCK_CONFLICTS, *UNAVAILABLE => error
            raise if (tries += 1) >= TRIES || @base.connection_pool.active_connection?&.transaction_open?

            sleep(LOCK_CONFLICTS.any? { |one| error.is_a?(one) } ? rand * 0.02 * tries : 0.1 * (2**(tries - 1)))
            retry
          end
        end

        def connected
          @base.connection_pool.with_connection do |connection|
            prepare(connection) unless @clock
            yield connection
          end
        end

        def write(&block)
          read { |connection| @base.transaction(requires_new: true, isolation: isolation(connection), &block) }
        end

        # MySQL's default isolation level locks gaps between rows, into which other transactions insert.
        def isolation(connection)
          :read_committed unless connection.transaction_open?
        end

        def prepare(connection)
          @clock = CLOCKS[connection.adapter_name] or
            raise InvalidRequest, "state: :active_record is for PostgreSQL and MySQL, and this is " \
                                  "#{connection.adapter_name}: give the path of an SQLite file instead"
          Tables.make(connection)
        end

        def now
          @base.connection_pool.with_connection { |connection| connection.select_value("SELECT #{@clock}").to_f }
        end

        # @return [Object, nil] an unclaimed slice, else a slice whose lease is over
        def free(run_id, lease)
          slices = @slice.where(run_id: run_id).order(:id).lock("FOR UPDATE SKIP LOCKED")
          time = now
          slices.where(worker: nil).first ||
            slices.where.not(worker: nil).where("lease < ? OR lease > ?", time, time + (2 * lease)).first
        end

        # A lease that ends so late was granted before the database's clock was set back: a living worker renews it.
        def lease_expired?(time, lease)
          remaining = time - now
          remaining.negative? || remaining > 2 * lease
        end

        def run_of(row, counts, slices, reports)
          values = row.slice(:id, :key, :total, :cut, :cut_all, :done, :failed).symbolize_keys
          Run.new(**values, state: row.state.to_sym, counts: counts, slices: slices, reports: reports,
                            began: Time.at(row.began), ended: row.ended && Time.at(row.ended))
        end

        def slice_of(row)
          positions = row.positions ? JSON.parse(row.positions) : (row.first...(row.first + row.size))
          Slice.new(row.id, row.run_id, row.fence, row.attempts, positions, row.items,
                    row.recorded ? +row.recorded.to_s : "0" * row.size)
        end

        def count(run_id, counts, failures)
          add(run_id, counts)
          rows = failures.map do |one|
            { run_id: run_id, position: one.position, item: Codec.dump([one.item]), outcome: one.outcome[0, 200],
              message: one.message.to_s.scrub.delete("\0")[0, 10_000] }
          end
          @failure.upsert_all(rows, **unique(%i[run_id position])) unless rows.empty?
          done = counts.values.sum - failures.size
          @run.where(id: run_id).update_all(["done = done + ?, failed = failed + ?", done, failures.size])
        end

        # The rows are sorted, so that two transactions do not wait for each other. MySQL deprecates VALUES(items), and
        # MariaDB lacks its replacement; both accept CASE.
        def add(run_id, counts)
          return if counts.empty?

          sums = counts.group_by { |outcome, _| outcome[0, 200] }.transform_values { |some| some.sum(&:last) }.sort
          table = @count.quoted_table_name
          cases = sums.map { |sum| @count.sanitize_sql(["WHEN ? THEN ?", *sum]) }.join(" ")
          @count.upsert_all(sums.map { |outcome, items| { run_id: run_id, outcome: outcome, items: items } },
                            on_duplicate: Arel.sql("items = #{table}.items + CASE #{table}.outcome #{cases} END"),
                            **unique(%i[run_id outcome]))
        end

        # MySQL itself determines the unique index.
        def unique(columns)
          mysql? ? {} : { unique_by: columns }
        end

        def mysql? = @clock.start_with?("UNIX")

        def end_when_complete(run_id)
          row = @run.lock.find(run_id)
          return unless row.state == "running" && row.cut_all && !@slice.exists?(run_id: run_id)

          row.update_columns(state: "done", ended: Time.now.to_f)
          @report.where(run_id: run_id).delete_all
        end

        def add_again(run_id, failed)
          positions = failed.map(&:position)
          items = failed.map { |row| Codec.load(row.item).first }
          @slice.insert_all!([{ run_id: run_id, first: positions.first, positions: JSON.generate(positions),
                                items: Codec.dump(items), size: items.size }])
        end

        def forget_failures(row, failed)
          failed.map(&:outcome).tally.each do |outcome, items|
            @count.where(run_id: row.id, outcome: outcome).update_all(["items = items - ?", items])
          end
          @count.where(run_id: row.id, items: ..0).delete_all
          @failure.where(run_id: row.id).delete_all
          row.update_columns(failed: 0)
        end
      end
    end
  end
end
