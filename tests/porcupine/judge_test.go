package main

// Each model takes an honest history, and refuses each kind of lie.

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const limit = 10 * time.Second

func verdictOfSale(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.buys")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	h := history{Porcupine: "ok"}
	if err := h.checkSale(path, limit); err != nil {
		t.Fatal(err)
	}
	return h.Porcupine
}

// Two units of a, one of b, whose answer was lost, and nothing left for c.
const honest = `flashsale-history 2
sale id=5f item=P strategy=atomic durability=memory stock=3 limit=2 segments=0 lease_us=0 guarded=1 fences=1
ask from=10 to=30 request=a user=u1 quantity=2 target=0 status=201 order=5f-e-1 remaining=1 fence=7 state=sold
ask from=20 to=40 request=b user=u2 quantity=1 target=1 status=0
stock from=32 to=36 target=0 remaining=1 units=2
ask from=50 to=60 request=c user=u3 quantity=1 target=0 status=409 code=sold_out
ask from=62 to=64 request=a2 user=u1 quantity=1 target=0 status=409 code=limit_reached
ask from=65 to=66 request=a user=u1 quantity=2 target=2 status=201 order=5f-e-1 remaining=1 fence=7 state=sold
look from=70 to=80 request=b target=1 status=200 order=5f-e-2 remaining=0 fence=8 told_user=u2 told_quantity=1 state=sold
look from=70 to=80 request=c target=1 status=404 code=no_such_order final=1
order segment=0 number=1 request=a user=u1 quantity=2 remaining=1 fence=7 state=sold
order segment=0 number=2 request=b user=u2 quantity=1 remaining=0 fence=8 state=sold
rest segment=0 remaining=0
end
`

// The second order was made behind a failover.
var epochs = strings.NewReplacer("guarded=1", "guarded=1 failovers=1", "5f-e-2", "5f-f-2",
	"order segment=0 number=1", "order order=5f-e-1", "order segment=0 number=2", "order order=5f-f-2").Replace(honest)

// One is reserved and cancelled, one reserved and confirmed, one expires.
const reserving = `flashsale-history 2
sale id=5f item=P strategy=atomic durability=memory stock=2 limit=2 segments=0 lease_us=0 guarded=1 reserve_us=100
ask from=10 to=20 request=a user=u1 quantity=1 target=0 status=201 order=5f-e-1 remaining=1 fence=0 state=reserved
ask from=30 to=40 request=b user=u2 quantity=1 target=0 status=201 order=5f-e-2 remaining=0 fence=0 state=reserved
cancel from=50 to=60 request=a target=0 status=200 order=5f-e-1 remaining=1 fence=0 told_user=u1 told_quantity=1 state=cancelled
ask from=70 to=80 request=c user=u3 quantity=1 target=0 status=201 order=5f-e-3 remaining=0 fence=0 state=reserved
confirm from=90 to=95 request=b target=0 status=200 order=5f-e-2 remaining=0 fence=0 told_user=u2 told_quantity=1 state=sold
ask from=100 to=110 request=d user=u4 quantity=1 target=0 status=409 code=sold_out
ask from=180 to=190 request=e user=u4 quantity=1 target=0 status=201 order=5f-e-4 remaining=0 fence=0 state=reserved
confirm from=195 to=196 request=e target=0 status=200 order=5f-e-4 remaining=0 fence=0 told_user=u4 told_quantity=1 state=sold
order segment=0 number=1 request=a user=u1 quantity=1 remaining=1 fence=0 state=cancelled expires_us=110
order segment=0 number=2 request=b user=u2 quantity=1 remaining=0 fence=0 state=sold expires_us=130
order segment=0 number=3 request=c user=u3 quantity=1 remaining=0 fence=0 state=expired expires_us=170
order segment=0 number=4 request=e user=u4 quantity=1 remaining=0 fence=0 state=sold expires_us=280
rest segment=0 remaining=0
end
`

// Its time is over, and nobody has wanted the unit since.
const lazy = `flashsale-history 2
sale id=5f item=P strategy=atomic durability=memory stock=9 limit=2 segments=0 lease_us=0 guarded=1 reserve_us=100
ask from=10 to=20 request=a user=u1 quantity=1 target=0 status=201 order=5f-e-1 remaining=8 fence=0 state=reserved
confirm from=150 to=160 request=a target=0 status=409 code=reservation_expired
look from=170 to=180 request=a target=0 status=200 order=5f-e-1 remaining=8 fence=0 told_user=u1 told_quantity=1 state=expired
order segment=0 number=1 request=a user=u1 quantity=1 remaining=8 fence=0 state=reserved expires_us=110
rest segment=0 remaining=8
end
`

// The ledger tells when it was made, so that it tells for how long it was reserved.
var timed = strings.Replace(lazy, "expires_us=110", "time_us=1000 expires_us=100000", 1)

// It is bought and confirmed in one script, whose answer was lost.
const silent = `flashsale-history 2
sale id=5f item=P strategy=atomic durability=memory stock=9 limit=2 segments=0 lease_us=0 guarded=1 reserve_us=100
ask from=10 to=20 request=a user=u1 quantity=1 target=0 status=0
confirm from=10 to=20 request=a target=0 status=0
cancel from=30 to=40 request=a target=0 status=409 code=order_sold
order segment=0 number=1 request=a user=u1 quantity=1 remaining=8 fence=0 state=sold expires_us=110
rest segment=0 remaining=8
end
`

// Nothing fails over in it.
var calm = strings.Replace(timed, "reserve_us=100", "reserve_us=100 failovers=0", 1)

// Two segments, of one unit each.
const sharded = `flashsale-history 2
sale id=5f item=P strategy=sharded durability=memory stock=2 limit=0 segments=2 lease_us=0 guarded=1
ask from=10 to=20 request=a user=u1 quantity=1 target=0 status=201 order=5f-1-e-1 remaining=0 fence=0 state=sold
ask from=30 to=40 request=b user=u2 quantity=1 target=0 status=201 order=5f-0-e-1 remaining=0 fence=0 state=sold
ask from=50 to=60 request=c user=u3 quantity=1 target=0 status=409 code=sold_out
order segment=1 number=1 request=a user=u1 quantity=1 remaining=0 fence=0 state=sold
order segment=0 number=1 request=b user=u2 quantity=1 remaining=0 fence=0 state=sold
rest segment=0 remaining=0
rest segment=1 remaining=0
end
`

// What replaces what, in which history, and what comes of it. Old "": the new line is added.
var lies = []struct{ name, of, old, new, want string }{
	{"honest", honest, "", "", "ok"},
	{"a buy without an answer took no effect", honest,
		"order segment=0 number=2", "# ", "illegal"}, // it was found
	{"a lost update: two take the same unit", honest, "remaining=0 fence=8", "remaining=1 fence=8", "illegal"},
	{"oversold", honest, "stock=3", "stock=2", "illegal"},
	{"a unit in no order", honest, "stock=3", "stock=4", "illegal"},
	{"units that are gone at rest", honest, "rest segment=0 remaining=0", "rest segment=0 remaining=1", "illegal"},
	{"a lost order", honest, "order segment=0 number=1 request=a", "# ", "illegal"},
	{"an order that stands there twice", honest, "",
		"order segment=0 number=3 request=b user=u2 quantity=1 remaining=0 fence=8 state=sold", "illegal"},
	{"an order that nobody asked for", honest, "",
		"order segment=0 number=3 request=x user=u9 quantity=1 remaining=0 fence=8 state=sold", "illegal"},
	{"a retry that gets another order", honest, "target=2 status=201 order=5f-e-1", "target=2 status=201 order=5f-e-3",
		"illegal"},
	{"a retry that a 202 tells another order", honest, "target=2 status=201 order=5f-e-1", "target=2 status=202 order=5f-e-3",
		"illegal"},
	{"a retry that a 202 tells its order", honest, "target=2 status=201", "target=2 status=202", "ok"},
	{"a buy that only a 202 answers", honest, "target=1 status=0", "target=1 status=202", "ok"},
	{"a buy that is sent elsewhere", honest, "target=1 status=0", "target=1 status=302", "ok"},
	{"a retry that is refused", honest, "",
		"ask from=90 to=91 request=a user=u1 quantity=2 target=0 status=409 code=sold_out", "illegal"},
	{"sold out before it was", honest, "ask from=50 to=60", "ask from=1 to=2", "illegal"},
	{"a limit that was not reached", honest, "from=62 to=64", "from=1 to=2", "illegal"},
	{"a limit that is passed", honest, "limit=2", "limit=1", "illegal"},
	{"an order of somebody else", honest, "told_user=u2", "told_user=u3", "illegal"},
	{"more units than were asked for", honest, "told_user=u2 told_quantity=1", "told_user=u2 told_quantity=2", "illegal"},
	{"an order that is not found", honest, "", "look from=90 to=95 request=a target=1 status=404 code=no_such_order",
		"illegal"},
	{"a stale reading of the stock", honest, "stock from=32 to=36 target=0 remaining=1 units=2",
		"stock from=32 to=36 target=0 remaining=3 units=0", "illegal"},
	{"a fence that falls", honest, "fence=8", "fence=6", "illegal"},
	{"a final no that is followed by a yes", honest, "",
		"look from=5 to=6 request=b target=1 status=404 code=no_such_order final=1", "illegal"},
	{"a ledger that tells the epoch", honest, "order segment=0 number=2", "order order=5f-e-2", "ok"},
	{"an order of another epoch than was told", honest, "order segment=0 number=2", "order order=5f-f-2", "illegal"},
	{"an epoch that changes", strings.Replace(epochs, "failovers=1", "failovers=0", 1), "", "", "illegal"},
	{"an epoch that changes behind a failover", epochs, "", "", "ok"},
	{"an order in a sale that is closed", honest, "",
		"ask from=1 to=2 request=y user=u7 quantity=1 target=0 status=409 code=sale_closed", "illegal"},
	{"an order of another sale", honest, "target=0 status=201 order=5f-e-1", "target=0 status=201 order=60-e-1", "illegal"},
	{"an answer that names its sale and item", honest, "target=2 status=201", "target=2 status=201 sale=5f told_item=P", "ok"},
	{"an answer that names another sale", honest, "target=2 status=201", "target=2 status=201 sale=60", "illegal"},
	{"an answer that names another item", honest, "target=2 status=201", "target=2 status=201 told_item=Q", "illegal"},
	{"a history that was cut off", honest, "\nend\n", "\n", "unknown"},
	{"no ledger", honest, "rest segment=0 remaining=0\n", "", "unknown"},
	{"a strategy that is not guarded shows a buy half done", strings.ReplaceAll(honest, "guarded=1", "guarded=0"),
		"remaining=1 units=2", "remaining=0 units=2", "ok"},

	{"reservations", reserving, "", "", "ok"},
	{"sold out while a unit is back", reserving, "from=100 to=110", "from=62 to=65", "illegal"},
	{"a unit that comes back too early", reserving, "from=180 to=190", "from=120 to=130", "illegal"},
	{"one that comes back early where clocks move", strings.Replace(reserving, "from=180 to=190", "from=120 to=130", 1),
		"", "fault at=1 name=redis-clock", "ok"},
	{"confirmed and expired", reserving, "",
		"confirm from=200 to=210 request=c target=0 status=200 order=5f-e-3 remaining=0 fence=0 told_user=u3 told_quantity=1 state=sold",
		"illegal"},
	{"cancelled twice, the units too", reserving, "rest segment=0 remaining=0", "rest segment=0 remaining=1", "illegal"},
	{"refused as expired, and reserved in the ledger until somebody wants the unit", lazy, "", "", "ok"},
	{"told to be expired, and sold", lazy, "state=reserved expires", "state=sold expires", "illegal"},
	{"refused as cancelled, and sold", reserving, "",
		"confirm from=200 to=210 request=b target=0 status=409 code=order_cancelled", "illegal"},

	{"reserved for as long as was asked", timed, "", "", "ok"},
	{"reserved for longer than was asked", timed, "expires_us=100000", "expires_us=200000", "illegal"},
	{"a used id that asks for another time", timed, "", "ask from=25 to=28 request=a user=u1 quantity=1 target=0 " +
		"status=201 order=5f-e-1 remaining=8 fence=0 state=reserved reserve_us=150000", "illegal"},
	{"the limit of who has a reservation", reserving, "",
		"ask from=84 to=86 request=f user=u3 quantity=2 target=0 status=409 code=limit_reached", "ok"},
	{"the limit of who had one, and its unit is somebody else's", reserving, "",
		"ask from=200 to=210 request=f user=u3 quantity=2 target=0 status=409 code=limit_reached", "illegal"},

	{"the limit of whose reservation may not be over", calm, "",
		"ask from=299020 to=299030 request=f user=u1 quantity=2 target=0 status=409 code=limit_reached", "ok"},
	{"the limit of whose reservation is over, though its unit is not back", calm, "",
		"ask from=299021 to=299030 request=f user=u1 quantity=2 target=0 status=409 code=limit_reached", "illegal"},
	{"the same where a clock has moved", strings.Replace(calm, "failovers=0", "failovers=0\nfault at=1 name=x clocks=1", 1), "",
		"ask from=299021 to=299030 request=f user=u1 quantity=2 target=0 status=409 code=limit_reached", "ok"},
	{"bought and confirmed without an answer", silent, "", "", "ok"},
	{"sold before its confirm was sent", silent, "confirm from=10 to=20", "confirm from=50 to=60", "illegal"},
	{"reserved in between", silent, "", "look from=12 to=14 request=a target=0 status=200 order=5f-e-1 remaining=8 " +
		"fence=0 told_user=u1 told_quantity=1 state=reserved", "ok"},
	{"reserved afterwards", silent, "", "look from=42 to=44 request=a target=0 status=200 order=5f-e-1 remaining=8 " +
		"fence=0 told_user=u1 told_quantity=1 state=reserved", "illegal"},

	{"sharded", sharded, "", "", "ok"},
	{"sold out while another segment is not", sharded, "from=50 to=60", "from=22 to=25", "illegal"},
	{"more than its segment has", sharded, "order=5f-0-e-1", "order=5f-1-e-1", "illegal"},
}

func TestSale(t *testing.T) {
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			text := strings.Replace(lie.of, lie.old, lie.new, 1)
			if lie.old == "" {
				text = strings.Replace(lie.of, "\nend\n", "\n"+lie.new+"\nend\n", 1)
			}
			if (lie.old != "" || lie.new != "") && text == lie.of {
				t.Fatal("it is not in the history")
			}
			if got := verdictOfSale(t, text); got != lie.want {
				t.Errorf("%s, not %s", got, lie.want)
			}
		})
	}
}

// ---- locks --------------------------------------------------------------------------------------

func TestLock(t *testing.T) {
	const first = "10 1 1 1 invoke l 0 0 0\n20 1 1 1 ok l 5 1 1\n30 1 1 1 held l 5 0 1\n"
	const released = "40 1 1 1 release-invoke l 5 0 1\n50 1 1 1 release-ok l 5 0 1\n"
	const next = "15 2 1 1 invoke l 0 0 0\n60 2 1 1 ok l 6 1 1\n70 2 1 1 held l 6 0 1\n"
	cases := []struct{ name, events, cohort, want string }{
		{"one after the other", first + released + next, "", "ok"},
		{"a lease that ended unseen", first + next, "", "ok"},
		{"two holders", first + "80 1 1 1 held l 5 0 1\n" + next, "", "illegal"},
		{"two holders, by a release", first + "75 1 1 1 release-invoke l 5 0 1\n80 1 1 1 release-ok l 5 0 1\n" + next,
			"", "illegal"},
		{"two who were granted it at one time",
			strings.Replace(first+next, "60 2 1 1 ok", "22 2 1 1 ok", 1) + "75 1 1 1 held l 5 0 1\n", "", "illegal"},
		{"a fence that stands still", first + released + strings.ReplaceAll(next, "l 6", "l 5"), "", "illegal"},
		{"a fence that stands still in a cohort",
			first + released + strings.ReplaceAll(strings.ReplaceAll(next, "l 6", "l 5"), " 2 1 1 ", " 1 1 2 "), "l", "ok"},
		{"a fence that stands still between processes of a cohort",
			first + released + strings.ReplaceAll(next, "l 6", "l 5"), "l", "illegal"},
		{"a stale write", first + next + "80 1 1 1 guard-invoke l 5 0 1\n90 1 1 1 guard-ok l 5 0 1\n", "", "illegal"},
		{"a stale write that is refused", first + next + "80 1 1 1 guard-invoke l 5 0 1\n90 1 1 1 guard-stale l 5 0 1\n",
			"", "ok"},
		{"a write of the holder that is refused", first + "32 1 1 1 guard-invoke l 5 0 1\n35 1 1 1 guard-stale l 5 0 1\n" +
			released, "", "illegal"},
		{"a write that is refused when the lock is removed", first + "31 9 0 0 void-invoke l 0 0 0\n" +
			"32 1 1 1 guard-invoke l 5 0 1\n35 1 1 1 guard-stale l 5 0 1\n36 9 0 0 void-ok l 0 0 0\n", "", "ok"},
		{"a write that is refused under a fence that was set", first + "32 1 1 1 guard-invoke l 5 0 1\n" +
			"35 1 1 1 guard-stale l 5 0 1\n36 9 0 0 fence-set l 9 0 0\n" + released, "", "ok"},
		{"a write under a fence that was set", first + "32 9 0 0 fence-set l 9 0 0\n" +
			"33 1 1 1 guard-invoke l 5 0 1\n36 1 1 1 guard-ok l 5 0 1\n", "", "illegal"},
		{"removed, and somebody else's", first + "31 9 0 0 void-invoke l 0 0 0\n33 9 0 0 void-ok l 0 0 0\n" +
			"34 1 1 1 held l 5 0 1\n" + next, "", "ok"},
		{"removed, and there again", first + "31 9 0 0 void-invoke * 0 0 0\n33 9 0 0 void-ok * 0 0 0\n" + released, "",
			"illegal"},
		{"a reader beside a writer", first + "15 2 1 1 invoke l 0 0 0 1/0\n60 2 1 1 ok l 5 1 1\n70 2 1 1 held l 5 0 1\n" +
			"80 1 1 1 held l 5 0 1\n", "", "illegal"},
		{"two readers", "10 1 1 1 invoke l 0 0 0 1/0\n20 1 1 1 ok l 0 1 1\n15 2 1 1 invoke l 0 0 0 1/0\n" +
			"25 2 1 1 ok l 0 1 1\n30 1 1 1 held l 0 0 1\n35 2 1 1 held l 0 0 1\n", "", "ok"},
		{"three permits, and four taken", "10 1 1 1 invoke l 0 0 0 2/3\n20 1 1 1 ok l 1 1 1\n15 2 1 1 invoke l 0 0 0 2/3\n" +
			"25 2 1 1 ok l 2 1 1\n30 1 1 1 held l 1 0 1\n35 2 1 1 held l 2 0 1\n", "", "illegal"},
		{"half a line behind a kill", first + "45 1 1", "", "ok"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			locks, err := readLock([]io.Reader{strings.NewReader(c.events)}, c.cohort)
			if err != nil {
				t.Fatal(err)
			}
			h := history{Porcupine: "ok"}
			for _, ops := range locks {
				h.check(lockModel(), ops, limit)
			}
			if h.Porcupine != c.want {
				t.Errorf("%s, not %s", h.Porcupine, c.want)
			}
		})
	}
}

func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		ours      string
		violated  []string
		porcupine string
		want      string
	}{
		{"held", nil, "ok", "yes"},
		{"broken", []string{"units", "heals"}, "illegal", "yes"},
		{"broken", []string{"heals"}, "ok", "not checkable"},
		{"broken", []string{"heals"}, "illegal", "no"},
		{"broken", []string{"units"}, "ok", "no"},
		{"held", nil, "illegal", "no"},
		{"held", nil, "unknown", "unknown"},
		{"broken", []string{"units"}, "unknown", "undecided"},
		{"broken", []string{"heals"}, "unknown", "unknown"},
		{"broken", []string{"fenced"}, "ok", "no"},
		{"broken", []string{"lasts"}, "ok", "not checkable"},
		{"broken", []string{"lasts"}, "illegal", "yes"},
		{"unchecked", nil, "ok", "unknown"},
	} {
		if got := agreement(&history{Ours: c.ours, Violated: c.violated, Porcupine: c.porcupine}); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}
