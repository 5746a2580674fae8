-- Gives a worker its share of what a fleet may do, for one interval, of many origins at once.
--
-- KEYS[1]          sorted set of workers, by the time they are taken to be gone
-- KEYS[2..]        of each origin: hash of the bucket, hash of who has what in flight, key of its pause
-- ARGV[1..4]       worker; milliseconds until it is taken to be gone; calls a second of the fleet; time (ms, or "")
-- ARGV[5..]        of each origin: requests a second (0: no limit), wanted, in flight at most (0: no limit),
--                  in flight now, wanted in flight, milliseconds of a pause that it has learnt
-- returns          interval (ms), workers, and of each origin: granted, granted in flight, milliseconds of pause
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

-- How many others have this origin, and how many requests they have in flight.
local function others(key)
  local count, flying = 0, 0
  local all = redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    local held, gone = string.match(all[at + 1], '(%d+):(%d+)')
    if tonumber(gone) <= now then
      redis.call('HDEL', key, all[at])
    elseif all[at] ~= worker then
      count = count + 1
      flying = flying + tonumber(held)
    end
  end
  return count, flying
end

local function take(key, rate, wanted, sharers)
  if rate == 0 then return wanted end
  local most = math.max(1, rate * interval / 1000 * 2)
  local kept = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = tonumber(kept[1]) or math.max(1, most / 2)
  local passed = math.max(0, now - (tonumber(kept[2]) or now))
  tokens = math.min(most, tokens + passed / 1000 * rate)
  local granted = math.min(wanted, math.floor(tokens), math.max(1, math.ceil(most / sharers)))
  redis.call('HSET', key, 'tokens', tokens - granted, 'at', now)
  redis.call('PEXPIRE', key, math.ceil(math.max(life, 2000 / rate)))
  return granted
end

local function fly(limit, flying, wanted, sharers, elsewhere)
  if limit == 0 then return wanted end
  local most = limit - elsewhere
  if wanted > most or elsewhere + wanted > limit then most = math.min(most, math.ceil(limit / sharers)) end
  return math.max(flying, math.min(wanted, most), 0)
end

for at = 0, (#KEYS - 1) / 3 - 1 do
  local bucket, holders, pause = KEYS[2 + at * 3], KEYS[3 + at * 3], KEYS[4 + at * 3]
  local rate, wanted, limit, flying, hoped, learnt = unpack(ARGV, 5 + at * 6, 10 + at * 6)
  rate, wanted, limit = tonumber(rate), tonumber(wanted), tonumber(limit)
  flying, hoped, learnt = tonumber(flying), tonumber(hoped), tonumber(learnt)

  local left = math.max(redis.call('PTTL', pause), 0)
  if learnt > left then
    redis.call('SET', pause, '1', 'PX', learnt)
    left = learnt
  end
  local count, elsewhere = others(holders)
  local granted = left > 0 and 0 or take(bucket, rate, wanted, count + 1)
  local held = fly(limit, flying, hoped, count + 1, elsewhere)
  redis.call('HSET', holders, worker, string.format('%d:%d', held, now + life))
  redis.call('PEXPIRE', holders, life)
  result[#result + 1] = granted
  result[#result + 1] = held
  result[#result + 1] = left
end
return result
