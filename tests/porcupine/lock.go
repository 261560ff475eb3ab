package main

// The model of a lock: who holds it, the fence that was issued last, and the guarded writes.
//
// It states: a grant comes when what is held leaves room for it (none beside a writer, readers beside
// readers, so many permits as there are); its fence is above all that were issued before (a reader's
// is not below; inside a process of a cohort it may stay); who is told "yours" holds the lock at that
// moment, and also who is told so at its release; a lock that is removed from outside is free,
// and does not come back; nobody has what he let go; where a process was given a fence of a lock, each
// of its grants but a reader's has one; a guarded write that was accepted has the fence that was issued
// last, and one that was refused as stale is not of who holds the lock, unless a newer fence was set
// from outside.
//
// A lease ends when nobody sees it. So a hold counts only as long as its owner was certain of it: to
// its release, to the last moment at which it was told "yours", or to its removal; without any of
// them at the moment of its grant alone. To let it go there is always right, for nothing behind that
// moment needs the hold.
//
// It does not state: that anybody ever gets the lock, in what order, or how soon; why a release failed;
// how often a hold was entered anew.

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

type lockKind int

const (
	acquired lockKind = iota
	briefly           // acquired, and never for certain afterwards
	heldThen          // it was ours at that moment, and never for certain afterwards
	released          // it was ours until then
	removed           // from outside
	wrote             // a guarded write
	refused           // one that was not made, as stale
	raised            // the fence was set from outside
)

type share struct{ takes, of int64 } // 0/0: all; 1/0: reads; 2/5: two of five permits

type lockOp struct {
	kind    lockKind
	hold    int64 // a number for each grant
	process int64
	share   share
	fence   int64
	cohort  bool
	fenced  bool // other grants of this lock to its process have a fence
	line    int
}

type held struct {
	hold  int64
	share share
}

type lockState struct {
	held    []held
	fence   int64
	process int64 // that it was issued to
}

func (s *lockState) has(hold int64) bool {
	return slices.ContainsFunc(s.held, func(h held) bool { return h.hold == hold })
}

func (s *lockState) drop(hold int64) {
	s.held = slices.DeleteFunc(slices.Clone(s.held), func(h held) bool { return h.hold == hold })
}

func (s *lockState) hasRoom(more share) bool {
	taken, of, all := more.takes, more.of, more.takes == 0
	for _, h := range s.held {
		taken += h.share.takes
		all = all || h.share.takes == 0
		if h.share.of > 0 && (of == 0 || h.share.of < of) {
			of = h.share.of
		}
	}
	return len(s.held) == 0 || !all && (of == 0 || taken <= of)
}

func (s *lockState) grant(op *lockOp) bool {
	reads := op.share == share{1, 0}
	again := reads || op.cohort && op.process == s.process
	if op.fence == 0 && op.fenced && !reads { // a reader's may be lost, with an emptied server
		return false
	}
	if !s.hasRoom(op.share) || op.fence != 0 && (op.fence < s.fence || op.fence == s.fence && !again) {
		return false
	}
	if op.fence != 0 {
		s.fence = op.fence
	}
	if !reads {
		s.process = op.process
	}
	s.held = append(slices.Clone(s.held), held{op.hold, op.share})
	slices.SortFunc(s.held, func(a, b held) int { return int(a.hold - b.hold) })
	return true
}

func (op *lockOp) at() int { return op.line }

// Whether the operation can happen in this state, which it changes.
func (s *lockState) step(op *lockOp) bool {
	switch op.kind {
	case acquired, briefly:
		fits := s.grant(op)
		if op.kind == briefly {
			s.drop(op.hold)
		}
		return fits
	case heldThen, released:
		was := s.has(op.hold)
		s.drop(op.hold)
		return was
	case removed:
		s.held = nil
	case wrote:
		return op.fence >= s.fence
	case refused:
		return !s.has(op.hold)
	case raised:
		s.fence = max(s.fence, op.fence)
	}
	return true
}

func lockModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(lockState)
			return s.step(input.(*lockOp)), s
		},
		Equal: func(a, b any) bool {
			x, y := a.(lockState), b.(lockState)
			return x.fence == y.fence && x.process == y.process && slices.Equal(x.held, y.held)
		},
		Hash: func(state any) uint64 {
			s := state.(lockState)
			h := uint64(s.fence)
			for _, it := range s.held {
				h = h*1099511628211 + uint64(it.hold)
			}
			return h
		},
	}
}
