-- Reads the structures that the generated part describes, and shows them in Wireshark's tree.
--
-- A description has `seq` (its fields in order), `later` (fields with positions of their own), `values` (numbers computed from them)
-- and `params`. What is read stands in a table by the fields' names; expressions of the descriptions are functions of it.

local DAMAGE = {}

local Stream = {}
Stream.__index = Stream

-- The bytes of `tvb` from `start` to `stop`, which a structure is read from.
local function stream(tvb, start, stop)
  return setmetatable({ tvb = tvb, start = start, stop = stop, at = start }, Stream)
end

function Stream:pos() return self.at - self.start end
function Stream:size() return self.stop - self.start end
function Stream:eof() return self.at >= self.stop end

-- Marks a place of the tree as damaged, and ends reading the structure.
local function fail(tree, s, text, item)
  if tree then
    if item then
      item:add_proto_expert_info(experts.damaged, text)
    else
      local at = math.max(math.min(s.at, s.stop - 1), s.start)
      if at < s.stop then
        tree:add_tvb_expert_info(experts.damaged, s.tvb(at, s.stop - at), text)
      else
        tree:add_proto_expert_info(experts.damaged, text)
      end
    end
  end
  error(DAMAGE, 0)
end

-- The place of the next `length` bytes.
local function take(f, s, tree, length)
  if length < 0 then fail(tree, s, string.format("%s: a length of %.0f", f.name, length)) end
  if s.at + length > s.stop then
    fail(tree, s, string.format("%s: %.0f bytes wanted, %.0f left", f.name, length, s.stop - s.at))
  end
  local at = s.at
  s.at = at + length
  return at
end

-- Whether a call raised damage; anything else is a mistake of this script and passed on.
local function contained(...)
  local ok, problem = pcall(...)
  if not ok and problem ~= DAMAGE then error(problem, 0) end
  return ok
end

local function choose(condition, yes, no)
  if condition then return yes() end
  return no()
end

-- A number with all its digits.
local function whole(number) return string.format("%.0f", number) end

-- Bytes before the first NUL of 16 bits, and whether there is one.
local function wide_length(tvb, at, length)
  local raw = tvb:raw(at, length)
  local found = raw:find("\0\0", 1, true)
  while found and found % 2 == 0 do found = raw:find("\0\0", found + 1, true) end
  if found then return found - 1, true end
  return length - length % 2, false
end

local function wide(tvb, at, length, be)
  if length == 0 then return "" end
  return be and tvb(at, length):ustring() or tvb(at, length):le_ustring()
end

local function narrow(tvb, at, length, page)
  local used = (tvb:raw(at, length):find("\0", 1, true) or length + 1) - 1
  if used == 0 then return "", 0 end
  return tvb(at, used):string(page == 1252 and ENC_WINDOWS_1252 or ENC_ISO_8859_1), used
end

-- winperf.h: the class of a counter type, and which texts are of single bytes.
local function is_text(kind) return bit.band(kind, 0xC00) == 0x800 end
local function is_ascii(kind) return bit.band(kind, 0x10000) ~= 0 end

local function number(range, length, be, signed)
  if length == 8 then
    if signed then return be and range:int64() or range:le_int64() end
    return be and range:uint64() or range:le_uint64()
  end
  if signed then return be and range:int() or range:le_int() end
  return be and range:uint() or range:le_uint()
end

-- 100 ns since 1601, as a time of Wireshark's.
local function filetime(value)
  local since = value - UInt64.new(0xD53E8000, 0x019DB1DE)
  local seconds = (since / 10000000):tonumber()
  local rest = (since % 10000000):tonumber()
  return NSTime.new(seconds, rest * 100)
end

local function read_int(f, kind, s, tree, be)
  local length, signed = tonumber(kind:sub(2)), kind:sub(1, 1) == "s"
  local at = take(f, s, tree, length)
  local range = s.tvb(at, length)
  local value = number(range, length, be, signed)
  local plain = length == 8 and value:tonumber() or value
  local item
  if tree then
    if f.meaning == "filetime" then
      item = tree:add(f.field, range, filetime(value))
    else
      item = tree:add(f.field, range, f.wide and length < 8 and UInt64.new(value) or value)
    end
    if f.special and f.special[plain] then item:append_text(" (" .. f.special[plain] .. ")") end
    if f.flags then
      local set = {}
      for _, flag in ipairs(f.flags) do
        if bit.band(plain, flag[1]) ~= 0 then set[#set + 1] = flag[2] end
      end
      item:append_text(" (" .. (#set > 0 and table.concat(set, " | ") or "none") .. ")")
    end
  end
  return plain, item
end

-- Bytes that are a text, a value, or nothing in particular.
local function read_bytes(f, o, s, tree, be, length, outer)
  local at = take(f, s, tree, length)
  local shown = outer or f
  local item
  if f.meaning == "v1-value" then
    local kind = o.definition.counter_type
    if tree and is_text(kind) then
      local text = is_ascii(kind) and narrow(s.tvb, at, length, 28591)
        or wide(s.tvb, at, (wide_length(s.tvb, at, length)), be)
      item = tree:add(f.text, s.tvb(at, length), text)
    elseif tree and (length == 4 or length == 8 or length == 2 or length == 1) then
      item = tree:add(f.field, s.tvb(at, length), length == 8 and number(s.tvb(at, 8), 8, be)
        or UInt64.new(number(s.tvb(at, length), length, be)))
    elseif tree then
      item = tree:add(f.raw, s.tvb(at, length))
    end
    if item then item:append_text(" (counter " .. o.definition.counter_name_title_index .. ")") end
  elseif f.meaning == "counter-value" then
    if tree and (length == 4 or length == 8) then
      item = tree:add(f.field, s.tvb(at, length), length == 8 and s.tvb(at, 8):le_uint64() or UInt64.new(s.tvb(at, 4):le_uint()))
    elseif tree and length > 0 then
      item = tree:add(f.text, s.tvb(at, length), wide(s.tvb, at, (wide_length(s.tvb, at, length)), false))
    end
  elseif shown.encoding and length > 0 then
    local page = shown.encoding == "code-page" and o._page or 0
    local text, used
    if page and page ~= 0 then
      text, used = narrow(s.tvb, at, length, page)
      used = math.min(used + 1, length)
    else
      local held = wide_length(s.tvb, at, length)
      text = wide(s.tvb, at, held, be and shown.encoding ~= "UTF-16LE")
      used = math.min(held + 2, length)
    end
    if tree then item = tree:add(shown.data or shown.field, s.tvb(at, used), text) end
  elseif tree and length > 0 and (outer or not f.filler) then
    item = tree:add(shown.data or shown.field, s.tvb(at, length))
  end
  if shown.payload and length > 0 then o._root._payload = { tvb = s.tvb, at = at, length = length, item = item, tree = tree } end
  return length == 0 and "" or s.tvb:raw(at, length), item
end

-- A text of 16-bit units with a NUL, which has to be there unless `eos` says otherwise.
local function read_strz(f, s, tree)
  local length, found = wide_length(s.tvb, s.at, s.stop - s.at)
  if s.at == s.stop and not f.eos then fail(tree, s, f.name .. ": no terminator before the end") end
  if not found and not f.eos then fail(tree, s, f.name .. ": no terminator before the end") end
  local at = s.at
  local used = length + (found and 2 or 0)
  s.at = at + used
  -- Strings may share bytes, but nothing else bounds how many offsets point at the same ones.
  s.text = (s.text or 0) + used
  if s.text > 8 * s:size() then fail(tree, s, string.format("%s: %.0f bytes of texts in %.0f", f.name, s.text, s:size())) end
  local text = wide(s.tvb, at, length, false)
  if tree and used > 0 then tree:add(f.field, s.tvb(at, used), text) end
  return text
end

local read_struct

local function read_typed(f, kind, args, o, s, tree, be, inner, index)
  local t = types[kind]
  if t.leaf then
    local at = take(f, s, tree, 16)
    local range = s.tvb(at, 16)
    if tree then
      if t.leaf == "guid" or not (args and args[1]) then tree:add_le(f.field, range) else tree:add(f.field, range) end
    end
    return range:bytes():tohex()
  end
  local node = tree
  if tree and not t.bare then
    node = tree:add(f.field, inner.tvb(inner.at, inner.stop - inner.at))
    if index then node:append_text(" [" .. index .. "]") end
  end
  local from = inner.at
  local ok, value = pcall(read_struct, t, inner, node, args, o, o._root, be, t.wraps and f or nil)
  if node and not t.bare and inner.at >= from and from < inner.stop then node:set_len(inner.at - from) end
  if not ok then error(value, 0) end
  if node and not t.bare and t.spelling == "SYSTEMTIME" then
    node:append_text(string.format(": %04d-%02d-%02d %02d:%02d:%02d.%03d UTC", value.year, value.month, value.day, value.hour,
      value.minute, value.second, value.milliseconds))
  end
  return value, node
end

local function read_one(f, o, s, tree, be, outer, index)
  local kind, args = f.kind, f.args
  if f.switch then
    local case = f.cases[f.switch(o)]
    if case then kind, args = case.kind, case.args else kind = nil end
  end
  local inner, length = s, nil
  if f.eos_size then length = s.stop - s.at elseif f.size then length = f.size(o) end
  if kind == "strz" and not length then return read_strz(f, s, tree) end
  if kind and kind:match("^[us]%d$") then return read_int(f, kind, s, tree, be) end
  if not kind or kind == "strz" then
    if not length then return nil end
    return read_bytes(f, o, s, tree, be, length, (f.id == "data" or f.id == "value") and outer or nil)
  end
  if length then
    local at = take(f, s, tree, length)
    inner = stream(s.tvb, at, at + length)
  end
  return read_typed(f, kind, args and args(o) or {}, o, s, tree, be, inner, index)
end

local function read_field(f, o, s, tree, be, outer)
  if f.condition and not f.condition(o) then return end
  if f["repeat"] then
    local list = {}
    o[f.id] = list
    local count = f.count and f.count(o)
    while not count or #list < count do
      if f["repeat"] == "eos" and s:eof() then break end
      o._index = #list
      local value = read_one(f, o, s, tree, be, outer, #list)
      list[#list + 1] = value
      o._ = value
      if f["until"] and f["until"](o) then break end
    end
    return
  end
  local value, item = read_one(f, o, s, tree, be, outer)
  o[f.id] = value
  if f.valid then
    o._ = value
    local problem = f.valid(o)
    if problem then fail(tree, s, f.name .. ": " .. problem, item) end
  end
end

-- A field with a position of its own. Where a structure is damaged, its damage stays in it.
local function read_later(f, o, s, tree, be)
  if f.condition and not f.condition(o) then return end
  local before = s.at
  local at = f.pos(o)
  if at < 0 or s.start + at > s.stop then fail(tree, s, string.format("%s: an offset of %.0f in %.0f bytes", f.name, at, s:size())) end
  s.at = s.start + at
  if f.kind and f.kind ~= "strz" then
    contained(function() o[f.id] = read_one(f, o, s, tree, be) end)
  else
    o[f.id] = read_one(f, o, s, tree, be)
  end
  s.at = before
end

read_struct = function(t, s, tree, args, parent, root, be, outer)
  local o = setmetatable({ _io = s, _parent = parent, _page = parent and parent._page }, t.meta)
  o._root = root or o
  for at, name in ipairs(t.params) do o[name] = args[at] end
  if t.endian then be = t.endian(o) end
  if t.check then
    local problem = t.check(o)
    if problem then fail(tree, s, problem) end
  end
  local ok = contained(function()
    for _, f in ipairs(t.seq) do
      read_field(f, o, s, tree, be, outer)
      if t.page == f.id then o._page = o[f.id] end
    end
  end)
  if ok then
    for _, f in ipairs(t.later) do read_later(f, o, s, tree, be) end
    return o
  end
  -- What lies in bytes that were reached is there all the same; it may depend on fields that were not.
  if t.holder and o[t.holder] then
    for _, f in ipairs(t.later) do pcall(read_later, f, o, s, tree, be) end
  end
  error(DAMAGE, 0)
end

-- The metatables: numbers that a description computes are computed when first asked for.
for _, t in pairs(types) do
  local values = t.values
  t.meta = {
    __index = function(o, name)
      local value = values[name]
      if not value then return nil end
      local found = value(o)
      rawset(o, name, found)
      return found
    end,
  }
end

-- Counters may share bytes, but nothing else bounds how many point at the same ones.
types["winperf.counter_values"].check = function(o)
  local wanted = 0
  for _, definition in ipairs(o.definitions) do wanted = wanted + definition.counter_size end
  if wanted > 8 * (o._io:size() + 4) then return wanted .. " bytes of values in a counter block of " .. (o._io:size() + 4) end
end

local function u4(tvb, at) return tvb(at, 4):le_uint() end

-- How many offsets of a table of strings, counted from `base`, lead to where the headers or a string have just ended.
local function leading(tvb, start, stop, head, count, base)
  local found = 0
  for index = 0, count - 1 do
    local offset = u4(tvb, start + 12 + 8 * index)
    local at = base + offset
    if offset ~= 0xFFFFFFFF and start + at + 2 <= stop then
      if at == head or (at > head and at % 2 == 0 and tvb:raw(start + at - 2, 2) == "\0\0") then found = found + 1 end
    end
  end
  return found
end

-- What the offsets of a table of strings count from: the end of the headers where more of them fit, else the start of the block.
local function string_base(tvb, start, stop)
  if stop - start < 8 then return 0 end
  local count = u4(tvb, start + 4)
  local head = 8 + 8 * count
  if start + head > stop then return math.min(head, 0xFFFFFFFF) end
  local from_start, from_end = leading(tvb, start, stop, head, count, 0), leading(tvb, start, stop, head, count, head)
  return from_end > from_start and head or 0
end

-- Where `count` values that begin at `at` end; nil where they do not fit.
local function values_end(tvb, at, stop, count)
  for _ = 1, count do
    if at + 8 > stop then return nil end
    local held, size = u4(tvb, at), u4(tvb, at + 4)
    if size < 8 + held or at + size > stop then return nil end
    at = at + size
  end
  return at
end

-- Bytes left when the values of a block are read from `at` on; nil where they cannot be.
local function left_over(tvb, at, stop, kind, count)
  if kind == 2 then
    local finish = values_end(tvb, at, stop, count)
    return finish and stop - finish
  end
  if at + 8 > stop then return nil end
  local place = at + 8
  for _ = 1, u4(tvb, at + 4) do
    if not place or place + 8 > stop then return nil end
    local size = u4(tvb, place)
    if size < 8 or place + size > stop then return nil end
    place = values_end(tvb, place + size, stop, count)
  end
  return place and stop - place
end

local function padding(tvb, start, from, stop, kind)
  local size, count = u4(tvb, from), u4(tvb, from + 4)
  local after = from + size
  if (size % 8 == 0 and (after - start) % 8 == 0) or size < 8 or after > stop then return 0 end
  local as_stated = left_over(tvb, after, stop, kind, count)
  if as_stated == 0 then return 0 end
  local padded = left_over(tvb, after + 4, stop, kind, count)
  if padded == 0 then return 4 end
  if as_stated and as_stated < 8 then return 0 end
  return padded and padded < 8 and 4 or 0
end

-- For each block of performance data, the bytes behind the ids of its counters that no size counts.
local function paddings(tvb, start, stop)
  local found = {}
  if stop - start < 48 then return found end
  local at = start + 48
  for _ = 1, u4(tvb, start + 4) do
    if at + 16 > stop then break end
    local kind, size = u4(tvb, at + 4), u4(tvb, at + 8)
    if size < 16 or at + size > stop then break end
    local odd = (kind == 2 or kind == 6) and size >= 24
    found[#found + 1] = odd and padding(tvb, start, at + 16, at + size, kind) or 0
    at = at + size
  end
  return found
end

-- Reads a whole buffer of a kind below `tree`.
local function read_buffer(kind, tvb, at, length, tree, be)
  local args = {}
  if kind == "ms_pcq_perf_data" then
    args = { paddings(tvb, at, at + length) }
  elseif kind == "ms_pcq_string_table" then
    args = { string_base(tvb, at, at + length) }
  elseif kind == "ms_pcq_guid_list" then
    args = { be }
  elseif kind == "winperf" then
    local raw = tvb:raw(at, math.min(12, length))
    args = { raw:sub(1, 1) == "\0" or raw:sub(9, 12) == "\0\0\0\0" }
  end
  contained(read_struct, types[kind], stream(tvb, at, at + length), tree, args, nil, nil, false)
end

-- What is known of a conversation: what was bound in which frame, and what each call asked for. Wireshark shows frames again in any
-- order, so that everything is noted with its frame.
local known = {}

local function noted(key, name, frame, value)
  known[key] = known[key] or {}
  known[key][name] = known[key][name] or {}
  local list = known[key][name]
  if #list == 0 or list[#list].frame < frame then list[#list + 1] = { frame = frame, value = value } end
end

local function found(key, name, frame)
  local list = (known[key] or {})[name] or {}
  for at = #list, 1, -1 do
    if list[at].frame <= frame then return list[at].value end
  end
end

-- The first 32 bits of UUIDs: of a transfer syntax, and of two interfaces.
local NDR64 = 0x71710533
local PERFLIB, WINREG = 0xda5a86c5, 0x338cd001
local KNOWN = { [NDR64] = true, [PERFLIB] = true, [WINREG] = true }

-- The first 32 bits of a UUID, nil where they were not captured. Wireshark shows names in place of those it knows.
local function first_of(info)
  if info.len < 4 then return nil end
  local range = info.range(0, 4)
  local value = range:le_uint()
  return KNOWN[value] and value or range:uint()
end

local seen = {}
for _, name in ipairs({
  "dcerpc.ver", "dcerpc.pkt_type", "dcerpc.cn_call_id", "dcerpc.cn_ctx_id", "dcerpc.opnum", "dcerpc.drep.byteorder",
  "dcerpc.cn_bind_to_uuid", "dcerpc.cn_ack_result", "dcerpc.cn_ack_trans_id", "dcerpc.stub_data", "dcerpc.decrypted_stub_data",
  "winreg", "smb2.fid", "smb.fid", "smb2.response_to", "smb.response_to",
  "dcerpc.cn_flags", "dcerpc.fragments",
}) do
  seen[name] = Field.new(name)
end

-- The pipe that each frame's request of SMB is about: answers do not state it, only which request they answer.
local pipes = {}

-- The PDUs of a frame with their fields, in order.
local function pdus(frame)
  local list, fid = {}, ""
  for _, info in ipairs({ all_field_infos() }) do
    local name = info.name
    if name == "smb2.fid" or name == "smb.fid" then
      fid = info.display
      pipes[frame] = fid
    elseif name == "smb2.response_to" or name == "smb.response_to" then
      fid = pipes[info.value] or fid
    elseif name == "dcerpc.ver" then
      list[#list + 1] = { fid = fid, contexts = {}, results = {} }
    elseif seen[name] and #list > 0 then
      local pdu = list[#list]
      if name == "dcerpc.cn_ctx_id" then
        pdu.context = info.value
      elseif name == "dcerpc.cn_bind_to_uuid" and pdu.context then
        pdu.contexts[#pdu.contexts + 1] = { id = pdu.context, uuid = first_of(info) }
      elseif name == "dcerpc.cn_ack_result" then
        pdu.results[#pdu.results + 1] = { result = info.value }
      elseif name == "dcerpc.cn_ack_trans_id" and #pdu.results > 0 then
        pdu.results[#pdu.results].syntax = first_of(info)
      elseif name == "dcerpc.stub_data" or name == "dcerpc.decrypted_stub_data" or name == "winreg" then
        pdu.stub = info
      elseif name == "dcerpc.fragments" then
        pdu.is_joined = true
      else
        pdu[name] = info.value
      end
    end
  end
  return list
end

local BY_CODE = {
  [1] = "ms_pcq_counterset_info", [2] = "ms_pcq_counter_info", [3] = "ms_pcq_string", [4] = "ms_pcq_string",
  [5] = "ms_pcq_string_table", [6] = "ms_pcq_string_table", [7] = "ms_pcq_string", [8] = "ms_pcq_provider_guid",
  [9] = "ms_pcq_string", [10] = "ms_pcq_string_table",
}
local BY_OPNUM = {
  [0] = "ms_pcq_guid_list", [2] = "ms_pcq_instance_list", [5] = "ms_pcq_identifier_list", [6] = "ms_pcq_perf_data",
  [7] = "ms_pcq_identifier_list",
}

-- The bytes of a stub, as far as they were captured.
local function stream_of(info)
  local tvb, at = info.source, info.offset
  return stream(tvb, at, math.min(at + info.len, tvb:len()))
end

-- A stub with what it carries. `call` is what the request of a response asked for.
local function read_perflib(pdu, is_response, call, tree, ndr64, be)
  local s = stream_of(pdu.stub)
  local opnum = pdu["dcerpc.opnum"]
  local node = tree:add(pcq, s.tvb(s.at, s:size()))
  if not opnum then
    node:append_text(", response to a request that was not captured")
    return {}
  end
  node:append_text(", " .. (methods[opnum] or ("opnum " .. tostring(opnum))) .. (is_response and " response" or " request"))
  node:add(fields["pcq.opnum"], opnum):set_generated()
  if not methods[opnum] then return {} end
  local root = { _io = s, opnum = opnum, is_response = is_response, ndr64 = ndr64, big_endian = be, has_referent = false }
  root._root = root
  local side = is_response and stubs.response[opnum] or stubs.request[opnum]
  local asked, status = {}, nil
  contained(function()
    local o = read_struct(types[side], s, node, {}, root, root, be)
    asked, status = { code = o.request_code }, o.status
  end)
  local payload = root._payload
  local kind = BY_OPNUM[opnum]
  if opnum == 1 then kind = call and BY_CODE[call.code] end
  -- What comes with an error is not laid out as an answer is.
  if payload and kind and (status or 0) == 0 then
    read_buffer(kind, payload.tvb, payload.at, payload.length, payload.item or node, be)
  end
  return asked
end

local SIGNATURES = { ["P\0E\0R\0F\0"] = true, ["\0P\0E\0R\0F"] = true }
local QUERY_VALUE, ENUM_VALUE = 17, 10

-- Wireshark shows the stubs of winreg by itself; what of them is performance data stands below a tree of ours.
local function read_winreg(pdu, is_response, call, tree, ndr64, be)
  local opnum = pdu["dcerpc.opnum"]
  if opnum ~= QUERY_VALUE and opnum ~= ENUM_VALUE then return {} end
  local s = stream_of(pdu.stub)
  local root = { _io = s, opnum = opnum, is_response = is_response, ndr64 = ndr64, big_endian = be }
  root._root = root
  local side = is_response and winreg_stubs.response[opnum] or winreg_stubs.request[opnum]
  local o
  contained(function() o = read_struct(types[side], s, nil, {}, root, root, be) end)
  local named = o and (o.value_name_out or o.value_name)
  local name = named and named.string and named.string.data
  local word = name and name:gsub("%z", ""):lower() or (call and call.name) or ""
  if not is_response then return { name = word } end
  local payload = root._payload
  if not payload then return {} end
  local kind
  if SIGNATURES[payload.tvb:raw(payload.at, math.min(8, payload.length))] then
    kind = "winperf"
  elseif o and o.status == 0 and (word:match("^counter %S+$") or word:match("^help %S+$") or word:match("^explain %S+$")) then
    kind = "name_table"
  end
  if kind then
    local node = tree:add(winperf, payload.tvb(payload.at, payload.length))
    read_buffer(kind, payload.tvb, payload.at, payload.length, node, be)
  end
  return {}
end

-- Packet types of connection-oriented DCERPC.
local REQUEST, RESPONSE, BIND, BIND_ACK, ALTER, ALTER_ACK = 0, 2, 11, 12, 14, 15

-- Whether the stub of a PDU is all of it: Wireshark joins the fragments in the last one.
local function is_whole(pdu)
  local flags = pdu["dcerpc.cn_flags"] or 0
  return bit.band(flags, 3) == 3 or (bit.band(flags, 2) == 2 and pdu.is_joined)
end

function pcq.dissector(_, pinfo, tree)
  if not seen["dcerpc.pkt_type"]() then
    local fid = seen["smb2.fid"]() or seen["smb.fid"]()
    if fid then pipes[pinfo.number] = fid.display end
    return
  end
  local here, there = tostring(pinfo.src) .. "|" .. pinfo.src_port, tostring(pinfo.dst) .. "|" .. pinfo.dst_port
  local ends = here < there and here .. "|" .. there or there .. "|" .. here
  local frame = pinfo.number
  for _, pdu in ipairs(pdus(frame)) do
    local key = ends .. "|" .. pdu.fid
    local kind = pdu["dcerpc.pkt_type"]
    local call_id = tostring(pdu["dcerpc.cn_call_id"])
    if kind == BIND or kind == ALTER then
      noted(key, "offer " .. call_id, frame, pdu.contexts)
      for _, context in ipairs(pdu.contexts) do noted(key, "context " .. context.id, frame, { uuid = context.uuid }) end
    elseif kind == BIND_ACK or kind == ALTER_ACK then
      for at, context in ipairs(found(key, "offer " .. call_id, frame) or {}) do
        local result = pdu.results[at]
        if result and result.result == 0 then
          noted(key, "context " .. context.id, frame, { uuid = context.uuid, ndr64 = result.syntax == NDR64 })
        end
      end
    elseif (kind == REQUEST or kind == RESPONSE) and pdu.stub and pdu.context and is_whole(pdu) then
      local context = found(key, "context " .. pdu.context, frame)
      local is_response = kind == RESPONSE
      local call = is_response and found(key, "call " .. call_id, frame) or nil
      local be = pdu["dcerpc.drep.byteorder"] == 0
      local asked
      if context and context.uuid == PERFLIB then
        asked = read_perflib(pdu, is_response, call, tree, context.ndr64 == true, be)
      elseif context and context.uuid == WINREG then
        asked = read_winreg(pdu, is_response, call, tree, context.ndr64 == true, be)
      end
      if asked and not is_response then noted(key, "call " .. call_id, frame, asked) end
    end
  end
end

register_postdissector(pcq)
