# frozen_string_literal: true

require "fileutils"
require "open3"
require "socket"
require "tmpdir"

# Starts servers for a test: on free ports, with their data in a folder that #stop deletes.
class Server
  POSTGRES = Dir["/usr/lib/postgresql/*/bin"].max.to_s
  MYSQL = "/usr/sbin/mysqld"
  USERS = { "postgres" => "postgres", "mariadbd" => "mysql", "mysqld" => "mysql" }.freeze

  class << self
    # @return [Server, nil] the server for all tests of the process that leave it running
    def shared(name)
      @shared ||= {}
      return @shared[name] if @shared.key?(name)

      @shared[name] = public_send(name)&.tap { |server| Minitest.after_run { server.stop } }
    end

    # @return [Server, nil] nil if it is not installed (bin/setup)
    def redis(*options)
      start("redis-server") do |port, folder|
        ["redis-server", "--bind", "127.0.0.1", "--port", port.to_s, "--dir", folder, "--save", "", *options]
      end
    end

    def postgres
      start("postgres") do |port, folder, as|
        unless File.exist?("#{folder}/PG_VERSION")
          run(*as, "#{POSTGRES}/initdb", "-D", folder, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
              "--locale=C")
        end
        [*as, "#{POSTGRES}/postgres", "-D", folder, "-p", port.to_s, "-c", "listen_addresses=127.0.0.1",
         "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200"]
      end
    end

    def mariadb
      start("mariadbd") do |port, folder, as|
        unless File.exist?("#{folder}/mysql")
          run("mariadb-install-db", "--no-defaults", "--datadir=#{folder}", *("--user=mysql" unless as.empty?),
              "--auth-root-authentication-method=normal", "--skip-test-db")
          File.write("#{folder}/init.sql", "CREATE DATABASE IF NOT EXISTS bulk CHARACTER SET utf8mb4;")
        end
        [*as, "/usr/sbin/mariadbd", "--no-defaults", "--datadir=#{folder}", "--port=#{port}",
         "--bind-address=127.0.0.1", "--socket=#{folder}/socket", "--innodb-flush-log-at-trx-commit=2",
         "--init-file=#{folder}/init.sql"]
      end
    end

    # The X protocol is off, because its port is the same for all servers.
    def mysql
      return unless mysql?

      start("mysqld") do |port, folder, as|
        mysqld = [*as, MYSQL, "--no-defaults", "--datadir=#{folder}", "--secure-file-priv=NULL"]
        unless File.exist?("#{folder}/mysql")
          run(*mysqld, "--initialize-insecure")
          File.write("#{folder}/init.sql", "CREATE DATABASE IF NOT EXISTS bulk CHARACTER SET utf8mb4;")
        end
        [*mysqld, "--port=#{port}", "--bind-address=127.0.0.1", "--socket=#{folder}/socket", "--mysqlx=OFF",
         "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", "--init-file=#{folder}/init.sql"]
      end
    end

    # @return [Boolean] whether the program is installed
    def there?(program)
      [POSTGRES, "/usr/sbin", *ENV["PATH"].split(":")].any? { |path| File.executable?(File.join(path, program)) }
    end

    private

    def start(program, &command)
      new(program, command) if there?(program)
    end

    # Packages of MariaDB have a program of that name, too.
    def mysql? = File.executable?(MYSQL) && !Open3.capture2e(MYSQL, "--version").first.include?("MariaDB")

    def run(*command)
      text, status = Open3.capture2e(*command)
      raise "#{command.first} has failed: #{text}" unless status.success?
    end
  end

  attr_reader :port, :log

  def initialize(program, command)
    @program = program
    @folder = Dir.mktmpdir("trunkline-#{program}-")
    @log = "#{@folder}.log"
    @user = (USERS[program] if Process.uid.zero?)
    FileUtils.chown(@user, nil, @folder) if @user
    @port = TCPServer.open("127.0.0.1", 0) { |probe| probe.addr[1] }
    @command = command.call(@port, @folder, @user ? ["setpriv", "--reuid", @user, "--init-groups"] : [])
    start
  end

  def start
    @pid = Process.spawn(*@command, out: @log, err: %i[child out], chdir: "/")
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
    begin
      TCPSocket.new("127.0.0.1", @port).close
    rescue SystemCallError
      raise "no #{@command.first}: #{File.read(@log)}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.05
      retry
    end
  end

  # @return [Hash] the configuration of a connection of ActiveRecord
  def active_record
    common = { host: "127.0.0.1", port: @port }
    return { adapter: "postgresql", username: "postgres", database: "postgres", **common } if @program == "postgres"

    { adapter: "trilogy", username: "root", database: "bulk", **common }
  end

  # @return [Boolean] whether PostgreSQL, or Redis, accepts commands
  def answers?
    return system("#{POSTGRES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", @port.to_s) if @program == "postgres"

    Socket.tcp("127.0.0.1", @port) { |socket| socket.write("PING\r\n") && socket.gets == "+PONG\r\n" }
  end

  # @return [String] a URL of Redis
  def url = "redis://127.0.0.1:#{@port}/0"

  # @param signal [Symbol] :KILL ends the server as a power cut does
  def halt(signal = :KILL)
    return if @pid.nil?

    Process.kill(signal, @pid)
    Process.wait(@pid)
    @pid = nil
  end

  def stop
    halt
    FileUtils.rm_rf(@folder)
    FileUtils.rm_f(@log)
  end
end
