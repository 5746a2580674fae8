# frozen_string_literal: true

require "active_record"
require_relative "test_helper"

# Records of ActiveRecord as items, where no application gives them a GlobalID.
class TestRecords < BulkTest
  class Base < ActiveRecord::Base
    self.abstract_class = true
  end

  class Page < Base
    default_scope { where(hidden: false) }
  end

  class Link < Base
    self.primary_key = %i[page number]
  end

  def setup
    super
    @server = serve
    Base.establish_connection(adapter: "sqlite3", database: path("application.sqlite"), pool: 10)
    Base.connection.create_table(:pages) do |table|
      table.string :url
      table.boolean :hidden, default: false
    end
    Base.connection.create_table(:links, primary_key: %i[page number]) do |table|
      table.integer :page
      table.integer :number
    end
    Page.insert_all(Array.new(2_500) { |number| { url: @server.url("/#{number}") } })
  end

  def teardown
    Base.remove_connection
    super
  end

  def fetch(name = "run", **options, &source)
    run = Class.new(bulk(**options)) do
      source(&source)
      request(&:url)
    end
    status = run_bulk(run, name)
    assert_equal [:done, 0], [status.state, status.failed]
    @server.counts.keys.map { |target| target.delete("/").to_i }.sort
  end

  { relation: -> { Page.where("id > 1000") }, ordered: -> { Page.order(id: :desc).where("id > 1000") },
    batches: -> { Page.where("id > 1000").in_batches }, find_each: -> { Page.where("id > 1000").find_each },
    offset: -> { Page.offset(1000).limit(5000) } }.each do |name, relation|
    define_method(:"test_#{name}") { assert_equal (1000...2500).to_a, fetch(&relation) }
  end

  def test_a_class = assert_equal 2500, fetch { Page }.size

  def test_a_limit_beyond_a_batch_is_kept_to = assert_equal (0...1200).to_a, fetch { Page.limit(1200) }

  def test_records_that_a_default_scope_hides
    Page.where("id <= 10").update_all(hidden: true)
    assert_equal (0...10).to_a, fetch { Page.unscoped.where(hidden: true) }
  end

  def test_records_within_items
    run = Class.new(bulk([{ page: Page.first, tags: [Page.second] }])) do
      request { |item| item[:tags][0].url }
    end
    assert_equal({ "200" => 1 }, run_bulk(run).counts)
    assert_equal ["/1"], @server.counts.keys
  end

  def test_a_key_of_several_columns
    Link.insert_all(Array.new(1_500) { |number| { page: number / 100, number: number % 100 } })
    server = @server
    run = Class.new(bulk) do
      source { Link }
      request { |link| server.url("/#{link.page}/#{link.number}") }
    end
    assert_equal [1_500, 1_500], run_bulk(run).then { [_1.done, _1.total] }
    assert_equal 1_500, @server.counts.size
  end

  def test_a_record_that_is_gone_has_failed
    run = Class.new(bulk(slice: 1)) do
      source { Page.limit(3) }
      request { |page| Page.delete(3) && page.url }
    end
    assert_equal({ "200" => 2, "Bulk::InvalidItem" => 1 }, run_bulk(run).counts)
    failure = run.failures("run", state: state).first
    assert_equal "the record TestRecords::Page 3 is gone", failure.message
    assert_equal failure.message, failure.item.to_s
    run.retry_failed("run", state: state)
    assert_equal 1, run_bulk(run).failed
  end

  def test_what_cannot_be_found_again_is_told
    error = assert_raises(Trunkline::Bulk::InvalidItem) { run_bulk(bulk([Page.new])) }
    assert_match(/its class and its primary key/, error.message)
    other = Trunkline::Bulk::Codec.dump([Page.first]).then { |bytes| Zlib::Inflate.inflate(bytes) }
    error = assert_raises(Trunkline::Bulk::InvalidItem) do
      Trunkline::Bulk::Codec.load(Zlib::Deflate.deflate(other.sub("TestRecords::Page", "Kernel")))
    end
    assert_match(/Kernel is no class of records/, error.message)
  end

  def test_a_run_goes_on_behind_the_last_record
    raised = false
    run = Class.new(bulk(slice: 500)) do
      source { Page.limit(2_400) }
      request(&:url)
      result do |page, _|
        next unless page.id == 1_700 && !raised

        raised = true
        raise Interrupt
      end
    end
    assert_raises(Interrupt) { run_bulk(run) }
    Page.where("id < 300").delete_all # records that were already cut are not read again
    status = run_bulk(run)
    assert_equal [:done, 2_400], [status.state, status.done]
    assert_equal 2_400, @server.counts.size
  end
end
