// judge - has the histories of sales and locks judged by Porcupine, a linearizability checker that is
// not ours, and by our own judges beside it: do they agree?
//
//	judge [--seconds N] [--programs DIR] [--compare FILE] [--json FILE] [--markdown FILE] [--details FILE] DIR
//
//	--seconds   Porcupine's limit for one history (30): behind it its verdict is "unknown"
//	--programs  where verify and histcheck are (DIR)
//	--compare   verdicts of an earlier time, which must come out the same
//	--markdown  writes the sums there; --details: what was found trial by trial
//
// DIR has histories as scripts/evidence leaves them: CELL.buys, CELL.buys.2, ... of a cell, whose
// verdict is in CELL.json, and a directory of *.hist and `options` (histcheck's) of a campaign; each
// may be compressed (.gz). What lies under planted/ is of a copy with a defect in it.
//
// Exit: 0; 1 when the judges do not agree, Porcupine did not decide what ours found wrong, a planted defect
// was missed, a cell's own verdict contradicts ours, or a verdict has changed; 2 a history can not be read
// (the others are judged); 64.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

const (
	exitDiffers    = 1
	exitUnreadable = 2
	exitUsage      = 64
)

// One history, and what both judges say of it.
type history struct {
	File       string   `json:"file"`
	Ours       string   `json:"ours"`      // "held", "broken", "unchecked": of what Porcupine can see
	Violated   []string `json:"violated"`  // names of our guarantees
	Porcupine  string   `json:"porcupine"` // "ok", "illegal", "unknown"
	Why        string   `json:"why"`
	Operations int      `json:"operations"`
	Agree      string   `json:"agree"` // one of agreements
	Files      []string `json:"files"`
	Options    []string `json:"options"` // of our judge
}

// A cell of the matrix, or a campaign.
type trial struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`    // "sale", "lock"
	Planted   string     `json:"planted"` // the defect; "": none
	Cell      string     `json:"cell"`    // the matrix's verdict; "": a campaign has none
	Agree     string     `json:"agree"`   // the worst of its histories, or "missed"
	Histories []*history `json:"histories"`

	paths   [][]string // of each history
	options []string   // of histcheck, or of verify
	seen    bool       // the cell found something that our judge of histories does not look for
}

type verdicts struct {
	Schema  int      `json:"schema"`
	Checker string   `json:"checker"`
	Seconds int      `json:"seconds"`
	Trials  []*trial `json:"trials"`
}

func checker() string {
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Deps); i++ {
		if strings.HasSuffix(info.Deps[i].Path, "/porcupine") {
			return "porcupine " + info.Deps[i].Version
		}
	}
	return "porcupine"
}

// ---- what there is ------------------------------------------------------------------------------

// "X/planted/DEFECT/..." is of that defect.
func defectIn(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "planted" && i+2 < len(parts) {
			return parts[i+1]
		}
	}
	return ""
}

func readText(path string) string {
	from, err := open(path)
	if err != nil {
		if from, err = open(path + ".gz"); err != nil {
			return ""
		}
	}
	defer from.Close()
	text, _ := io.ReadAll(from)
	return string(text)
}

func newTrial(root, path, kind string) *trial {
	name, _ := filepath.Rel(root, path)
	t := &trial{Name: name, Kind: kind, Planted: defectIn(name + "/")}
	if kind == "lock" {
		t.options = strings.Fields(readText(filepath.Join(path, "options")))
		return t
	}
	var cell struct {
		Verdict    string
		Guarantees []struct{ Name, State string }
		I7Us       float64 `json:"i7_us"`
		RecoveryMs float64 `json:"recovery_ms"` // the bound that it was held to, on a machine so slow
	}
	json.Unmarshal([]byte(readText(path+".json")), &cell)
	t.Cell = cell.Verdict
	for _, g := range cell.Guarantees {
		t.seen = t.seen || g.State == "violated" && (g.Name == "guard" || g.Name == "alive" || g.Name == "all-sold")
	}
	if bound := max(cell.I7Us, 1000*cell.RecoveryMs); bound > 0 {
		t.options = []string{"--i7-us", fmt.Sprint(int64(bound))}
	}
	return t
}

func find(root string) ([]*trial, error) {
	known := map[string]*trial{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain := strings.TrimSuffix(path, ".gz")
		kind, of := "sale", plain
		if at := strings.LastIndex(plain, ".buys"); at > 0 {
			of = plain[:at]
		} else if kind = "lock"; strings.HasSuffix(plain, ".hist") {
			of = filepath.Dir(plain)
		} else {
			return nil
		}
		t := known[of]
		if t == nil {
			t = newTrial(root, of, kind)
			known[of] = t
		}
		name, _ := filepath.Rel(root, of)
		if kind == "sale" || len(t.paths) == 0 {
			if kind == "sale" {
				name, _ = filepath.Rel(root, plain)
			}
			t.paths = append(t.paths, nil)
			t.Histories = append(t.Histories, &history{File: name, Violated: []string{}})
		}
		last := len(t.paths) - 1
		t.paths[last] = append(t.paths[last], path)
		return nil
	})
	trials := []*trial{}
	for _, t := range known {
		trials = append(trials, t)
	}
	sort.Slice(trials, func(a, b int) bool { return trials[a].Name < trials[b].Name })
	if err == nil && len(trials) == 0 {
		err = errors.New("there is no history in " + root)
	}
	return trials, err
}

// ---- judging ------------------------------------------------------------------------------------

// From the best to the worst.
var agreements = []string{"yes", "not checkable", "unknown", "undecided", "no"}

func rank(agreement string) int {
	for i, it := range agreements {
		if it == agreement {
			return i
		}
	}
	return -1
}

func judgeAll(trials []*trial, programs string, limit time.Duration) error {
	type task struct {
		t *trial
		i int
	}
	tasks := make(chan task)
	var errs []error
	var lock sync.Mutex
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for it := range tasks {
				if err := it.t.judge(it.i, programs, limit); err != nil {
					lock.Lock()
					errs = append(errs, fmt.Errorf("%s: %w", it.t.Histories[it.i].File, err))
					lock.Unlock()
				}
			}
		})
	}
	for _, t := range trials {
		for i := range t.paths {
			tasks <- task{t, i}
		}
	}
	close(tasks)
	wait.Wait()
	for _, t := range trials {
		t.Agree = t.agreement()
	}
	return errors.Join(errs...)
}

// The worst of its histories; but where both judges find one broken, so is the trial for both, whatever
// the others are, as long as the judges do not differ. A defect that neither judge nor the cell noticed is
// missed.
func (t *trial) agreement() string {
	worst, broken, noticed := "yes", false, t.Planted == "" || t.Cell == "BROKEN"
	for _, h := range t.Histories {
		noticed = noticed || h.Ours == "broken" || h.Porcupine == "illegal"
		broken = broken || h.Agree == "yes" && h.Porcupine == "illegal"
		if rank(h.Agree) > rank(worst) {
			worst = h.Agree
		}
	}
	if !noticed {
		return "missed"
	}
	if broken && rank(worst) < rank("undecided") {
		return "yes"
	}
	return worst
}

// Why the recorded verdict of the cell can not be of these histories; "": it can.
func (t *trial) contradiction() string {
	ours := t.ours()
	if t.Cell == "HELD" && ours == "broken" || t.Cell == "BROKEN" && ours == "held" && !t.seen {
		return fmt.Sprintf("the cell says %s, and ours %s", t.Cell, ours)
	}
	return ""
}

// ---- at the end ---------------------------------------------------------------------------------

// All that must come out the same.
func (h *history) summary() string {
	return fmt.Sprintf("%s %v, %s, %s, %d operations in %v, options %v", h.Ours, h.Violated, h.Porcupine, h.Agree,
		h.Operations, h.Files, h.Options)
}

func (t *trial) summary() string {
	return fmt.Sprintf("kind %q, planted %q, cell %q, agree %q", t.Kind, t.Planted, t.Cell, t.Agree)
}

func (v *verdicts) summaries() map[string]string {
	all := map[string]string{"checker": v.Checker}
	for _, t := range v.Trials {
		all["trial "+t.Name] = t.summary()
		for _, h := range t.Histories {
			all[h.File] = h.summary()
		}
	}
	return all
}

// What has changed; the time that Porcupine takes is none of it.
func differences(now *verdicts, path string) (count int, err error) {
	var then verdicts
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &then)
	}
	before := then.summaries()
	after := now.summaries()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		delete(before, name)
		if known && was == after[name] {
			continue
		}
		count++
		fmt.Printf("CHANGED %s:\n  now    %s\n", name, after[name])
		if known {
			fmt.Printf("  before %s\n", was)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		count++
		fmt.Printf("MISSING %s\n", name)
	}
	return count, err
}

func write(path, text string) {
	if path == "" {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(exitUnreadable)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(exitUnreadable)
	}
}

func main() {
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	seconds := flags.Int("seconds", 30, "Porcupine's limit for one history")
	programs := flags.String("programs", "", "where verify and histcheck are")
	compare := flags.String("compare", "", "verdicts that must come out the same")
	asJSON := flags.String("json", "", "write the verdicts there")
	markdown := flags.String("markdown", "", "write the sums there")
	details := flags.String("details", "", "write there what was found trial by trial")
	if err := flags.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return
	} else if err != nil || flags.NArg() != 1 || *seconds < 1 {
		fmt.Fprintln(os.Stderr, "usage: judge [options] DIR")
		os.Exit(exitUsage)
	}
	root := flags.Arg(0)
	if *programs == "" {
		*programs = root
	}
	trials, err := find(root)
	fail(err)
	unreadable := judgeAll(trials, *programs, time.Duration(*seconds)*time.Second)
	all := &verdicts{1, checker(), *seconds, trials}
	disagree := all.print(os.Stdout)
	changed := 0 // before anything is written: maybe to the same file
	if *compare != "" {
		changed, err = differences(all, *compare)
		fail(err)
		fmt.Printf("%d verdicts have changed\n", changed)
	}
	text, _ := json.MarshalIndent(all, "", " ")
	write(*asJSON, string(text)+"\n")
	write(*markdown, all.markdown())
	write(*details, all.details())
	fail(unreadable)
	if disagree > 0 || changed > 0 {
		os.Exit(exitDiffers)
	}
}
