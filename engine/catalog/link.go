package catalog

import "slices"

// LinkedServer is a row of sys.servers, with its logins.
type LinkedServer struct {
	ID         int32
	Name       string
	Product    string
	Provider   string
	DataSource string
	ProviderString,
	Catalog string
	RPC, RPCOut, DataAccess bool
	CollationCompatible     bool
	UseRemoteCollation      bool
	PromoteTransactions     bool // 'remote proc transaction promotion'
	ConnectTimeout          int  // seconds, 0 for the server's default
	QueryTimeout            int  // seconds, 0 for the server's default
	Mappings                []LoginMapping
}

// LoginMapping says as whom a local login appears at a linked server.
type LoginMapping struct {
	// Local is the local login; empty for the mapping of all others.
	Local string
	// Self sends the login's own credentials.
	Self     bool
	User     string
	Password string
}

// Clone returns a copy that can be changed.
func (l *LinkedServer) Clone() *LinkedServer {
	c := *l
	c.Mappings = slices.Clone(l.Mappings)
	return &c
}

// Mapping returns the mapping that applies to a local login: its own, else
// that of all others. ok is false when there is none.
func (l *LinkedServer) Mapping(login string) (m LoginMapping, ok bool) {
	for _, c := range l.Mappings {
		if Fold(c.Local) == Fold(login) {
			return c, true
		}
		if c.Local == "" {
			m, ok = c, true
		}
	}
	return m, ok
}

// LinkedServer returns a linked server by name.
func (s *Server) LinkedServer(name string) (*LinkedServer, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, ok := s.links[Fold(name)]
	return l, ok
}

// LinkedServers returns all linked servers by name.
func (s *Server) LinkedServers() []*LinkedServer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*LinkedServer, 0, len(s.links))
	for _, l := range s.links {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *LinkedServer) int { return int(a.ID - b.ID) })
	return out
}

// Config returns a value of sp_configure.
func (s *Server) Config(name string) (int64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.configs[Fold(name)]
	return v, ok
}
