package main

// What both judges say of one history, and whether they agree.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// What our judges check and a linearizability checker can not see: progress and time (heals, ends,
// resolved, returned, times, all-sold, unended, idle, fifo), what is left behind (left), what
// headers say (replayed, location, reused), what a refusal speaks of (reasons), the service's own account of itself and of its locks
// (account, locks, readings, same-sale), and what is not an operation (depth, protocol). Of these,
// returned, times and locks are about safety, too: the models leave them to our judges alone.
// Where nothing else is violated, Porcupine has nothing to object to: the history is not checkable.
var invisible = map[string]bool{
	"heals": true, "ends": true, "resolved": true, "returned": true, "times": true,
	"all-sold": true, "unended": true, "idle": true, "fifo": true,
	"left": true, "replayed": true, "location": true, "reused": true, "reasons": true,
	"account": true, "locks": true, "readings": true, "same-sale": true,
	"depth": true, "protocol": true,
}

// The model has one half of these: that a reservation does not end too early, not that it ends; that
// the units of a reading are the sale's, not how many orders it counts, and what it calls reserved; that
// fences rise with the orders' numbers where the sale is guarded, since elsewhere an order is numbered
// late.
var halfSeen = map[string]bool{"lasts": true, "conserved": true, "fences": true}

func open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return file, err
	}
	unpacked, err := gzip.NewReader(file)
	return struct {
		io.Reader
		io.Closer
	}{unpacked, file}, err
}

// ---- ours ---------------------------------------------------------------------------------------

// Copies of the files as they were before they were compressed.
func unpack(paths []string) (dir string, plain []string, err error) {
	if dir, err = os.MkdirTemp("", "judge"); err != nil {
		return
	}
	for i, path := range paths {
		var from io.ReadCloser
		var to *os.File
		if from, err = open(path); err != nil {
			return
		}
		name := filepath.Join(dir, fmt.Sprintf("%d%s", i, filepath.Ext(strings.TrimSuffix(path, ".gz"))))
		if to, err = os.Create(name); err != nil {
			return
		}
		_, err = io.Copy(to, from)
		from.Close()
		if err = errors.Join(err, to.Close()); err != nil {
			return
		}
		plain = append(plain, name)
	}
	return
}

func run(program string, args []string) (out []byte, code int, err error) {
	var said bytes.Buffer
	command := exec.Command(program, args...)
	command.Stderr = &said
	out, err = command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		code, err = exit.ExitCode(), nil
	}
	if text := strings.TrimSpace(said.String()); text != "" && (err != nil || code > 1) {
		err = errors.Join(err, fmt.Errorf("%s: %s", filepath.Base(program), text))
	}
	return out, code, err
}

func (h *history) askVerify(program string, options, files []string) error {
	var answer struct {
		Guarantees []struct{ Name, State string }
	}
	out, _, err := run(program, append(append([]string{"--json"}, options...), files...))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), &answer); err != nil || len(answer.Guarantees) == 0 {
		return fmt.Errorf("verify said %.80q", out)
	}
	h.Ours = "held"
	for _, g := range answer.Guarantees {
		// A fault that ends the sale leaves units that nobody could buy any more.
		if g.State == "violated" && g.Name != "all-sold" {
			h.Violated = append(h.Violated, g.Name)
		} else if g.State == "unchecked" && !invisible[g.Name] && !halfSeen[g.Name] {
			h.Ours = "unchecked"
		}
	}
	if len(h.Violated) > 0 {
		h.Ours = "broken"
	}
	return nil
}

var countLine = regexp.MustCompile(`(?m)^\d+ x (.*)$`)

func (h *history) askHistcheck(program string, options, files []string) error {
	out, code, err := run(program, append(append([]string{}, options...), files...))
	if err != nil {
		return err
	}
	if code > 1 {
		return fmt.Errorf("histcheck ended with %d", code)
	}
	h.Ours = "held"
	for _, found := range countLine.FindAllSubmatch(out, -1) {
		h.Violated = append(h.Violated, string(found[1]))
	}
	if code == 1 {
		h.Ours = "broken"
	}
	return nil
}

// ---- Porcupine's --------------------------------------------------------------------------------

const nothing = "nothing was told"

var words = map[porcupine.CheckResult]string{
	porcupine.Ok: "ok", porcupine.Illegal: "illegal", porcupine.Unknown: "unknown"}

// The line that no order of the operations gets past: of those that are not in the longest order that
// is right, the one that ended first. 0: not known.
func stuckAt(model porcupine.Model, ops []porcupine.Operation, limit time.Duration) int {
	_, info := porcupine.CheckOperationsVerbose(model, ops, limit)
	var longest []int
	for _, partition := range info.PartialLinearizations() {
		for _, part := range partition {
			if len(part) > len(longest) {
				longest = part
			}
		}
	}
	in := make([]bool, len(ops))
	for _, i := range longest {
		in[i] = true
	}
	first := -1
	for i := range ops {
		if !in[i] && (first < 0 || ops[i].Return < ops[first].Return) {
			first = i
		}
	}
	if first < 0 {
		return 0
	}
	return ops[first].Input.(interface{ at() int }).at()
}

func (h *history) check(model porcupine.Model, ops []porcupine.Operation, limit time.Duration) {
	result := porcupine.CheckOperationsTimeout(model, ops, limit)
	h.Operations += len(ops)
	switch {
	case result == porcupine.Illegal:
		h.Porcupine, h.Why = "illegal", fmt.Sprintf("line %d", stuckAt(model, ops, limit))
	case result == porcupine.Unknown && h.Porcupine != "illegal":
		h.Porcupine, h.Why = "unknown", fmt.Sprintf("not decided within %v", limit)
	}
}

func (h *history) checkSale(path string, limit time.Duration) error {
	from, err := open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	sale, ops, why, err := readSale(from)
	if err != nil {
		return err
	}
	if why == cutOff || why == noLedger {
		h.Porcupine, h.Why, h.Operations = "unknown", why, len(ops)
		return nil
	}
	h.check(sale.model(), ops, limit)
	if why == "" && len(ops) == 1 {
		why = nothing // but the ledger
	}
	if why != "" && h.Porcupine == "ok" {
		h.Porcupine, h.Why = "unknown", why
	}
	return nil
}

func (h *history) checkLock(paths, options []string, limit time.Duration) error {
	var files []io.Reader
	for _, path := range paths {
		from, err := open(path)
		if err != nil {
			return err
		}
		defer from.Close()
		files = append(files, from)
	}
	cohort := ""
	for i := 1; i < len(options); i++ {
		if options[i-1] == "--cohort" {
			cohort = options[i]
		}
	}
	locks, err := readLock(files, cohort)
	for _, ops := range locks {
		h.check(lockModel(), ops, limit)
	}
	if h.Operations == 0 && err == nil {
		h.Porcupine, h.Why = "unknown", nothing
	}
	return err
}

// ---- both ---------------------------------------------------------------------------------------

func agreement(h *history) string {
	seen := false // something that Porcupine can see, too
	for _, name := range h.Violated {
		seen = seen || !invisible[name] && !(halfSeen[name] && h.Porcupine != "illegal")
	}
	switch {
	case h.Porcupine == "unknown" && seen:
		return "undecided" // ours found what Porcupine should have found
	case h.Porcupine == "unknown" || h.Ours == "unchecked" && h.Porcupine == "ok":
		return "unknown"
	case seen != (h.Porcupine == "illegal"):
		return "no"
	case h.Ours == "broken" && !seen:
		return "not checkable"
	}
	return "yes"
}

// Judges history i of the trial.
func (t *trial) judge(i int, programs string, limit time.Duration) error {
	h := t.Histories[i]
	h.Porcupine = "ok"
	dir, files, err := unpack(t.paths[i])
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	h.Options = append(h.Options, t.options...)
	for _, path := range t.paths[i] {
		h.Files = append(h.Files, strings.TrimSuffix(filepath.Base(path), ".gz"))
	}
	if t.Kind == "sale" {
		err = h.askVerify(filepath.Join(programs, "verify"), t.options, files)
		err = errors.Join(err, h.checkSale(files[0], limit))
	} else {
		err = h.askHistcheck(filepath.Join(programs, "histcheck"), t.options, files)
		err = errors.Join(err, h.checkLock(files, t.options, limit))
	}
	h.Agree = agreement(h)
	return err
}
