-- Grants a worker its share of the fleet's limits for one interval, for many origins at once.
--
-- KEYS[1]          sorted set of workers, by the time at which each expires
-- KEYS[2..]        for each origin: token bucket (hash), requests in flight by worker (hash), key of the pause
-- ARGV[1..4]       worker; milliseconds until it expires; calls per second of the fleet; time (ms, or "")
-- ARGV[5..]        for each origin: requests per second (0: no limit), wanted, maximum in flight (0: no limit),
--                  in flight now, wanted in flight, milliseconds of a Retry-After that the worker has received
-- returns          interval (ms), workers, and for each origin: granted, granted in flight, milliseconds of pause
local worker, life, calls = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
now = math.floor(now)

redis.call('ZADD', KEYS[1], now + life, worker)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('PEXPIRE', KEYS[1], life)
local workers = redis.call('ZCARD', KEYS[1])
local interval = math.min(math.max(100, workers * 1000 / calls), life / 3)
local result = { math.floor(interval), workers }

-- Returns the number of other workers that use this origin, and the number of their requests in flight.
local function others(key)
  local count, in_flight = 0, 0
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    local held, expires = string.match(all[at + 1], '(%d+):(%d+)')
    if tonumber(expires) <= now then
      redis.call('HDEL', key, all[at])
    elseif all[at] ~= worker then
      count = count + 1
      in_flight = in_flight + tonumber(held)
    end
  end
  return count, in_flight
end

local function take_tokens(key, rate, wanted, sharers)
  if rate == 0 then return wanted end
  local capacity = math.max(1, rate * interval / 1000 * 2)
  local bucket = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = tonumber(bucket[1]) or math.max(1, capacity / 2)
  local elapsed = math.max(0, now - (tonumber(bucket[2]) or now))
  tokens = math.min(capacity, tokens + elapsed / 1000 * rate)
  local granted = math.min(wanted, math.floor(tokens), math.max(1, math.ceil(capacity / sharers)))
  redis.call('HSET', key, 'tokens', tokens - granted, 'at', now)
  redis.call('PEXPIRE', key, math.ceil(math.max(life, 2000 / rate)))
  return granted
end

local function grant_in_flight(limit, in_flight, wanted, sharers, elsewhere)
  if limit == 0 then return wanted end
  local available = limit - elsewhere
  if wanted > available or elsewhere + wanted > limit then
    available = math.min(available, math.ceil(limit / sharers))
  end
  return math.max(in_flight, math.min(wanted, available), 0)
end

for at = 0, (#KEYS - 1) / 3 - 1 do
  local bucket, holders, pause = KEYS[2 + at * 3], KEYS[3 + at * 3], KEYS[4 + at * 3]
  local rate, wanted, limit, in_flight, wanted_in_flight, retry_after = unpack(ARGV, 5 + at * 6, 10 + at * 6)
  rate, wanted, limit = tonumber(rate), tonumber(wanted), tonumber(limit)
  in_flight, wanted_in_flight, retry_after = tonumber(in_flight), tonumber(wanted_in_flight), tonumber(retry_after)

  local left = math.max(redis.call('PTTL', pause), 0)
  if retry_after > left then
    redis.call('SET', pause, '1', 'PX', retry_after)
    left = retry_after
  end
  local count, elsewhere = others(holders)
  local granted = left > 0 and 0 or take_tokens(bucket, rate, wanted, count + 1)
  local held = grant_in_flight(limit, in_flight, wanted_in_flight, count + 1, elsewhere)
  redis.call('HSET', holders, worker, string.format('%d:%d', held, now + life))
  redis.call('PEXPIRE', holders, life)
  result[#result + 1] = granted
  result[#result + 1] = held
  result[#result + 1] = left
end
return result
