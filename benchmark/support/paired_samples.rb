# frozen_string_literal: true

module Bench
  # Times our client and each other competitor in pairs: the two run right after each other. The order within a pair and
  # the order of the pairs are shuffled, so that a moment of noise on the machine affects both or is lost in the median.
  class PairedSamples
    Pair = Struct.new(:ours, :theirs) do
      def times_faster = rate(ours) / rate(theirs)

      def times_the_cpu = cpu(ours) / cpu(theirs)

      def cpu(sample) = sample[:cpu] / sample[:requests]

      def rate(sample) = sample[:requests] / sample[:wall]
    end

    class Failed < StandardError
      attr_reader :member

      def initialize(member, reason)
        @member = member
        super("#{member.label}: #{reason}")
      end
    end

    # @return [Hash{Competitors::Member => Array<Pair>}]
    attr_reader :by_member

    def initialize(competitors, ours:, repeats:, seconds:)
      @competitors = competitors
      @ours = ours
      @seconds = seconds
      @by_member = Hash.new { |pairs, member| pairs[member] = [] }
      others = competitors.members - [ours]
      (others * repeats).shuffle.each { |other| take(other) if competitors.members.include?(other) }
      @by_member.select! { |member, _| competitors.members.include?(member) }
    end

    def samples_of(member)
      member == @ours ? by_member.values.flatten(1).map(&:ours) : by_member.fetch(member).map(&:theirs)
    end

    private

    def take(other)
      samples = [@ours, other].shuffle.to_h { |member| [member, sample(member)] }
      @by_member[other] << Pair.new(samples.fetch(@ours), samples.fetch(other))
    rescue Failed => error
      raise if error.member == @ours

      @competitors.dismiss(other, error.message)
    end

    def sample(member)
      taken = member.sample(@seconds)
      raise Failed.new(member, "no answer in #{@seconds} s") unless taken[:requests].positive?

      taken
    rescue PeerProcess::Failed, Tools::Failed => error
      raise Failed.new(member, error.message)
    end
  end
end
