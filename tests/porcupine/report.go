package main

import (
	"fmt"
	"io"
	"strings"
)

func (t *trial) violated() string {
	seen, names := map[string]bool{}, []string{}
	for _, h := range t.Histories {
		for _, name := range h.Violated {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// "ok", "illegal 2 of 3"
func (t *trial) porcupine() string {
	counts := map[string]int{}
	for _, h := range t.Histories {
		counts[h.Porcupine]++
	}
	for _, word := range []string{"illegal", "unknown"} {
		if n := counts[word]; n == len(t.Histories) {
			return word
		} else if n > 0 {
			return fmt.Sprintf("%s, %d of %d", word, n, len(t.Histories))
		}
	}
	return "ok"
}

func (t *trial) ours() string {
	worst := "held"
	for _, h := range t.Histories {
		if h.Ours == "broken" || worst == "held" {
			worst = h.Ours
		}
	}
	return worst
}

func (t *trial) operations() (sum int) {
	for _, h := range t.Histories {
		sum += h.Operations
	}
	return sum
}

// A line a history; how many the judges differ on, or Porcupine left open though ours found them wrong.
func (v *verdicts) print(out io.Writer) int {
	counts := map[string]int{}
	for _, t := range v.Trials {
		for _, h := range t.Histories {
			counts[h.Agree]++
			fmt.Fprintf(out, "%-13s ours %-9s porcupine %-7s %6d operations  %s", h.Agree, h.Ours, h.Porcupine,
				h.Operations, h.File)
			if more := strings.TrimSpace(strings.Join(h.Violated, " ") + " " + h.Why); more != "" {
				fmt.Fprintf(out, "  (%s)", more)
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintf(out, "%s: the judges agree on %d histories; %d are not checkable, %d unknown, %d undecided; "+
		"they differ on %d\n",
		v.Checker, counts["yes"], counts["not checkable"], counts["unknown"], counts["undecided"], counts["no"])
	return counts["no"] + counts["undecided"]
}

type group struct {
	title string
	in    func(t *trial) bool
}

var groups = []group{
	{"cells of the matrix", func(t *trial) bool { return t.Planted == "" && t.Kind == "sale" }},
	{"campaigns of locks", func(t *trial) bool { return t.Planted == "" && t.Kind == "lock" }},
	{"planted defects, sale", func(t *trial) bool { return t.Planted != "" && t.Kind == "sale" }},
	{"planted defects, lock", func(t *trial) bool { return t.Planted != "" && t.Kind == "lock" }},
}

// The tables of EVIDENCE.md: the sum, the planted defects, and every trial without full agreement.
func (v *verdicts) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s, at most %d s a history | trials | histories | operations | agree | not checkable | unknown | undecided | differ |\n",
		v.Checker, v.Seconds)
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range groups {
		trials, histories, operations, counts := 0, 0, 0, map[string]int{}
		for _, t := range v.Trials {
			if g.in(t) {
				trials++
				histories += len(t.Histories)
				operations += t.operations()
				counts[t.Agree]++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", g.title, trials, histories, operations,
			counts["yes"], counts["not checkable"], counts["unknown"], counts["undecided"], counts["no"])
	}
	b.WriteString("\n| planted defect | where | ours | Porcupine | agree |\n|---|---|---|---|---|\n")
	for _, t := range v.Trials {
		if t.Planted != "" {
			v.row(&b, t, t.Planted)
		}
	}
	rest := 0
	for _, t := range v.Trials {
		if t.Planted == "" && t.Agree != "yes" {
			if rest++; rest == 1 {
				b.WriteString("\n| not agreed on | kind | ours | Porcupine | agree |\n|---|---|---|---|---|\n")
			}
			v.row(&b, t, t.Name)
		}
	}
	if rest == 0 {
		b.WriteString("\nWithout planted defects, the judges agree on every trial.\n")
	}
	if undecided := v.undecided(); undecided != "" {
		b.WriteString("\nHistories that a judge did not decide: " + undecided + ".\n")
	}
	return b.String()
}

// Those of trials that both find wrong by another history, too.
func (v *verdicts) undecided() string {
	var names []string
	for _, t := range v.Trials {
		for _, h := range t.Histories {
			if h.Agree == "unknown" || h.Agree == "undecided" {
				names = append(names, fmt.Sprintf("%s (ours %s, Porcupine %s)", h.File, h.Ours, h.Porcupine))
			}
		}
	}
	return strings.Join(names, ", ")
}

func (v *verdicts) row(b *strings.Builder, t *trial, name string) {
	ours := t.ours()
	if it := t.violated(); it != "" {
		ours += ": " + it
	}
	where := t.Kind
	if at := strings.LastIndex(t.Name, "/"); t.Planted != "" {
		where += " " + t.Name[at+1:]
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, where, ours, t.porcupine(), t.Agree)
}
