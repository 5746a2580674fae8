# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/path_shape"

class TestPathShape < UnitTest
  SHAPES = {
    "/" => "/",
    "" => "",
    "/users/12" => "/users/:id",
    "/users/12/orders/9/" => "/users/:id/orders/:id/",
    "/users/12.json" => "/users/:id.json",
    "/users/6ba7b810-9dad-11d1-80b4-00c04fd430c8" => "/users/:id",
    "/commits/a07d033" => "/commits/:id",
    "/blobs/8F14E45FCEEA167A5A36DEDD4BEA2543" => "/blobs/:id",
    "/blobs/deadbeefdeadbeef" => "/blobs/:id",
    "/items/AbC-123456" => "/items/:id",
    "/items/01ARZ3NDEKTSV4RRFFQ69G5FAV" => "/items/:id",
    "/v2/users/me" => "/v2/users/me",
    "/api/v1/facade/decade" => "/api/v1/facade/decade",
    "/s3/oauth2/token.json" => "/s3/oauth2/token.json"
  }.freeze

  def test_segments_that_identify_a_resource_become_id
    SHAPES.each { |path, shape| assert_equal shape, Trunkline::PathShape.of(path), path }
  end
end
