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

// A line a history; how many the judges differ on, or Porcupine left open though ours found them wrong,
// and how many trials are missed or contradict their cell.
func (v *verdicts) print(out io.Writer) int {
	counts, missed, contradictions := map[string]int{}, 0, 0
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
		if t.Agree == "missed" {
			missed++
			fmt.Fprintf(out, "%-13s planted defect %s  %s\n", t.Agree, t.Planted, t.Name)
		}
		if why := t.contradiction(); why != "" {
			contradictions++
			fmt.Fprintf(out, "%-13s %s: %s\n", "contradiction", t.Name, why)
		}
	}
	fmt.Fprintf(out, "%s: the judges agree on %d histories; %d are not checkable, %d unknown, %d undecided; "+
		"they differ on %d; missed defects: %d, contradicted cells: %d\n",
		v.Checker, counts["yes"], counts["not checkable"], counts["unknown"], counts["undecided"], counts["no"],
		missed, contradictions)
	return counts["no"] + counts["undecided"] + missed + contradictions
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

const notAgreed = "| not agreed on | kind | ours | Porcupine | agree |\n|---|---|---|---|---|\n"

// The tables of EVIDENCE.md: the sums, and every trial without full agreement.
func (v *verdicts) markdown() string {
	var b, rest strings.Builder
	fmt.Fprintf(&b, "| %s, at most %d s a history | trials | histories | operations | agree | not checkable | unknown | undecided | differ | missed |\n",
		v.Checker, v.Seconds)
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
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
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", g.title, trials, histories, operations,
			counts["yes"], counts["not checkable"], counts["unknown"], counts["undecided"], counts["no"],
			counts["missed"])
	}
	for _, t := range v.Trials {
		if t.Agree == "yes" {
			continue
		}
		name := t.Name
		if t.Planted != "" {
			name = t.Planted
		}
		v.row(&rest, t, name)
	}
	if rest.Len() == 0 {
		return b.String() + "\nThe judges agree on every trial.\n"
	}
	return b.String() + "\n" + notAgreed + rest.String()
}

// The tables of MATRIX.md: each planted defect, and each history that a judge did not decide.
func (v *verdicts) details() string {
	var b, open strings.Builder
	b.WriteString("| planted defect | where | ours | Porcupine | agree |\n|---|---|---|---|---|\n")
	for _, t := range v.Trials {
		if t.Planted != "" {
			v.row(&b, t, t.Planted)
		}
		for _, h := range t.Histories {
			if h.Agree == "unknown" || h.Agree == "undecided" {
				fmt.Fprintf(&open, "| %s | %s | %s | %s |\n", h.File, h.Ours, h.Porcupine, h.Why)
			}
		}
	}
	if open.Len() > 0 {
		b.WriteString("\n| history that a judge did not decide | ours | Porcupine | why |\n|---|---|---|---|\n" + open.String())
	}
	return b.String()
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
