package builtin

import (
	"math/rand/v2"
	"sync"

	"loopbroker/engine/types"
)

// Random is the state of RAND in one session: SQL Server's generator, L'Ecuyer's
// combination of two linear congruential ones, so that RAND(seed) gives the
// documented numbers. Its zero value is ready: the first number is random.
type Random struct {
	mu     sync.Mutex
	a, b   int64
	seeded bool
}

const (
	modulusA, factorA = 2147483563, 40014
	modulusB, factorB = 2147483399, 40692

	firstB   = 67890
	zeroSeed = 12345
	toUnit   = 4.656613e-10
)

// Seed starts the sequence that belongs to seed.
func (r *Random) Seed(seed int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seed(seed)
}

func (r *Random) seed(seed int32) {
	n := int64(seed)
	if n == 0 {
		n = zeroSeed
	}
	if n < 0 {
		n = -n
	}
	r.a, r.b, r.seeded = n%modulusA, firstB, true
}

// Next is the next number, from 0 to 1 exclusive.
func (r *Random) Next() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seeded {
		r.seed(rand.Int32())
	}
	r.a = r.a * factorA % modulusA
	r.b = r.b * factorB % modulusB
	z := r.a - r.b
	if z < 1 {
		z += modulusA - 1
	}
	return float64(z) * toUnit
}

// Randomizer is an Env that keeps RAND's state for its session. An Env without
// it shares one state with all others.
type Randomizer interface {
	Random() *Random
}

var sharedRandom Random

func evalRand(c call) (types.Value, error) {
	r := &sharedRandom
	if env, ok := c.env.(Randomizer); ok {
		r = env.Random()
	}
	if len(c.args) == 1 && !c.args[0].IsNull() {
		seed, err := c.integer(0)
		if err != nil {
			return types.Null, err
		}
		r.Seed(int32(seed))
	}
	return types.NewFloat(r.Next()), nil
}
