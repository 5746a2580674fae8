# frozen_string_literal: true

require "erb"
require_relative "child_server"
require_relative "certificate_authority"

# Debian's nginx on free ports, one process for the whole run: Nginx.url("/small"), Nginx.url("/small", :tls) ...
class Nginx < ChildServer
  CONFIGURATION = File.join(__dir__, "nginx.conf.erb")
  ECHO_MODULE = "/usr/lib/nginx/modules/ngx_http_echo_module.so"
  LISTENERS = %i[plain tls tls12 mutual h2 h2_few h2_short h2c without_keepalive short_keepalive].freeze
  SECURE = %i[tls tls12 mutual h2 h2_few h2_short].freeze
  UNIX = %i[plain tls].freeze # listeners that also have a Unix socket
  HTTP2 = %i[h2 h2_few h2_short h2c].freeze
  # Concurrent streams on :h2_few; requests per connection on :h2_short, after which nginx sends GOAWAY.
  FEW_STREAMS = 4
  SHORT_CONNECTION = 20
  SMALL = "s" * 133
  PAGE = "p" * 13_801
  MEBIBYTE = 1024 * 1024
  # Sparse files: they take no disk space, and sendfile reads zeros.
  SPARSE = { "big" => 200 * MEBIBYTE, "huge" => 1024 * MEBIBYTE }.freeze

  class << self
    def instance = @instance ||= new.tap(&:start)
    def port(listener = :plain) = instance.ports.fetch(listener)

    def url(path = "/small", listener = :plain)
      "#{SECURE.include?(listener) ? "https" : "http"}://localhost:#{port(listener)}#{path}"
    end

    def unix_path(listener = :plain) = instance.unix_path(listener)
  end

  attr_reader :ports

  def initialize
    super("nginx")
    write_documents
  end

  def unix_path(listener) = File.join(directory, "#{listener}.sock")

  def start
    super do
      @ports = LISTENERS.zip(FreePort.take(LISTENERS.size)).to_h
      FileUtils.rm_f(UNIX.map { |listener| unix_path(listener) })
      File.write(configuration_path, ERB.new(File.read(CONFIGURATION), trim_mode: "-").result(binding))
      [@ports.values, ["nginx", "-p", directory, "-c", configuration_path, "-e", "stderr"]]
    end
  end

  private

  def configuration_path = File.join(directory, "nginx.conf")
  def documents = File.join(directory, "documents")

  def write_documents
    # The workers run as a user who may not enter a temporary directory of root.
    File.chmod(0o755, directory)
    Dir.mkdir(documents)
    { "small" => SMALL, "page" => PAGE, "text.txt" => "grüße\n" * 1000 }.each do |name, content|
      File.write(File.join(documents, name), content)
    end
    SPARSE.each { |name, size| File.open(File.join(documents, name), "w") { |file| file.truncate(size) } }
  end
end
