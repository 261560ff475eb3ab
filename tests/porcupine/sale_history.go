package main

// Reads the history of a sale (loadtest/history/format.h) into operations.
//
// The ledger is read at rest, and the model forgets no order. So what became of a buy without an
// answer need not be guessed: one that is in the ledger was made before that was read, as it stands
// there; one that is not took no effect, and is left out. So it is with a confirm or a cancel whose order
// is sold or cancelled in the end, or is not.
//
// What contradicts the ledger in itself (an order that was told and is not there, or is another one; a sum
// at rest that its orders do not leave) becomes an operation that nothing allows, before all others. The
// model would refuse it, too, but only with the ledger, the last operation of all: a search that has to
// come there in every order does not end.

import (
	"bufio"
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	unknown  = math.MinInt64 // a number that was not told
	never    = math.MaxInt64 / 2
	cutOff   = "it was cut off"
	noLedger = "the ledger was not read"
	bucketUs = 100000 // to which the end of a reservation is rounded up
	lateUs   = 200000 // behind it, it is surely over
)

type line struct {
	word    string
	members map[string]string
	number  int
}

// A member's number; unknown: not told, or not as a number.
func (l *line) num(name string) int64 {
	n, err := strconv.ParseInt(l.members[name], 10, 64)
	if err != nil {
		return unknown
	}
	return n
}

func (l *line) text(name string) string {
	if l.members[name] == "-" {
		return ""
	}
	return l.members[name]
}

func readLines(from io.Reader) (lines []line, err error) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		words := strings.Fields(in.Text())
		if n == 1 && in.Text() != "flashsale-history 2" {
			return nil, fmt.Errorf("not a history of version 2")
		}
		if n == 1 || len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := line{words[0], make(map[string]string, len(words)), n}
		for _, word := range words[1:] {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("line %d: %q", n, word)
			}
			l.members[name] = value
		}
		lines = append(lines, l)
	}
	return lines, in.Err()
}

type saleReader struct {
	sale
	id, item string
	reserve  int64
	wrong    []saleOp // what contradicts the ledger, and is no answer
	moved    bool     // a fault may have moved clocks
	sameRun  bool     // nothing fails over, so a segment has one epoch ...
	epochs   map[int64]string
	requests map[string]int // slots
	ids      map[order]uint16
	first    map[int]int64 // when a request was first asked for
	atOnce   map[string]*atOnce
	known    map[int]int64 // when somebody was first told of its order
	lasts    map[int]int64 // for how long it reserves, if not as the sale says
	ledger   []slot
	lines    map[int]int   // where the order of a request stands
	made     map[int]int64 // when the order of a request was made, by the ledger
	ends     map[int]int64 // when the reservation of a request ends, by the ledger
	last     int64         // of all times that were written down
	ops      []porcupine.Operation
}

// A confirm without an answer that was sent no later than the buy, of an order that nobody saw reserved: no
// operation can tell whether it was sold at once. So it is, which spares the search all orders of such confirms.
type atOnce struct {
	asked, confirmed int64
	sawReserved      bool
}

func (r *saleReader) noteAtOnce(l *line) {
	it := r.atOnce[l.text("request")]
	if it == nil {
		it = &atOnce{asked: never, confirmed: never}
		r.atOnce[l.text("request")] = it
	}
	switch {
	case l.word == "ask":
		it.asked = min(it.asked, l.num("from"))
	case l.word == "confirm" && isUnknown(l):
		it.confirmed = min(it.confirmed, l.num("from"))
	}
	it.sawReserved = it.sawReserved || l.text("state") == "reserved"
}

func (r *saleReader) isSoldAtOnce(l *line, there slot) bool {
	it := r.atOnce[l.text("request")]
	return there.phase == sold && it != nil && it.confirmed <= it.asked && it.asked < never && !it.sawReserved
}

var phases = map[string]uint8{"reserved": reserved, "sold": sold, "cancelled": cancelled, "expired": expired}

// sold: nothing else was told.
func phaseOf(l *line) uint8 {
	if state := l.text("state"); state != "" {
		return phases[state]
	}
	return sold
}

// Its segment, epoch and number: SALE-[SEGMENT-][EPOCH-]NUMBER. Numbers below 0: of another sale.
func (r *saleReader) place(id string) (segment int64, epoch string, number int64) {
	rest, ours := strings.CutPrefix(id, r.id+"-")
	parts := strings.Split(rest, "-")
	number, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if !ours || err != nil {
		return 0, "", -1
	}
	if r.segments > 1 {
		segment, err = strconv.ParseInt(parts[0], 10, 64)
		if err != nil || segment < 0 || segment >= int64(r.segments) {
			return 0, "", -1
		}
		parts = parts[1:]
	}
	if len(parts) > 1 {
		epoch = parts[len(parts)-2]
	}
	return segment, epoch, number
}

func (r *saleReader) know(o order) uint16 {
	at, known := r.ids[o]
	if !known {
		at = uint16(len(r.orders))
		r.ids[o] = at
		r.orders = append(r.orders, o)
	}
	return at
}

// The slot of a request; makes one if it has an order.
func (r *saleReader) slotOf(request string, hasOrder bool) int {
	at, known := r.requests[request]
	if !known && !hasOrder {
		return -1
	}
	if !known {
		at = r.slotsLen
		r.requests[request] = at
		r.slotsLen++
	}
	return at
}

func (r *saleReader) add(from, to int64, op saleOp) {
	r.ops = append(r.ops, porcupine.Operation{Input: &op, Call: from, Return: to})
	r.last = max(r.last, from)
	if to < never {
		r.last = max(r.last, to)
	}
}

func (r *saleReader) readSale(l *line) error {
	r.id, r.item = l.text("id"), l.text("item")
	r.limit, r.segments = l.num("limit"), max(1, int(l.num("segments")))
	r.guarded, r.fences = l.num("guarded") == 1, l.num("fences")
	r.reserve, r.sameRun = l.num("reserve_us"), l.num("failovers") == 0
	r.reserves = r.reserve > 0
	stock := l.num("stock")
	if r.segments > segmentsMax || stock < 0 {
		return fmt.Errorf("line %d: a stock of %d in %d segments", l.number, stock, r.segments)
	}
	for k := range r.segments { // the first ones have one more
		r.stock[k] = (stock + int64(r.segments-1-k)) / int64(r.segments)
	}
	return nil
}

// ---- the ledger ---------------------------------------------------------------------------------

func (r *saleReader) readOrder(l *line) {
	segment, epoch, number := max(0, l.num("segment")), "", l.num("number")
	if number == unknown {
		segment, epoch, number = r.place(l.text("order"))
	}
	if first, known := r.epochs[segment]; !known {
		r.epochs[segment] = epoch
	} else if r.sameRun && epoch != first {
		r.wrong = append(r.wrong, saleOp{kind: impossible, request: -1, line: l.number})
	}
	o := r.know(order{segment: segment, number: number, remaining: l.num("remaining"), fence: l.num("fence"),
		user: l.text("user"), epoch: epoch, quantity: l.num("quantity")})
	at := r.slotOf(l.text("request"), true)
	for len(r.ledger) <= at {
		r.ledger = append(r.ledger, slot{})
	}
	if has(r.ledger[at].phase) {
		r.wrong = append(r.wrong, saleOp{kind: impossible, request: -1, line: l.number}) // there twice
	}
	r.ledger[at] = slot{phaseOf(l), o}
	r.made[at], r.ends[at], r.lines[at] = l.num("time_us"), l.num("expires_us"), l.number
	r.byUser[l.text("user")] = append(r.byUser[l.text("user")], at)
}

func (r *saleReader) inLedger(request int) slot {
	if request < 0 || request >= len(r.ledger) {
		return slot{}
	}
	return r.ledger[request]
}

// ---- what was asked and told --------------------------------------------------------------------

func isUnknown(l *line) bool {
	status, code := l.num("status"), l.text("code")
	switch {
	case status == 0:
		return l.members["sent"] != "0"
	case code == "unknown", status == 408, status == 499:
		return true
	}
	strange := l.word == "ask" && status >= 100 && status < 400 && status != 201 // nothing that a buy is told
	return strange || status >= 500 && (status != 503 || code == "")
}

func (r *saleReader) end(l *line) int64 {
	if to := l.num("to"); to != unknown {
		return to
	}
	return never
}

// What an answer says of the order of a request. What it does not say, it can not say wrongly: that is as
// it was asked for, and then as the ledger has it.
func (r *saleReader) told(l *line, request int, user string, quantity int64) (o order) {
	if first, isKnown := r.known[request]; !isKnown || r.end(l) < first {
		r.known[request] = r.end(l)
	}
	o = order{remaining: l.num("remaining"), fence: l.num("fence"), user: user, quantity: quantity}
	o.segment, o.epoch, o.number = r.place(l.text("order"))
	if told := l.text("told_user"); told != "" {
		o.user = told
	}
	if _, told := l.members["told_quantity"]; told && l.text("told_quantity") != "" {
		o.quantity = l.num("told_quantity")
	}
	if it := r.inLedger(request); has(it.phase) {
		there := r.orders[it.order]
		for _, at := range []struct{ told, there *int64 }{{&o.remaining, &there.remaining},
			{&o.fence, &there.fence}, {&o.quantity, &there.quantity}} {
			if *at.told == unknown {
				*at.told = *at.there
			}
		}
		if o.user == "" {
			o.user = there.user
		}
		if there.epoch == "" { // of a ledger that does not tell it
			o.epoch = ""
		}
	}
	return o
}

// Whether an answer is about another order than was asked for, as far as it says so.
func (r *saleReader) isOther(l *line, at int, o *order, user string, quantity int64) bool {
	request := l.text("told_request")
	if ends := l.num("expires_us"); ends != unknown && has(r.inLedger(at).phase) && ends != r.ends[at] {
		return true
	}
	return o.number < 0 || request != "" && request != l.text("request") || user != "" && o.user != user ||
		quantity != unknown && o.quantity != quantity || tellsOther(l, "sale", r.id) || tellsOther(l, "told_item", r.item)
}

// Whether it names an order, and another than this one.
func (r *saleReader) namesOther(l *line, o order) bool {
	id := l.text("order")
	segment, epoch, number := r.place(id)
	return id != "" && id != "?" &&
		(segment != o.segment || number != o.number || o.epoch != "" && epoch != o.epoch)
}

// Whether it is told, and as something else.
func tellsOther(l *line, name, as string) bool {
	told := l.text(name)
	return told != "" && told != "?" && told != as
}

// Whether the order is reserved for another time than was asked for, by when it was made and when it ends.
func (r *saleReader) lastsOther(at int, asked int64) bool {
	made, ends := r.made[at], r.ends[at]
	if !r.reserves || !has(r.inLedger(at).phase) || made == unknown || ends == unknown {
		return false
	}
	if asked == unknown {
		asked = r.reserve
	}
	return ends != (made+asked+bucketUs-1)/bucketUs*bucketUs
}

func (r *saleReader) readAsk(l *line) {
	if _, other := l.members["asked"]; other {
		return // it is about another sale, or about none
	}
	from, to, user, quantity := l.num("from"), r.end(l), l.text("user"), l.num("quantity")
	if quantity == unknown {
		quantity = 1
	}
	at := r.slotOf(l.text("request"), l.num("status") == 201)
	op := saleOp{request: at, user: user, quantity: quantity, from: from, line: l.number}
	if first, asked := r.first[at]; !asked || from < first {
		r.first[at] = from
	}
	if own := l.num("reserve_us"); own != unknown {
		r.lasts[at] = own
	}
	if isUnknown(l) {
		it := r.inLedger(at)
		if l.num("status")/100 == 2 && has(it.phase) && r.namesOther(l, r.orders[it.order]) {
			op.kind = impossible // it is no yes, but it names another order
			r.add(from, to, op)
			return
		}
		if o := it.order; has(it.phase) && r.orders[o].user == user && r.orders[o].quantity == quantity {
			op.kind, op.order, op.phase = buyMaybe, it.order, r.firstPhase(it.phase)
			if r.isSoldAtOnce(l, it) {
				op.phase = sold
			}
			r.add(from, never, op)
		}
		return
	}
	switch l.text("code") {
	case "sold_out":
		op.kind = soldOut
	case "limit_reached":
		op.kind = limitReached
	case "sale_closed":
		op.kind = saleClosed
	case "quantity_above_limit":
		if r.limit > 0 && quantity > r.limit {
			return
		}
		op.kind = impossible
	case "request_void":
		op.kind, op.final = noOrder, true
	default:
		if l.num("status") != 201 {
			return // nothing was done, and nothing is said about the sale
		}
		o := r.told(l, at, user, quantity)
		op.kind, op.order, op.phase = buyTold, r.know(o), phaseOf(l)
		if op.phase != reserved {
			op.phase = sold
		}
		if r.isOther(l, at, &o, user, quantity) || r.lastsOther(at, l.num("reserve_us")) {
			op.kind = impossible
		}
		r.byUser[user] = append(r.byUser[user], at)
	}
	r.add(from, to, op)
}

func (r *saleReader) firstPhase(last uint8) uint8 {
	if r.reserves {
		return reserved
	}
	return last
}

var endings = map[string]saleKind{"look": lookFound, "confirm": confirmTold, "cancel": cancelTold}
var endedAs = map[string]uint8{"confirm": sold, "cancel": cancelled}

func (r *saleReader) readLook(l *line) {
	if _, other := l.members["asked"]; other {
		return
	}
	status, code := l.num("status"), l.text("code")
	at := r.slotOf(l.text("request"), status == 200)
	op := saleOp{request: at, line: l.number}
	switch {
	case isUnknown(l) && l.word != "look": // as it would have been answered, whenever it was done
		if it := r.inLedger(at); it.phase == endedAs[l.word] && !r.isSoldAtOnce(l, it) {
			op.kind, op.order = endings[l.word], it.order
			r.add(l.num("from"), never, op)
		}
		return
	case status == 200:
		o := r.told(l, at, "", unknown)
		op.kind = endings[l.word]
		op.order, op.phase = r.know(o), phaseOf(l)
		if wanted := endedAs[l.word]; r.isOther(l, at, &o, "", unknown) || wanted != none && op.phase != wanted {
			op.kind = impossible
		}
	case status == 404 && code == "no_such_order":
		op.kind, op.final = noOrder, l.num("final") == 1
	case code == "order_cancelled":
		op.kind, op.phase = phaseTold, cancelled
	case code == "order_sold":
		op.kind, op.phase = phaseTold, sold
	case code == "reservation_expired":
		op.kind, op.phase = phaseTold, expired
	default:
		return
	}
	r.add(l.num("from"), r.end(l), op)
}

func (r *saleReader) readStock(l *line) {
	from, to := l.num("from"), l.num("to")
	if at := l.num("at"); at != unknown {
		from, to = at, at
	}
	if l.num("remaining") == unknown || r.segments > 1 || !r.guarded {
		return
	}
	r.add(from, to, saleOp{kind: stockTold, request: -1, quantity: l.num("remaining"), units: l.num("units"),
		line: l.number})
}

// ---- all of it ----------------------------------------------------------------------------------

// What ends reservations that nobody ended: all of a segment with the same end at once, and in the
// order of their ends.
func (r *saleReader) addExpiries() {
	type group struct {
		ends, earliest int64
		requests       []int
	}
	bySegment := map[int64]map[int64]*group{}
	for at, it := range r.ledger {
		if it.phase != expired {
			continue
		}
		segment, ends := r.orders[it.order].segment, r.ends[at]
		if bySegment[segment] == nil {
			bySegment[segment] = map[int64]*group{}
		}
		g := bySegment[segment][ends]
		if g == nil {
			g = &group{ends: ends}
			bySegment[segment][ends] = g
		}
		g.requests = append(g.requests, at)
		earliest := r.first[at]
		if own, says := r.lasts[at]; says && !r.moved {
			earliest += min(own, r.reserve)
		} else if !r.moved {
			earliest += r.reserve
		}
		g.earliest = max(g.earliest, earliest)
	}
	for _, groups := range bySegment {
		var before []int
		inOrder := slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Compare(a.ends, b.ends) })
		for _, g := range inOrder {
			r.add(g.earliest, never, saleOp{kind: expiry, request: -1, ends: g.requests, before: before})
			before = g.requests[:1]
		}
	}
}

// Where no clock moved and nothing failed over, a reservation is over so long after somebody knew of it.
func (r *saleReader) addOver() {
	r.over = map[int]int64{}
	for at, known := range r.known {
		made, ends := r.made[at], r.ends[at]
		if has(r.inLedger(at).phase) && made != unknown && ends != unknown && r.sameRun && !r.moved {
			r.over[at] = known + ends - made + lateUs
		}
	}
}

// Whether the ledger, which no order leaves, refutes the operation, whatever came before it.
func (r *saleReader) isRefuted(op *saleOp) bool {
	if op.request < 0 {
		return false
	}
	it := r.inLedger(op.request)
	same := has(it.phase) && it.order == op.order
	// What ended stays so; one whose time is over may stand there as reserved until somebody wants its units.
	stays := op.phase == it.phase || op.phase == expired && it.phase == reserved
	switch op.kind {
	case buyTold:
		return !same
	case lookFound:
		return !same || op.phase != reserved && !stays
	case confirmTold:
		return !same || it.phase != sold
	case cancelTold:
		return !same || it.phase != cancelled
	case phaseTold:
		return !stays
	case noOrder:
		return op.final && has(it.phase)
	}
	return false
}

// What the ledger and the stock at rest say against each other, and against all that was asked.
func (r *saleReader) addContradictions(rest *saleOp) {
	left, bought, became := r.stock, map[int]bool{}, map[int][expired + 1]bool{}
	note := func(request int, phase uint8) {
		phases := became[request]
		phases[phase] = true
		became[request] = phases
	}
	for _, operation := range r.ops {
		switch op := operation.Input.(*saleOp); op.kind {
		case buyTold, buyMaybe:
			bought[op.request] = true
			note(op.request, op.phase)
		case confirmTold:
			note(op.request, sold)
		case cancelTold:
			note(op.request, cancelled)
		}
	}
	for at, it := range r.ledger {
		if !has(it.phase) {
			continue
		}
		o := r.orders[it.order]
		if it.phase == reserved || it.phase == sold {
			left[o.segment] -= o.quantity
		}
		unended := (it.phase == sold || it.phase == cancelled) && !became[at][it.phase]
		if !bought[at] || unended {
			r.wrong = append(r.wrong, saleOp{kind: impossible, request: -1, line: r.lines[at]})
		}
	}
	for k := range r.segments {
		if rest.rest[k] != unknown && rest.rest[k] != left[k] {
			r.wrong = append(r.wrong, saleOp{kind: impossible, request: -1, line: rest.line})
		}
	}
	for i := range r.wrong {
		r.add(0, 0, r.wrong[i])
	}
}

// What nothing allows comes before all else, so that the search has nothing to do.
func (r *saleReader) putFirst() {
	first := int64(never)
	for i := range r.ops {
		first = min(first, r.ops[i].Call)
	}
	for i := range r.ops {
		op := r.ops[i].Input.(*saleOp)
		if r.isRefuted(op) {
			op.kind = impossible
		}
		if op.kind == impossible {
			r.ops[i].Call, r.ops[i].Return = first-2, first-1
		}
	}
}

// The model and its operations; why: what is missing, so that it can not be said to be right. Without
// its end or its ledger, it can not be said to be wrong either.
func readSale(from io.Reader) (m *sale, ops []porcupine.Operation, why string, err error) {
	lines, err := readLines(from)
	if err != nil {
		return nil, nil, "", err
	}
	r := saleReader{requests: map[string]int{}, ids: map[order]uint16{}, first: map[int]int64{}, known: map[int]int64{}, lasts: map[int]int64{},
		atOnce: map[string]*atOnce{}, made: map[int]int64{}, ends: map[int]int64{}, lines: map[int]int{}, epochs: map[int64]string{}}
	r.byUser, r.seed = map[string][]int{}, maphash.MakeSeed()
	why = cutOff
	rest := saleOp{kind: ledgerRead, request: -1}
	for k := range rest.rest {
		rest.rest[k] = unknown
	}
	segments := 0
	for pass := range 2 { // the ledger comes first
		for i := range lines {
			l := &lines[i]
			for _, name := range []string{"from", "to", "at"} {
				r.last = max(r.last, l.num(name))
			}
			if pass == 0 && l.word != "order" && l.text("request") != "" {
				r.noteAtOnce(l)
			}
			switch {
			case pass == 0 && l.word == "sale":
				err = r.readSale(l)
			case pass == 0 && l.word == "order":
				r.readOrder(l)
			case pass == 0 && l.word == "rest" && max(0, l.num("segment")) < segmentsMax:
				rest.rest[max(0, l.num("segment"))] = l.num("remaining")
				rest.line = l.number
				segments++
			case pass == 0 && l.word == "fault":
				r.moved = r.moved || l.num("clocks") == 1 || strings.HasSuffix(l.text("name"), "clock")
			case pass == 0 && l.word == "end" && l.text("truncated") == "":
				why = ""
			case pass == 0 && l.num("status")/100 == 2 && l.text("request") != "":
				r.slotOf(l.text("request"), true)
			case pass == 1 && l.word == "ask":
				r.readAsk(l)
			case pass == 1 && (l.word == "look" || l.word == "confirm" || l.word == "cancel"):
				r.readLook(l)
			case pass == 1 && l.word == "stock":
				r.readStock(l)
			}
			if err != nil {
				return nil, nil, "", err
			}
		}
	}
	if segments < r.segments && why == "" {
		why = noLedger
	}
	for k := range r.segments {
		if why == "" && rest.rest[k] == unknown {
			why = "the stock at rest is not known"
		}
	}
	r.addExpiries()
	r.addOver()
	for len(r.ledger) < r.slotsLen {
		r.ledger = append(r.ledger, slot{})
	}
	rest.slots = r.ledger
	r.addContradictions(&rest)
	r.add(r.last+1, r.last+2, rest)
	r.putFirst()
	for i := range r.ops { // what has no end of its own ended before the ledger was read
		r.ops[i].Return = min(r.ops[i].Return, r.last)
		r.ops[i].ClientId = i
	}
	for user, slots := range r.byUser {
		r.byUser[user] = unique(slots)
	}
	return &r.sale, r.ops, why, nil
}

func unique(from []int) (to []int) {
	seen := map[int]bool{}
	for _, it := range from {
		if !seen[it] {
			to = append(to, it)
		}
		seen[it] = true
	}
	return to
}
