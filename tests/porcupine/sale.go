package main

// The model of one sale: a counter of units, orders by request, and a ledger.
//
// It states: a request gets one order, at one moment between a call and its answer; that order takes
// its units from the stock (of its segment), never more than there are, and never lets a user pass
// the limit; what is told of it (number, units left, fence, user, quantity, item, sale, and for how
// long it is reserved) is what it is, then and later, at every instance; where there are fences, each order has one, and they never fall; "sold out" and "limit reached" are right when they are
// said; a final no stays a no; a reservation is confirmed, cancelled or expired once, and the last
// two give its units back; at rest the ledger has these orders and no others, and the stock is what
// they leave.
//
// It does not state: that anything ends, heals, or happens in time (but that no reservation expires
// early, where no fault moves clocks); what headers say; who held a lock; what is left behind; and
// of a sharded sale what a reading of the whole stock says, which is not of one moment.

import (
	"hash/maphash"

	"github.com/anishathalye/porcupine"
)

const segmentsMax = 16

// What became of a request.
const (
	none = iota
	void // there never will be an order
	reserved
	sold
	cancelled
	expired // its units are back
)

// What is known of an order.
type order struct {
	segment, number, remaining, fence int64
	user, epoch                       string
	quantity                          int64
}

// What a request has become. Of one that has an order, what was told of that.
type slot struct {
	phase uint8
	order uint16 // an index into sale.orders
}

type saleState struct {
	left, number, fence [segmentsMax]int64
	slots               string // of slot, one a request that may have an order
	closed              bool
}

type saleKind int

const (
	buyTold      saleKind = iota // 201
	buyMaybe                     // not answered, and in the ledger
	soldOut                      // 409
	limitReached                 // 409
	noOrder                      // 404 of a look, or a final no: becomes void
	lookFound                    // 200
	confirmTold                  // 200
	cancelTold                   // 200
	phaseTold                    // an ending was refused: it is already ...
	expiry                       // the units of all that end at one time go back
	saleClosed                   // 409
	stockTold                    // a reading
	ledgerRead                   // at rest
	impossible                   // what nothing allows, whatever came before (sale_history.go)
)

type saleOp struct {
	kind     saleKind
	request  int // of the slots; -1: one that never has an order
	order    uint16
	user     string
	quantity int64
	phase    uint8
	final    bool
	units    int64
	slots    []slot             // of the ledger
	from     int64              // when it was asked: of limitReached
	ends     []int              // requests whose reservations end together ...
	before   []int              // ... and the one or more that ended before them
	rest     [segmentsMax]int64 // left there; unknown: not known
	line     int
}

// The terms, and the orders that anybody was told of.
type sale struct {
	stock    [segmentsMax]int64
	segments int
	limit    int64
	guarded  bool
	fences   int64 // 1: each order has one, 0: none has, unknown
	reserves bool
	orders   []order
	byUser   map[string][]int // slots
	over     map[int]int64    // of slots: from here on a reservation surely does not count; none: not known
	slotsLen int
	seed     maphash.Seed
}

const slotSize = 3 // bytes

func (s *saleState) slot(i int) slot {
	at := s.slots[i*slotSize:]
	return slot{at[0], uint16(at[1]) | uint16(at[2])<<8}
}

func (s *saleState) with(i int, to slot) {
	b := []byte(s.slots)
	copy(b[i*slotSize:], []byte{to.phase, byte(to.order), byte(to.order >> 8)})
	s.slots = string(b)
}

func has(phase uint8) bool { return phase >= reserved }

// Units that count for the limit of a user, for who asks from then on. A reservation that is over does not,
// even before its units are back.
func (m *sale) unitsOf(s *saleState, user string, from int64) (units int64) {
	for _, i := range m.byUser[user] {
		it := s.slot(i)
		over, isKnown := m.over[i]
		if it.phase == sold || it.phase == reserved && !(isKnown && over < from) {
			units += m.orders[it.order].quantity
		}
	}
	return units
}

func (m *sale) create(s *saleState, op *saleOp) bool {
	o := m.orders[op.order]
	k := o.segment
	if s.closed || s.left[k]-o.quantity != o.remaining || o.remaining < 0 ||
		(m.limit > 0 && m.unitsOf(s, o.user, 0)+o.quantity > m.limit) {
		return false
	}
	if m.fences == 1 && o.fence < max(1, s.fence[k]) || m.fences == 0 && o.fence > 0 ||
		m.guarded && o.number != s.number[k]+1 {
		return false
	}
	s.left[k], s.number[k], s.fence[k] = o.remaining, o.number, o.fence
	s.with(op.request, slot{op.phase, op.order})
	return true
}

func (m *sale) giveBack(s *saleState, request int, phase uint8) {
	it := s.slot(request)
	o := m.orders[it.order]
	s.left[o.segment] += o.quantity
	s.with(request, slot{phase, it.order})
}

// Reservations that end together end as one, and those that ended earlier did so before.
func (m *sale) expire(s *saleState, op *saleOp) bool {
	for _, i := range op.before {
		if s.slot(i).phase != expired {
			return false
		}
	}
	for _, i := range op.ends {
		if s.slot(i).phase != reserved {
			return false
		}
		m.giveBack(s, i, expired)
	}
	return true
}

// Whether no segment has so many. Stock only falls, unless it is reserved: then a buyer of a sharded
// sale, who asks one segment after the other, has not seen all of them at one moment.
func (m *sale) isOut(s *saleState, quantity int64) bool {
	for k := 0; k < m.segments; k++ {
		if s.left[k] >= quantity {
			return m.segments > 1 && m.reserves
		}
	}
	return true
}

func (m *sale) isLedger(s *saleState, op *saleOp) bool {
	for i, want := range op.slots {
		it := s.slot(i)
		if has(want.phase) != has(it.phase) || (has(want.phase) && want != it) {
			return false
		}
	}
	for k := 0; k < m.segments; k++ {
		if op.rest[k] != unknown && op.rest[k] != s.left[k] {
			return false
		}
	}
	return true
}

func (op *saleOp) at() int { return op.line }

// Whether the operation can happen in this state, which it changes.
func (m *sale) step(s *saleState, op *saleOp) bool {
	var it slot
	if op.request >= 0 {
		it = s.slot(op.request)
	}
	same := has(it.phase) && it.order == op.order
	switch op.kind {
	case buyTold:
		return it.phase == none && m.create(s, op) || same
	case buyMaybe:
		return it.phase == none && m.create(s, op) || has(it.phase)
	case soldOut:
		return !has(it.phase) && m.isOut(s, op.quantity)
	case limitReached:
		return !has(it.phase) && m.limit > 0 && m.unitsOf(s, op.user, op.from)+op.quantity > m.limit
	case noOrder:
		if op.final && op.request >= 0 && it.phase == none {
			s.with(op.request, slot{phase: void})
		}
		return !has(it.phase)
	case lookFound:
		return same && (it.phase == op.phase || op.phase == expired && it.phase == reserved)
	case confirmTold:
		if same && it.phase == reserved {
			s.with(op.request, slot{sold, it.order})
		}
		return same && (it.phase == reserved || it.phase == sold)
	case cancelTold:
		if same && it.phase == reserved {
			m.giveBack(s, op.request, cancelled)
		}
		return same && (it.phase == reserved || it.phase == cancelled)
	case phaseTold:
		return it.phase == op.phase || op.phase == expired && it.phase == reserved
	case expiry:
		return m.expire(s, op)
	case saleClosed:
		s.closed = true
		return !has(it.phase)
	case stockTold:
		return s.left[0] == op.quantity && (op.units == unknown || m.stock[0]-s.left[0] == op.units)
	case ledgerRead:
		return m.isLedger(s, op)
	}
	return false
}

func (m *sale) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			return saleState{left: m.stock, slots: string(make([]byte, slotSize*m.slotsLen))}
		},
		Step: func(state, input, _ any) (bool, any) {
			s := state.(saleState)
			return m.step(&s, input.(*saleOp)), s
		},
		Hash: func(state any) uint64 {
			s := state.(saleState)
			return maphash.String(m.seed, s.slots) ^ uint64(s.left[0])
		},
	}
}
