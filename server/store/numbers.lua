-- A segment's numbers, all of the same moment. Begins with state.lua.
-- Reply {units left, units ordered, orders}, or {"damaged <key>"}
if denied then return denied end
if damaged then return {damaged} end
return {left, sold, number}
