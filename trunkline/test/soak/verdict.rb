# frozen_string_literal: true

# The requirements on a soak: flat lines, and no errors but those of restarts.
class SoakVerdict
  # How much the regression line of the samples may rise from the first third to the end.
  RISE = { descriptors: 8, threads: 3, rss: 24 }.freeze
  # In the first minutes malloc's arenas and Ruby's heap may still grow, and connections that a restart closed are
  # opened again; a leak of one object per request would be thousands by then.
  RISE_AT_FIRST = { descriptors: 64, threads: 8, rss: 48 }.freeze
  FIRST = 180 # seconds

  # @param samples [Array<Hash>]
  # @param errors [Array<Hash>]
  # @param events [Array<SoakServers::Event>]
  # @param arrived [Set<String>] ids of the requests that the servers have recorded
  def initialize(samples, errors, events, arrived)
    @samples = samples
    @errors = errors
    @events = events
    @arrived = arrived
  end

  # @return [Array<String>] violations
  def violations
    rising + untrue +
      unexplained.map { |error| "an error without a restart: #{error[:error]} #{error[:message]}" }
  end

  # @return [Array<Hash>] errors outside of the times of disturbances
  def unexplained
    @errors.reject { |error| @events.any? { |event| error[:at].between?(event.from, event.until) } }
  end

  # @return [Hash{Symbol => Float}] how much each figure rises
  def rises = RISE.keys.to_h { |what| [what, rise(what).round(1)] }

  private

  def rising
    most = @samples.last[:at] < FIRST ? RISE_AT_FIRST : RISE
    rises.filter_map { |what, rise| "#{what} rise by #{rise}, more than #{most[what]}" if rise > most[what] }
  end

  # The slope of the least-squares line, times the duration.
  def rise(what)
    settled = @samples.drop(@samples.size / 3)
    xs = settled.map { |sample| sample[:at] }
    ys = settled.map { |sample| sample[what] }
    mean_x = xs.sum.fdiv(xs.size)
    mean_y = ys.sum.fdiv(ys.size)
    spread = xs.sum { |x| (x - mean_x)**2 }
    return 0.0 if spread.zero?

    xs.zip(ys).sum { |x, y| (x - mean_x) * (y - mean_y) } / spread * (xs.last - xs.first)
  end

  def untrue
    unsent = @errors.select { |error| error[:sent] == "none" }.filter_map { |error| error[:id] }
    unsent.select { |id| @arrived.include?(id) }.map { |id| "#{id} was called unsent and arrived" }
  end
end
