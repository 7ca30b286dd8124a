package builtin

import (
	"sync"

	"loopbroker/engine/types"
)

// patterns are the patterns that were used lately.
var patterns patternCache

// patternCache keeps compiled patterns without ESCAPE: a program that matches
// with a pattern does so again and again. It is safe for concurrent use.
type patternCache struct {
	mu    sync.RWMutex
	items map[patternKey]*Pattern
}

type patternKey struct {
	pattern   string
	collation *types.Collation
	unicode   bool
}

const (
	maxPatterns = 256 // all are dropped when there are more
	maxPattern  = 256 // bytes; longer ones are not kept
)

// compile is CompileLike.
func (c *patternCache) compile(pattern string, collation *types.Collation, unicode bool) (*Pattern, error) {
	key := patternKey{pattern, collation, unicode}
	c.mu.RLock()
	p := c.items[key]
	c.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	p, err := CompileLike(pattern, nil, collation, unicode)
	if err != nil || len(pattern) > maxPattern {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil || len(c.items) >= maxPatterns {
		c.items = make(map[patternKey]*Pattern, maxPatterns)
	}
	c.items[key] = p
	return p, nil
}
