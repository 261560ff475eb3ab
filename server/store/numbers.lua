-- A segment's numbers, all of the same moment. Begins with state.lua.
-- Reply {units left, units ordered, orders}, {} when something of the sale is missing
if damaged or not left then return {} end
return {left, sold, number}
