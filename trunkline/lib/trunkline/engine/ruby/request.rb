# frozen_string_literal: true

require_relative "../../of_main_ractor"

module Trunkline
  # The part of Request that the engine provides (see request.rb in lib/trunkline).
  class Request
    TARGET = /\A[!"$-~]+\z/n
    NAME = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/n
    VALUE = /\A[\t\x20-\x7e\x80-\xff]*\z/n
    FIELD = /^([^:]*): ([^\r]*)\r\n/n
    DEFAULT_OPTIONS = { upgrades: false, streaming: false, follow: false, early_hints: nil, progress: nil,
                        template: nil }.freeze
    private_constant :TARGET, :NAME, :VALUE, :FIELD, :DEFAULT_OPTIONS

    class << self
      alias _allocate allocate
    end

    # Request.new(method, uri, fields, body = nil) makes a request that cannot be sent.
    def initialize(method, uri, fields, body = nil)
      raise FrozenError.new("can't modify frozen #{self.class}: #{inspect}", receiver: self) if frozen?
      raise TypeError, "wrong argument type #{method.class} (expected String)" unless method.is_a?(String)
      raise TypeError, "wrong argument type #{fields.class} (expected Array)" unless fields.is_a?(Array)

      @anchor = OfMainRactor::ANCHOR
      @options = DEFAULT_OPTIONS
      @method = method.dup.freeze
      @uri = [uri]
      @content = body
      @content_length = 0
      @head = lines_of(fields).freeze
      @fields_from = 0
      @fields_to = @head.bytesize
      @target = ""
      freeze
    end

    # @param options [Hash] with keys of DEFAULT_OPTIONS; with all of them when it is frozen
    # @api private
    def _take(options)
      @anchor = OfMainRactor::ANCHOR
      @options = options.frozen? ? options : DEFAULT_OPTIONS.merge(options)
      @upgrades = @options[:upgrades]
    end

    # @api private
    def _options = complete(@options)

    # @param destination [#origin, #target, #uri, #sendable] uri nil: it is built when needed; sendable: the target and
    #   the method need no check
    # @param lines [#text, #expects, #close] the header fields
    # @return [self] frozen
    # @raise [InvalidRequest]
    # @api private
    def _compose(builder, destination, method, content, length, lines)
      @builder = builder
      @origin = destination.origin
      @method = method
      @uri = [destination.uri]
      @content = content
      @content_length = length
      @expects = lines.expects
      @close = lines.close
      @target = destination.target
      # The message contains neither, since a target may hold a credential.
      unless destination.sendable || (@target.ascii_only? && TARGET.match?(@target) && NAME.match?(method))
        raise InvalidRequest, "the method or the target is none that HTTP allows (RFC 9112 3)"
      end

      @target = @target.encoding == Encoding::UTF_8 ? @target.freeze : @target.dup.force_encoding("UTF-8").freeze
      put_head(lines.text)
      freeze
    end

    attr_reader :builder, :content, :content_length, :origin

    def method = complete(@method)

    def follow = @options[:follow]
    def template = @options[:template]
    def progress = @options[:progress]
    def streaming? = @options[:streaming]
    def target = complete(@target)

    def uri
      complete(@uri)[0] ||= @origin.url.at_target(target)
    end

    # Closes resources that the content itself has opened.
    def release
      @content.release unless @content.nil? || @content.is_a?(String) || !@content.respond_to?(:release)
    end

    def plain?
      (@content.nil? || @content.is_a?(String)) && !streaming? && !follow
    end

    # Returns the same request with content from another source of the same length, and a response that is streamed or
    # not.
    # @api private
    def _with(content, streaming)
      complete(@head)
      unless content.nil? || content.is_a?(String) || content.respond_to?(:next_chunk)
        raise TypeError, "content: must be nil, a String, or have #next_chunk"
      end

      content = content.dup.freeze if content.is_a?(String)
      copy = Request._allocate
      copy._copy(self, content, @options.merge(streaming: streaming ? true : false, progress: content && progress))
    end

    # @api private
    def _field_lines = complete(@head).byteslice(@fields_from, @fields_to - @fields_from).freeze

    # @api private
    def _fields_by_name = Headers.by_name(_fields)

    # ---- for the engine ----

    # @api private
    def _head = @head
    # @api private
    def _expects? = @expects
    # @api private
    def _sends_close? = @close
    # @api private
    def _upgrades? = @upgrades
    # @api private
    def _early_hints = @options[:early_hints]

    def initialize_copy(_other)
      raise NoMethodError, "undefined method `initialize_copy' for #{inspect}"
    end
    private :initialize_copy

    protected

    # @api private
    def _copy(other, content, options)
      other.instance_variables.each { |name| instance_variable_set(name, other.instance_variable_get(name)) }
      @content = content
      @options = options.freeze
      freeze
    end

    private

    def complete(value)
      raise ArgumentError, "the request was not composed" if @head.nil?

      value
    end

    def put_head(lines)
      origin = @origin
      line = "#{@method} #{sent_target} HTTP/1.1\r\n"
      proxy = origin.proxy
      credentials = proxy.authorization if proxy && !proxy.tunnel
      @fields_from = line.bytesize
      @fields_to = @fields_from + lines.bytesize
      head = line.b << lines
      head << "Proxy-Authorization: " << credentials << "\r\n" if credentials
      @head = (head << "\r\n").freeze
    end

    # A proxy that receives the request itself gets the origin with the target (RFC 9112 3.2.2), and alone for "*",
    # which only OPTIONS may have (3.2.4).
    def sent_target
      return @target unless @origin.absolute_form?
      return "#{@origin.prefix}#{@target}" unless @target == "*"

      @method == "OPTIONS" ? @origin.prefix : @target
    end

    # @return [Array<Array(String, String)>] without the fields for a proxy
    def _fields
      _field_lines.scan(FIELD).map { |pair| pair.map { |text| text_of(text) } }
    end

    # UTF-8 if the bytes are valid UTF-8; else BINARY.
    def text_of(bytes)
      bytes.force_encoding(Encoding::UTF_8)
      bytes.force_encoding(Encoding::BINARY) unless bytes.valid_encoding?
      bytes.freeze
    end

    def lines_of(fields)
      fields.each_slice(2).with_object("".b) do |(name, value), lines|
        next if value.nil? && name.nil?

        name = String(name).b
        value = String(value).b
        unless NAME.match?(name) && VALUE.match?(value)
          raise InvalidRequest, "headers: a name or value cannot be sent (RFC 9110 5.1, 5.5)"
        end

        lines << name << ": " << value << "\r\n"
      end
    end
  end
end
