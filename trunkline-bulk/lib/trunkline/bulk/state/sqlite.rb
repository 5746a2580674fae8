# frozen_string_literal: true

require "json"
require "sqlite3"
require_relative "../codec"
require_relative "../state"
require_relative "workers"

module Trunkline
  class Bulk
    class State
      # Stores runs in an SQLite file, for all processes of one machine. Recorded data survives the end of any process;
      # a crash of the machine may lose the last moments (WAL, synchronous=NORMAL).
      class SQLite < State
        SCHEMA = <<~SQL
          CREATE TABLE IF NOT EXISTS runs (
            id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL, slice INTEGER NOT NULL, total INTEGER,
            cut INTEGER NOT NULL DEFAULT 0, cut_all INTEGER NOT NULL DEFAULT 0, cursor TEXT,
            done INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, began REAL NOT NULL, ended REAL,
            worker TEXT, fence INTEGER NOT NULL DEFAULT 0, lease REAL, jobs TEXT);
          CREATE TABLE IF NOT EXISTS slices (
            id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, first INTEGER NOT NULL, positions TEXT, items BLOB NOT NULL,
            size INTEGER NOT NULL, recorded TEXT, attempts INTEGER NOT NULL DEFAULT 0,
            worker TEXT, fence INTEGER NOT NULL DEFAULT 0, lease REAL);
          CREATE INDEX IF NOT EXISTS slices_of_runs ON slices (run_id, worker, id);
          CREATE TABLE IF NOT EXISTS counts (
            run_id INTEGER NOT NULL, outcome TEXT NOT NULL, items INTEGER NOT NULL, PRIMARY KEY (run_id, outcome)
          ) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS failures (
            run_id INTEGER NOT NULL, position INTEGER NOT NULL, item BLOB NOT NULL, outcome TEXT NOT NULL, message TEXT,
            PRIMARY KEY (run_id, position)) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS reports (
            run_id INTEGER NOT NULL, process TEXT NOT NULL, figures TEXT NOT NULL, lease REAL NOT NULL,
            PRIMARY KEY (run_id, process)) WITHOUT ROWID;
        SQL
        # Seconds that a transaction waits for another process.
        PATIENCE = 30
        # Milliseconds that SQLite itself waits. It holds the GVL meanwhile, so that all threads of this process wait.
        WAIT_WITH_GVL = 20
        PAUSE = 0.005
        private_constant :SCHEMA, :PATIENCE, :WAIT_WITH_GVL, :PAUSE

        @instances = {}
        @instances_lock = Mutex.new

        # @param path [String]
        # @return [SQLite] the State of this process for the file
        def self.at(path)
          path = File.expand_path(path)
          @instances_lock.synchronize { @instances[[path, Process.pid]] ||= new(path) }
        end

        # Closes the State of a file, for example before the file is removed.
        # @param path [String]
        # @return [void]
        def self.forget(path)
          @instances_lock.synchronize { @instances.delete([File.expand_path(path), Process.pid]) }&.close
        end

        # @param path [String]
        # @raise [InvalidRequest] when the file cannot be opened
        def initialize(path)
          super()
          @path = path
          @lock = Monitor.new
          @db = SQLite3::Database.new(path)
          @db.busy_timeout = WAIT_WITH_GVL
          retry_while_busy { @db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; #{SCHEMA}") }
        rescue SQLite3::Exception => error
          raise InvalidRequest, "state: #{path.inspect} cannot be used: #{error.message}"
        end

        def to_s = @path

        # @return [void]
        def close
          @lock.synchronize do
            @statements&.each_value(&:close)
            @db.close
          end
        end

        def inspect = "#<#{self.class} #{@path}>"

        # @return [Run]
        def begin_run(key, slice)
          write do
            execute("INSERT INTO runs (key, state, slice, began) VALUES (?, 'running', ?, ?) ON CONFLICT DO NOTHING",
                    key, slice, Time.now.to_f)
            execute("UPDATE runs SET state = 'running', ended = NULL WHERE key = ? AND state = 'paused'", key)
          end
          run(key)
        end

        # @return [Run, nil]
        def run(key)
          @lock.synchronize do
            row = execute("SELECT * FROM runs WHERE key = ?", key).first or return
            counts = execute("SELECT outcome, items FROM counts WHERE run_id = ?", row["id"])
            slices = execute("SELECT COUNT(*) AS n FROM slices WHERE run_id = ?", row["id"]).first["n"]
            run_of(row, counts.to_h { |one| one.values_at("outcome", "items") }, slices, reports_of(row["id"]))
          end
        end

        # @return [Array<Run>] all runs, the newest first
        def runs
          @lock.synchronize { execute("SELECT key FROM runs ORDER BY id DESC").filter_map { |row| run(row["key"]) } }
        end

        # @yield [jobs, now] the stored data of a run's jobs (Hash of JSON; nil for none), and the time of leases
        # @yieldreturn [Hash] the data to store
        # @return [Hash]
        def jobs(run_id)
          write do
            jobs = execute("SELECT jobs FROM runs WHERE id = ?", run_id).first["jobs"]
            jobs = yield(jobs && JSON.parse(jobs), Workers.now)
            execute("UPDATE runs SET jobs = ? WHERE id = ?", JSON.generate(jobs), run_id)
            jobs
          end
        end

        # @return [Symbol] only the run's state
        def state_of_run(run_id)
          execute("SELECT state FROM runs WHERE id = ?", run_id).first["state"].to_sym
        end

        def change(run_id, to, from:)
          write do
            marks = from.map { "?" }.join(", ")
            execute("UPDATE runs SET state = ?, ended = NULL WHERE id = ? AND state IN (#{marks})",
                    to.name, run_id, *from.map(&:name))
            end_when_complete(run_id)
          end
        end

        # @return [Feed, nil]
        def claim_source(run_id, worker, lease)
          write do
            row = execute("SELECT * FROM runs WHERE id = ? AND cut_all = 0", run_id).first or next
            next unless row["worker"].nil? || row["worker"] == worker || claim_expired?(row)

            execute("UPDATE runs SET worker = ?, fence = fence + 1, lease = ? WHERE id = ?",
                    worker, Workers.now + lease, run_id)
            Feed.new(run_id, row["fence"] + 1, row["cursor"] && JSON.parse(row["cursor"]), row["cut"])
          end
        end

        def total(run_id, count)
          write { execute("UPDATE runs SET total = ? WHERE id = ?", count, run_id) }
        end

        def add_slices(feed, slices, cursor, ended:)
          write do
            cut = slices.sum { |_, _, size| size }
            execute("UPDATE runs SET cursor = ?, cut = cut + ?, cut_all = ?, " \
                    "total = CASE WHEN ? THEN cut + ? ELSE total END WHERE id = ? AND fence = ?",
                    JSON.generate(cursor), cut, ended ? 1 : 0, ended ? 1 : 0, cut, feed.run_id, feed.fence)
            raise LeaseLost, "the source was taken over" if @db.changes.zero?

            slices.each do |first, bytes, size|
              execute("INSERT INTO slices (run_id, first, items, size) VALUES (?, ?, ?, ?)",
                      feed.run_id, first, SQLite3::Blob.new(bytes), size)
            end
            end_when_complete(feed.run_id) if ended
          end
          feed.position += slices.sum { |_, _, size| size }
        end

        # @return [Slice, nil]
        def claim(run_id, worker, lease)
          write do
            row = execute("SELECT * FROM slices WHERE run_id = ? AND worker IS NULL ORDER BY id LIMIT 1",
                          run_id).first ||
                  abandoned(run_id)
            next if row.nil?

            execute("UPDATE slices SET worker = ?, lease = ?, fence = fence + 1, attempts = attempts + 1 WHERE id = ?",
                    worker, Workers.now + lease, row["id"])
            slice_of(row)
          end
        end

        def record(slice, recorded, counts, failures)
          complete = complete?(recorded)
          write do
            if complete
              execute("DELETE FROM slices WHERE id = ? AND fence = ?", slice.id, slice.fence)
            else
              execute("UPDATE slices SET recorded = ? WHERE id = ? AND fence = ?", recorded, slice.id, slice.fence)
            end
            raise LeaseLost, "a slice was taken over" if @db.changes.zero?

            count(slice.run_id, counts, failures)
            end_when_complete(slice.run_id) if complete
          end
          slice.recorded = recorded
        end

        def release(slice)
          write do
            execute("UPDATE slices SET worker = NULL, lease = NULL, attempts = attempts - 1 WHERE id = ? AND fence = ?",
                    slice.id, slice.fence)
          end
        end

        # Ends a worker's claim of the source.
        def release_source(feed)
          write { execute("UPDATE runs SET worker = NULL WHERE id = ? AND fence = ?", feed.run_id, feed.fence) }
        end

        def renew(run_id, worker, lease)
          write do
            %w[slices runs].each do |table|
              column = table == "runs" ? "id" : "run_id"
              execute("UPDATE #{table} SET lease = ? WHERE #{column} = ? AND worker = ?", Workers.now + lease, run_id,
                      worker)
            end
          end
        end

        def retry_failed(run_id)
          write do
            size = execute("SELECT slice FROM runs WHERE id = ?", run_id).first["slice"]
            failed = execute("SELECT * FROM failures WHERE run_id = ? ORDER BY position", run_id)
            next if failed.empty?

            failed.each_slice(size) { |rows| add_again(run_id, rows) }
            forget_failures(run_id, failed)
            execute("UPDATE runs SET state = 'running', ended = NULL WHERE id = ? AND state = 'done'", run_id)
          end
        end

        # Shorter than the default, because reports to a local file are no load on a shared database.
        def report_interval = 1.0

        def report(run_id, process, figures, life)
          write do
            execute("INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?)", run_id, process, JSON.generate(figures),
                    Workers.now + life)
            execute("DELETE FROM reports WHERE run_id = ? AND lease < ?", run_id, Workers.now)
          end
        end

        # @return [Enumerator<Failure>]
        def failures(run_id)
          Enumerator.new do |all|
            last = -1
            loop do
              rows = @lock.synchronize do
                execute("SELECT * FROM failures WHERE run_id = ? AND position > ? ORDER BY position LIMIT 1000",
                        run_id, last)
              end
              break if rows.empty?

              rows.each do |row|
                last = row["position"]
                all << Failure.new(last, Codec.load(row["item"]).first, row["outcome"], row["message"])
              end
            end
          end
        end

        private

        def execute(sql, *values)
          statement = (@statements ||= {})[sql] ||= @db.prepare(sql)
          statement.bind_params(*values)
          columns = statement.columns
          statement.map { |row| columns.zip(row).to_h }
        ensure
          statement&.reset!
        end

        # Takes the write lock at the beginning: two transactions that read first could each wait for the other.
        def write
          @lock.synchronize do
            retry_while_busy { execute("BEGIN IMMEDIATE") }
            result = yield
            execute("COMMIT")
            result
          ensure
            @db.rollback if @db.transaction_active?
          end
        end

        # Waits in Ruby for the lock of another process, so that other threads continue.
        def retry_while_busy
          due = now + PATIENCE
          begin
            yield
          rescue SQLite3::BusyException
            raise if now >= due

            sleep(PAUSE)
            retry
          end
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

        def run_of(row, counts, slices, reports)
          values = %w[id key total cut done failed].to_h { |name| [name.to_sym, row[name]] }
          Run.new(**values, state: row["state"].to_sym, cut_all: row["cut_all"] == 1, counts: counts, slices: slices,
                            reports: reports, began: Time.at(row["began"]),
                            ended: row["ended"] && Time.at(row["ended"]))
        end

        def reports_of(run_id)
          rows = execute("SELECT figures FROM reports WHERE run_id = ? AND lease > ?", run_id, Workers.now)
          rows.map { |row| JSON.parse(row["figures"]) }
        end

        def claim_expired?(row)
          row["lease"].nil? || row["lease"] < Workers.now || Workers.process_ended?(row["worker"])
        end

        def abandoned(run_id)
          workers = execute("SELECT DISTINCT worker FROM slices WHERE run_id = ? AND worker IS NOT NULL", run_id)
          dead = workers.map { |row| row["worker"] }.select { |worker| Workers.process_ended?(worker) }
          marks = dead.map { "?" }.join(", ")
          execute("SELECT * FROM slices WHERE run_id = ? AND worker IS NOT NULL AND " \
                  "(lease < ? OR worker IN (#{marks})) ORDER BY id LIMIT 1", run_id, Workers.now, *dead).first
        end

        def slice_of(row)
          positions = row["positions"] ? JSON.parse(row["positions"]) : (row["first"]...(row["first"] + row["size"]))
          recorded = row["recorded"] || ("0" * row["size"])
          Slice.new(row["id"], row["run_id"], row["fence"] + 1, row["attempts"] + 1, positions, row["items"], recorded)
        end

        def count(run_id, counts, failures)
          counts.each do |outcome, items|
            execute("INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET items = items + excluded.items",
                    run_id, outcome, items)
          end
          failures.each do |one|
            execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", run_id, one.position,
                    SQLite3::Blob.new(Codec.dump([one.item])), one.outcome, one.message)
          end
          execute("UPDATE runs SET done = done + ?, failed = failed + ? WHERE id = ?",
                  counts.values.sum - failures.size, failures.size, run_id)
        end

        def end_when_complete(run_id)
          execute("UPDATE runs SET state = 'done', ended = ? WHERE id = ? AND state = 'running' AND cut_all = 1 AND " \
                  "NOT EXISTS (SELECT 1 FROM slices WHERE run_id = ?)", Time.now.to_f, run_id, run_id)
        end

        def add_again(run_id, rows)
          positions = rows.map { |row| row["position"] }
          items = rows.map { |row| Codec.load(row["item"]).first }
          execute("INSERT INTO slices (run_id, first, positions, items, size) VALUES (?, ?, ?, ?, ?)", run_id,
                  positions.first, JSON.generate(positions), SQLite3::Blob.new(Codec.dump(items)), items.size)
        end

        def forget_failures(run_id, failed)
          failed.map { |row| row["outcome"] }.tally.each do |outcome, items|
            execute("UPDATE counts SET items = items - ? WHERE run_id = ? AND outcome = ?", items, run_id, outcome)
          end
          execute("DELETE FROM counts WHERE run_id = ? AND items <= 0", run_id)
          execute("DELETE FROM failures WHERE run_id = ?", run_id)
          execute("UPDATE runs SET failed = 0 WHERE id = ?", run_id)
        end
      end
    end
  end
end
