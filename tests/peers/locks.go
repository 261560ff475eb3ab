// The sale that reads and then writes, under the lock of each popular library.
package main

import (
	"net/http"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/rueidis/rueidislock"
)

const (
	redsyncTries    = 10000 // it would refuse most buyers after its 32
	redislockLease  = 8 * time.Second
	redislockPause  = 5 * time.Millisecond // between two tries; by itself it tries once
	redislockName   = "lock2"
	redsyncName     = "lock"
	rueidislockName = "lock3"
)

// underLock sells between acquire and the release that it returns.
func (s *shop) underLock(acquire func() (release func(), err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		release, err := acquire()
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.readThenWrite(w)
		release()
	}
}

func (s *shop) lockedRoutes(socket string) error {
	sync := redsync.New(goredis.NewPool(s.classic))
	http.HandleFunc("/redsync", s.underLock(func() (func(), error) {
		mutex := sync.NewMutex(redsyncName, redsync.WithTries(redsyncTries))
		return func() { mutex.Unlock() }, mutex.Lock()
	}))

	obtainer := redislock.New(s.classic)
	http.HandleFunc("/redislock", s.underLock(func() (func(), error) {
		again := &redislock.Options{RetryStrategy: redislock.LinearBackoff(redislockPause)}
		lock, err := obtainer.Obtain(background, redislockName, redislockLease, again)
		return func() { lock.Release(background) }, err
	}))

	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: onSocket(socket), KeyMajority: 1, NoLoopTracking: true})
	if err != nil {
		return err
	}
	http.HandleFunc("/rueidislock", s.underLock(func() (func(), error) {
		_, release, err := locker.WithContext(background, rueidislockName)
		return release, err
	}))
	return nil
}
