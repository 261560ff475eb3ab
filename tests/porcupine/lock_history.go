package main

// Reads the events of a campaign (tests/tools/histcheck/event.h) into operations.

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

type event struct {
	ns, process int64
	op, hold    uint64
	kind, lock  string
	fence       int64
	depth       int64
	share       share
	line        int
}

func readEvents(from io.Reader, events []event) ([]event, error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	if rest := bytes.IndexByte(text, 0); rest >= 0 {
		text = text[:rest] // of one that was killed: its unused rest, and maybe half a line before it
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	in := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; in.Scan(); n++ {
		w := strings.Fields(in.Text())
		if len(w) == 0 || strings.HasPrefix(w[0], "#") {
			continue
		}
		if len(w) < 9 || len(w) > 10 {
			return nil, fmt.Errorf("line %d: %q", n, in.Text())
		}
		var numbers [9]int64
		for i := range numbers {
			if i == 4 || i == 5 {
				continue
			}
			// Numbers of contexts are pointers, and need all their bits.
			number, err := strconv.ParseUint(w[i], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %q", n, w[i])
			}
			numbers[i] = int64(number)
		}
		e := event{ns: numbers[0], process: numbers[1], op: uint64(numbers[3]), kind: w[4], lock: w[5],
			fence: numbers[6], depth: numbers[7], hold: uint64(numbers[8]), line: n}
		if len(w) == 10 {
			if _, err := fmt.Sscanf(w[9], "%d/%d", &e.share.takes, &e.share.of); err != nil {
				return nil, fmt.Errorf("line %d: %q", n, w[9])
			}
		}
		events = append(events, e)
	}
	return events, in.Err()
}

// What is known of an acquire, and of the hold that it brought; -1: nothing was said.
type grant struct {
	lockOp
	lock           string
	granted        bool // a hold, and no re-entry into one
	invoke, ok     int64
	held           int64 // the last time that it was ours for certain
	release, freed int64 // release was called, and said that it was ours until then
	guard          int64 // the last guarded write was called
	firstVoid      int64 // from here on nobody knows whether it was removed; never
}

type callOf struct {
	process int64
	op      uint64
}

// Guests that know of no fences are processes of their own.
type fencedBy struct {
	process int64
	lock    string
}

type lockReader struct {
	cohort string
	grants map[callOf]*grant
	order  []*grant
	fenced map[fencedBy]bool // who is given fences of a lock
	voids  map[string]int64  // a removal that is under way: since when
	raised map[string]int64  // the highest fence that was ever set from outside
	stale  []func()          // adds what was refused, once that is known
	ops    []porcupine.Operation
	locks  []string // of ops
}

func (r *lockReader) add(lock string, from, to int64, op lockOp) {
	r.ops = append(r.ops, porcupine.Operation{Input: &op, Call: from, Return: to, ClientId: len(r.ops)})
	r.locks = append(r.locks, lock)
}

func (r *lockReader) onVoid(e *event) {
	if e.kind == "void-invoke" {
		r.voids[e.lock] = e.ns
		for _, g := range r.order {
			if g.release == never && (e.lock == "*" || e.lock == g.lock) {
				g.firstVoid = min(g.firstVoid, e.ns)
			}
		}
		return
	}
	r.add(e.lock, r.voids[e.lock], e.ns, lockOp{kind: removed, line: e.line})
	delete(r.voids, e.lock)
}

func (r *lockReader) onEvent(e *event) {
	g := r.grants[callOf{e.process, e.op}]
	switch {
	case e.kind == "void-invoke" || e.kind == "void-ok":
		r.onVoid(e)
	case e.kind == "fence-set":
		r.add(e.lock, e.ns, e.ns, lockOp{kind: raised, fence: e.fence, line: e.line})
		r.raised[e.lock] = max(r.raised[e.lock], e.fence)
	case e.kind == "invoke":
		g = &grant{lock: e.lock, invoke: e.ns, held: -1, release: never, freed: -1, firstVoid: never}
		g.share, g.process, g.line, g.hold = e.share, e.process, e.line, int64(len(r.order))
		g.cohort = e.lock == r.cohort
		if r.voids[e.lock] > 0 || r.voids["*"] > 0 {
			g.firstVoid = e.ns // nobody knows whether it is gone
		}
		r.grants[callOf{e.process, e.op}] = g
		r.order = append(r.order, g)
	case g == nil:
	case e.kind == "ok":
		g.ok, g.fence, g.granted = e.ns, e.fence, e.hold == e.op // else it is a re-entry
		if e.fence > 0 {
			r.fenced[fencedBy{e.process, e.lock}] = true
		}
	case e.kind == "held":
		if e.ns < g.firstVoid {
			g.held = max(g.held, e.ns)
		}
	case e.kind == "release-invoke" && e.depth == 0:
		g.release = e.ns
	case e.kind == "release-ok" && e.depth == 0:
		g.freed = e.ns
	case e.kind == "guard-invoke":
		g.guard = e.ns
	case e.kind == "guard-ok":
		r.add(e.lock, g.guard, e.ns, lockOp{kind: wrote, fence: g.fence, line: e.line})
	case e.kind == "guard-stale":
		op, from, to, lock := lockOp{kind: refused, hold: g.hold, line: e.line}, g.guard, e.ns, e.lock
		r.stale = append(r.stale, func() {
			if r.raised[lock] <= g.fence {
				r.add(lock, from, to, op)
			}
		})
	}
}

func (r *lockReader) addGrants() {
	for _, g := range r.order {
		if !g.granted {
			continue
		}
		op := g.lockOp
		op.fenced = r.fenced[fencedBy{g.process, g.lock}]
		// What a cohort passes on inside a process, Redis does not see.
		untilThen := g.freed >= 0 && !(g.cohort && g.firstVoid < never)
		if !untilThen && g.held < g.ok {
			op.kind = briefly
		}
		r.add(g.lock, g.invoke, g.ok, op)
		if untilThen {
			op.kind = released
			r.add(g.lock, g.release, g.freed, op)
			if g.held > g.freed { // it said that it still had what it had let go
				op.kind = heldThen
				r.add(g.lock, g.held, g.held, op)
			}
		} else if op.kind != briefly {
			op.kind = heldThen
			r.add(g.lock, g.held, g.held, op)
		}
	}
}

// The operations of a campaign, lock by lock. cohort: the lock whose hand-offs keep the fence; "".
func readLock(files []io.Reader, cohort string) (byLock [][]porcupine.Operation, err error) {
	var events []event
	for _, file := range files {
		if events, err = readEvents(file, events); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.ns, b.ns) })
	r := lockReader{cohort: cohort, grants: map[callOf]*grant{}, fenced: map[fencedBy]bool{},
		voids: map[string]int64{}, raised: map[string]int64{}}
	for i := range events {
		r.onEvent(&events[i])
	}
	r.addGrants()
	for _, add := range r.stale {
		add()
	}
	of := map[string][]porcupine.Operation{}
	for i, lock := range r.locks {
		if lock != "*" {
			of[lock] = append(of[lock], r.ops[i])
		}
	}
	for lock := range of { // what is done to all locks is done to each
		for i, all := range r.locks {
			if all == "*" {
				of[lock] = append(of[lock], r.ops[i])
			}
		}
		byLock = append(byLock, of[lock])
	}
	return byLock, nil
}
