package main

// Lies in histories of the size that a cell has: hundreds of orders, several of them under way at any
// time, and some without an answer. A lie that only the ledger shows must be found at once, not behind a
// search of all orders of the operations before it.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const largeOrders = 400

// Each buy overlaps the seven before it; every tenth has no answer. Where they reserve, one of four is
// cancelled and its unit bought again, one stays unanswered with its end, and the others are confirmed.
func largeHistory(reserves bool) string {
	var asks, ledger strings.Builder
	left, reserve := largeOrders, ""
	if reserves {
		reserve = " reserve_us=1000000000"
	}
	for i := range largeOrders {
		n, at, state := i+1, 1000+100*i, "sold"
		left--
		told := fmt.Sprintf("remaining=%d fence=%d", left, n)
		first := state
		if reserves {
			first = "reserved"
		}
		if i%10 == 9 {
			fmt.Fprintf(&asks, "ask from=%d to=- request=r%d user=u%d quantity=1 target=0 status=0\n", at, n, n)
		} else {
			fmt.Fprintf(&asks, "ask from=%d to=%d request=r%d user=u%d quantity=1 target=0 status=201 order=5f-e-%d %s state=%s\n",
				at, at+700, n, n, n, told, first)
		}
		if reserves {
			word := "confirm"
			if i%4 == 3 {
				word, state = "cancel", "cancelled"
			}
			// Behind the buys that are under way beside it, and done before the next one's order is made.
			from := 1000 + 100*largeOrders + 1000*i
			fmt.Fprintf(&asks, "%s from=%d to=%d request=r%d target=0 status=200 order=5f-e-%d %s told_user=u%d told_quantity=1 state=%s\n",
				word, from, from+3500, n, n, told, n, state)
		}
		fmt.Fprintf(&ledger, "order segment=0 number=%d request=r%d user=u%d quantity=1 %s state=%s\n", n, n, n, told, state)
	}
	atRest := 0
	if reserves {
		atRest = largeOrders / 4
	}
	return fmt.Sprintf("flashsale-history 2\nsale id=5f item=P strategy=atomic durability=memory stock=%d limit=2 segments=0 "+
		"lease_us=0 guarded=1 fences=1%s\n%s%srest segment=0 remaining=%d\nend\n", largeOrders, reserve, asks.String(),
		ledger.String(), atRest)
}

// The lines that begin so, with old replaced; new "-": without them.
func alter(text, begin, old, new string) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, begin) {
			if new == "-" {
				continue
			}
			l = strings.Replace(l, old, new, 1)
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func TestLiesOfTheLedger(t *testing.T) {
	const of = "order segment=0 number=222 "
	for _, c := range []struct {
		name             string
		reserves         bool
		begin, old, new_ string
		want             string
	}{
		{"honest", false, "", "", "", "ok"},
		{"an order is missing at rest", false, of, "", "-", "illegal"},
		{"an unanswered order is missing, its unit is taken", false, "order segment=0 number=220 ", "", "-", "illegal"},
		{"one unit too many at rest", false, "rest", "remaining=0", "remaining=1", "illegal"},
		{"one unit too few at rest", false, "rest", "remaining=0", "remaining=-1", "illegal"},
		{"an order of nobody", false, of, of, "order segment=0 number=401 request=x user=x quantity=1 remaining=0 fence=400 state=sold\n" + of,
			"illegal"},
		{"an order of nobody instead of another", false, of, "request=r222 user=u222", "request=x user=x", "illegal"},
		{"an order twice", false, of, of, "order segment=0 number=223 request=r222 user=u222 quantity=1 remaining=178 fence=222 state=sold\n" + of,
			"illegal"},
		{"another quantity in the ledger", false, of, "quantity=1", "quantity=2", "illegal"},
		{"another user in the ledger", false, of, "user=u222", "user=u9999", "illegal"},
		{"another fence in the ledger", false, of, "fence=222", "fence=221", "illegal"},
		{"no fence", false, of, "fence=222", "fence=0", "illegal"},
		{"another user was told", false, "ask from=23100 ", "order=", "told_user=u9 order=", "illegal"},
		{"another quantity was told", false, "ask from=23100 ", "order=", "told_quantity=2 order=", "illegal"},
		{"another request was told", false, "ask from=23100 ", "order=", "told_request=r9 order=", "illegal"},
		{"a limit where there is none", false, "sale", "limit=2", "limit=0", "ok"},

		{"honest reservations", true, "", "", "", "ok"},
		{"a unit came back twice", true, "rest", "remaining=100", "remaining=101", "illegal"},
		{"a unit did not come back", true, "rest", "remaining=100", "remaining=99", "illegal"},
		{"confirmed, and cancelled in the ledger", true, of, "state=sold", "state=cancelled", "illegal"},
		{"cancelled, and sold in the ledger", true, "order segment=0 number=224 ", "state=cancelled", "state=sold", "illegal"},
		{"sold, and never confirmed", true, "confirm from=262000 ", "", "-", "illegal"},
		{"confirmed, and told to be reserved", true, "confirm from=262000 ", "state=sold", "state=reserved", "illegal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			honest := largeHistory(c.reserves)
			text := honest
			if c.begin != "" {
				if text = alter(honest, c.begin, c.old, c.new_); text == honest {
					t.Fatal("it is not in the history")
				}
			}
			if got := verdictOfSale(t, text); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
}

// What the reader of a history alone decides.
func TestReading(t *testing.T) {
	const begin = "flashsale-history 2\nsale id=5f item=P strategy=atomic durability=memory stock=4 limit=0 segments=2 lease_us=0 " +
		"guarded=1 fences=0\n"
	const rest = "rest segment=0 remaining=0\nrest segment=1 remaining=2\nend\n"
	const two = "order request=a user=u1 quantity=1 number=1 segment=0 remaining=1 fence=0\n" +
		"order request=b user=u2 quantity=1 number=2 segment=0 remaining=0 fence=0\n"
	const bought = "ask from=10 to=900 request=a user=u1 target=0 status=201 order=5f-0-1 remaining=1 fence=0\n"
	for _, c := range []struct{ name, text, want string }{
		{"the last buy has no answer", begin + bought + "ask from=2000 to=- request=b user=u2 target=0 status=0\n" + two + rest, "ok"},
		{"no buy has an answer", begin + "ask from=10 to=900 request=a user=u1 target=0 status=0\n" +
			"ask from=2000 to=- request=b user=u2 target=0 status=0\n" + two + rest, "ok"},
		{"nothing was told", begin + "rest segment=0 remaining=2\nrest segment=1 remaining=2\nend\n", "unknown"},
		{"a limit was told, and there is none", begin + bought +
			"ask from=1000 to=1100 request=c user=u1 target=0 status=409 code=limit_reached\n" +
			"ask from=2000 to=- request=b user=u2 target=0 status=0\n" + two + rest, "illegal"},
		{"too many were told, and there is no limit", begin + bought +
			"ask from=1000 to=1100 request=c user=u1 quantity=2 target=0 status=409 code=quantity_above_limit\n" +
			"ask from=2000 to=- request=b user=u2 target=0 status=0\n" + two + rest, "illegal"},
		{"a fence, and there are none", begin + strings.Replace(bought, "fence=0", "fence=3", 1) +
			"ask from=2000 to=- request=b user=u2 target=0 status=0\n" +
			strings.Replace(two, "fence=0", "fence=3", 1) + rest, "illegal"},
	} {
		if got := verdictOfSale(t, c.text); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// ---- the program --------------------------------------------------------------------------------

// A directory with these files, and a judge of ours that finds everything right, but for what says "wrong".
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["bin/verify"] = `#!/bin/sh
for last; do :; done
grep -q unreadable "$last" && { echo "what is this?" >&2; exit 2; }
state=held
! grep -q wrong "$last" || state=violated
echo "{\"guarantees\":[{\"name\":\"units\",\"state\":\"$state\"}]}"
`
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func judged(t *testing.T, dir string) ([]*trial, error) {
	t.Helper()
	trials, err := find(filepath.Join(dir, "histories"))
	if err != nil {
		t.Fatal(err)
	}
	return trials, judgeAll(trials, filepath.Join(dir, "bin"), limit)
}

func TestWhatIsLeftOpenFails(t *testing.T) {
	cut := strings.Replace(honest, "\nend\n", "\n", 1)
	dir := place(t, map[string]string{"histories/a.buys": cut, "histories/b.buys": cut + "# wrong\n"})
	trials, err := judged(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	v := verdicts{Trials: trials}
	if n := v.print(&out); n != 1 || trials[0].Agree != "unknown" || trials[1].Agree != "undecided" {
		t.Errorf("%d: %s", n, out.String())
	}
	if table := v.markdown(); !strings.Contains(table, "| b | sale | broken: units | unknown | undecided |") {
		t.Error(table)
	}
	if tables := v.details(); !strings.Contains(tables, "| b.buys | broken | unknown | it was cut off |") {
		t.Error(tables)
	}
}

// Ours is asked with the bound that the cell was held to.
func TestBounds(t *testing.T) {
	dir := place(t, map[string]string{"histories/a.buys": honest, "histories/a.json": `{"verdict":"HELD","i7_us":5000}`,
		"histories/b.buys": honest, "histories/b.json": `{"verdict":"HELD","i7_us":5000,"recovery_ms":7.0}`,
		"histories/c.buys": honest, "histories/c.json": `{"verdict":"HELD","i7_us":0,"recovery_ms":0}`})
	trials, err := judged(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"--i7-us 5000", "--i7-us 7000", ""} {
		if got := strings.Join(trials[i].Histories[0].Options, " "); got != want || trials[i].Cell != "HELD" {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A planted defect that nobody notices fails; the cell may notice it by a check that is not of histories.
func TestMissed(t *testing.T) {
	lock := "10 1 1 1 invoke l 0 0 0\n20 1 1 1 ok l 1 1 1\n"
	wrong := strings.Replace(honest, "stock=3", "stock=2", 1) + "# wrong\n"
	dir := place(t, map[string]string{"bin/histcheck": "#!/bin/sh\nexit 0\n", "histories/honest/x.buys": honest,
		"histories/planted/guarded/x.buys": honest, "histories/planted/late/x.buys": honest,
		"histories/planted/guarded/x.json": `{"verdict":"BROKEN","guarantees":[{"name":"guard","state":"violated"}]}`,
		"histories/planted/late/x.json":    `{"verdict":"HELD"}`,
		"histories/planted/lock/1.hist":    lock,
		"histories/planted/open/x.buys":    strings.Replace(honest, "\nend\n", "\n", 1),
		"histories/planted/seen/x.buys":    wrong, "histories/planted/seen/x.buys.2": honest})
	trials, err := judged(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"": "yes", "guarded": "yes", "late": "missed", "lock": "missed", "open": "missed", "seen": "yes"}
	for _, it := range trials {
		if it.Agree != want[it.Planted] {
			t.Errorf("%s: %s", it.Name, it.Agree)
		}
	}
	var out bytes.Buffer
	v := verdicts{Trials: trials}
	if n := v.print(&out); n != 3 || !strings.Contains(out.String(), "\nmissed        planted defect late ") {
		t.Errorf("%d: %s", n, out.String())
	}
	table := v.markdown()
	for _, row := range []string{"| planted defects, sale | 4 | 5 | ", "| 2 | 0 | 0 | 0 | 0 | 2 |\n",
		"| planted defects, lock | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |\n", "| late | sale x | held | ok | missed |\n"} {
		if !strings.Contains(table, row) {
			t.Errorf("no %q in\n%s", row, table)
		}
	}
}

// The recorded verdict of a cell must be possible beside ours.
func TestContradictions(t *testing.T) {
	violated := func(name string) string {
		return `{"verdict":"BROKEN","guarantees":[{"name":"` + name + `","state":"violated"}]}`
	}
	wrong := strings.Replace(honest, "stock=3", "stock=2", 1) + "# wrong\n"
	for _, c := range []struct {
		buys, cell string
		want       int
	}{
		{honest, `{"verdict":"HELD"}`, 0},
		{wrong, `{"verdict":"HELD"}`, 1},
		{wrong, violated("units"), 0},
		{honest, violated("units"), 1},
		{honest, violated("guard"), 0},
		{honest, violated("alive"), 0},
		{honest, violated("all-sold"), 0},
		{wrong, `{"verdict":"NOT_COVERED"}`, 0},
		{honest, `{"verdict":"INCONCLUSIVE"}`, 0},
	} {
		trials, err := judged(t, place(t, map[string]string{"histories/a.buys": c.buys, "histories/a.json": c.cell}))
		if err != nil {
			t.Fatal(err)
		}
		v := verdicts{Trials: trials}
		if n := v.print(io.Discard); n != c.want {
			t.Errorf("%s, ours %s: %d", c.cell, trials[0].ours(), n)
		}
	}
}

// One that can not be read hides no other, and says why.
func TestUnreadable(t *testing.T) {
	dir := place(t, map[string]string{"histories/a.buys": "unreadable\n", "histories/b.buys": honest,
		"histories/c.buys": "unreadable\n"})
	trials, err := judged(t, dir)
	if err == nil || strings.Count(err.Error(), "what is this?") != 2 || !strings.Contains(err.Error(), "c.buys") {
		t.Errorf("%v", err)
	}
	if trials[1].Agree != "yes" {
		t.Error(trials[1].Agree)
	}
}

// A campaign of which a file is gone since.
func TestMissingFile(t *testing.T) {
	grant := "10 1 1 %d invoke l 0 0 0\n20 1 1 %d ok l %d 1 %d\n"
	dir := place(t, map[string]string{"bin/histcheck": "#!/bin/sh\nexit 0\n", "histories/c/options": "--idle-ms 5",
		"histories/c/1.hist": fmt.Sprintf(grant, 1, 1, 1, 1), "histories/c/2.hist": "# nothing\n"})
	count := func(path string) int {
		trials, err := judged(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		v := &verdicts{Trials: trials}
		if _, err := os.Stat(path); err != nil {
			text, _ := json.Marshal(v)
			os.WriteFile(path, text, 0o666)
		}
		n, err := differences(v, path)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	path := filepath.Join(dir, "verdicts.json")
	if n := count(path) + count(path); n != 0 {
		t.Error(n)
	}
	os.Rename(filepath.Join(dir, "histories/c/2.hist"), filepath.Join(dir, "away"))
	if n := count(path); n != 1 {
		t.Errorf("without a file: %d", n)
	}
	os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "histories/c/2.hist"))
	os.WriteFile(filepath.Join(dir, "histories/c/options"), nil, 0o666)
	if n := count(path); n != 1 {
		t.Errorf("without options: %d", n)
	}
}

// What is compared: the verdicts, and what they are of.
func TestDifferences(t *testing.T) {
	before := history{File: "a", Ours: "held", Porcupine: "ok", Operations: 3, Agree: "yes", Files: []string{"1.hist", "2.hist"},
		Options: []string{"--idle-ms", "5"}}
	same := before
	others := []history{before, before, before, before}
	others[0].Operations, others[1].Agree = 2, "unknown"
	others[2].Files, others[3].Options = []string{"1.hist"}, nil
	if same.summary() != before.summary() {
		t.Error(same.summary())
	}
	for _, other := range others {
		if other.summary() == before.summary() {
			t.Error(other.summary())
		}
	}
}

// What is recorded of a trial, and the checker, are compared, too.
func TestDifferencesOfTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verdicts.json")
	now := func() *verdicts {
		return &verdicts{Checker: "c 1", Trials: []*trial{{Name: "a", Kind: "sale", Planted: "p", Cell: "BROKEN", Agree: "yes"}}}
	}
	text, _ := json.Marshal(now())
	os.WriteFile(path, text, 0o666)
	for i, change := range []func(v *verdicts){
		func(v *verdicts) {},
		func(v *verdicts) { v.Checker = "c 2" },
		func(v *verdicts) { v.Trials[0].Kind = "lock" },
		func(v *verdicts) { v.Trials[0].Planted = "" },
		func(v *verdicts) { v.Trials[0].Cell = "HELD" },
		func(v *verdicts) { v.Trials[0].Agree = "missed" },
		func(v *verdicts) { v.Trials = nil },
	} {
		v := now()
		change(v)
		if n, err := differences(v, path); err != nil || n != min(i, 1) {
			t.Errorf("change %d: %d, %v", i, n, err)
		}
	}
}

// The program compares with a file before it writes to it.
func TestComparesBeforeItWrites(t *testing.T) {
	dir := place(t, map[string]string{"histories/a.buys": honest, "verdicts.json": "{}\n"})
	path := filepath.Join(dir, "verdicts.json")
	for _, want := range []int{1, 0} {
		command := exec.Command(os.Args[0], "--programs", filepath.Join(dir, "bin"), "--compare", path, "--json", path,
			filepath.Join(dir, "histories"))
		command.Env = append(os.Environ(), "JUDGE=1")
		out, _ := command.CombinedOutput()
		if got := command.ProcessState.ExitCode(); got != want {
			t.Errorf("%d, not %d: %s", got, want, out)
		}
	}
}

// The test program is the judge, where JUDGE is set.
func TestMain(m *testing.M) {
	if os.Getenv("JUDGE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestLiesOfLocks(t *testing.T) {
	const first = "10 1 1 1 invoke l 0 0 0\n20 1 1 1 ok l 5 1 1\n40 1 1 1 release-invoke l 5 0 1\n50 1 1 1 release-ok l 5 0 1\n"
	const next = "60 2 1 1 invoke l 0 0 0\n70 2 1 1 ok l %d 1 1\n80 2 1 1 held l 6 0 1\n"
	for _, c := range []struct{ name, events, want string }{
		{"one after the other", first + fmt.Sprintf(next, 6), "ok"},
		{"no fence, where its process had one", first + "60 1 1 2 invoke l 0 0 0\n70 1 1 2 ok l 0 1 2\n80 1 1 2 held l 0 0 2\n", "illegal"},
		{"a guest who knows of no fences", first + "60 2 1 1 invoke l 0 0 0\n70 2 1 1 ok l 0 1 1\n", "ok"},
		{"a reader whose fence is lost", first + "60 2 1 1 invoke l 0 0 0 1/0\n70 2 1 1 ok l 0 1 1\n", "ok"},
		{"it was held after its release", first + "55 1 1 1 held l 5 0 1\n", "illegal"},
		{"it was held after its release, by two", first + fmt.Sprintf(next, 6) + "75 1 1 1 held l 5 0 1\n", "illegal"},
	} {
		locks, err := readLock([]io.Reader{strings.NewReader(c.events)}, "")
		if err != nil {
			t.Fatal(err)
		}
		h := history{Porcupine: "ok"}
		for _, ops := range locks {
			h.check(lockModel(), ops, time.Second)
		}
		if h.Porcupine != c.want {
			t.Errorf("%s: %s, not %s", c.name, h.Porcupine, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.hist")
	os.WriteFile(path, []byte("10 1 1 1 invoke l 0 0 0\n20 1 1 1 unknown l 0 0 0\n"), 0o666)
	h := history{Porcupine: "ok"}
	if err := h.checkLock([]string{path}, nil, limit); err != nil || h.Porcupine != "unknown" {
		t.Errorf("a campaign without a grant: %v, %s", err, h.Porcupine)
	}
}
