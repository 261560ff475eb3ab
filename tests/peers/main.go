// Peers is a flash sale as a Go programmer would write it today, once for each popular way to sell
// from Redis, so that `make bench PEERS=1` can put ours beside them. README.md says what each path
// does. All libraries run with their defaults, except where a default would end the comparison:
// redsync gives up after 32 tries, and go-redis has ten connections a processor.
//
//	peers PORT REDIS_SOCKET
package main

import (
	"context"
	"crypto/tls"
	_ "embed"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const poolSize = 64 // more connections than go-redis opens by itself, as ours has more than one

//go:embed take.lua
var takeScript string

//go:embed sell.lua
var sellScript string

// A shop has the clients, and numbers the requests of its process.
type shop struct {
	port    string
	classic *redis.Client  // a pool of connections, a command at a time on each
	pipe    rueidis.Client // one connection, on which commands of all requests are pipelined
	count   atomic.Int64
}

func (s *shop) requestID() string {
	return s.port + "-" + strconv.FormatInt(s.count.Add(1), 10)
}

func tellSold(w http.ResponseWriter, order string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"status":"ok","order":"%s"}`, order)
}

func tellSoldOut(w http.ResponseWriter) { w.WriteHeader(http.StatusConflict) }

// What a request does not wait for is not cancelled with it: a sale goes on to its end.
var background = context.Background()

// readThenWrite is the sale that needs a lock around it.
func (s *shop) readThenWrite(w http.ResponseWriter) {
	id := s.requestID()
	left, _ := s.classic.Get(background, "stock").Int()
	if left < 1 {
		tellSoldOut(w)
		return
	}
	s.classic.Set(background, "stock", left-1, 0)
	s.classic.HSet(background, "orders", id, "u1;1")
	tellSold(w, id)
}

// scripted sells by the small script, which call runs with these keys and arguments.
func (s *shop) scripted(call func(keys, args []string) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		id := s.requestID()
		said, err := call([]string{"stock", "orders"}, []string{id, "u1;1"})
		if err != nil || said != "ok" {
			tellSoldOut(w)
			return
		}
		tellSold(w, id)
	}
}

// equalWork sells by the script that does all that the service does.
func (s *shop) equalWork() http.HandlerFunc {
	script := rueidis.NewLuaScript(sellScript)
	keys := []string{"cur", "stock", "sold", "orders", "ledger"}
	return func(w http.ResponseWriter, r *http.Request) {
		args := []string{s.requestID(), "u" + r.URL.Query().Get("user")}
		order, err := script.Exec(background, s.pipe, keys, args).ToString()
		if err != nil || order == "sold_out" || order == "closed" {
			log.Println(order, err)
			tellSoldOut(w)
			return
		}
		tellSold(w, order)
	}
}

func (s *shop) routes() {
	classic := redis.NewScript(takeScript)
	piped := rueidis.NewLuaScript(takeScript)
	http.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { tellSold(w, "x") })
	http.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { s.readThenWrite(w) })
	http.HandleFunc("/lua", s.scripted(func(keys, args []string) (string, error) {
		return classic.Run(background, s.classic, keys, args[0], args[1]).Text()
	}))
	http.HandleFunc("/rueidislua", s.scripted(func(keys, args []string) (string, error) {
		return piped.Exec(background, s.pipe, keys, args).ToString()
	}))
	http.HandleFunc("/fairlua", s.equalWork())
}

// onSocket makes rueidis, which knows addresses only, connect to a Unix socket.
func onSocket(path string) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: []string{path},
		DialCtxFn: func(ctx context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		},
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: peers PORT REDIS_SOCKET")
		os.Exit(64)
	}
	port, socket := os.Args[1], os.Args[2]
	pipe, err := rueidis.NewClient(onSocket(socket))
	if err != nil {
		log.Fatal(err)
	}
	s := &shop{port: port, pipe: pipe, classic: redis.NewClient(
		&redis.Options{Network: "unix", Addr: socket, PoolSize: poolSize})}
	s.routes()
	if err := s.lockedRoutes(socket); err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
