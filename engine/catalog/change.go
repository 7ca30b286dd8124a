package catalog

import (
	"context"
	"slices"
	"strings"

	"loopbroker/engine/storage"
)

// Change makes changes to the catalog in one transaction: each takes effect at
// once, is undone when the transaction rolls back, and lasts when it commits.
type Change struct {
	ctx context.Context
	s   *Server
	tx  *storage.Tx
}

// Change returns the changes of a transaction.
func (s *Server) Change(ctx context.Context, tx *storage.Tx) *Change {
	return &Change{ctx: ctx, s: s, tx: tx}
}

// apply runs do now and undo when the transaction rolls back. Both run under
// the server's lock or the database's, as lock says.
func (c *Change) apply(d *Database, do, undo func()) {
	run := func(f func()) {
		if d == nil {
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			f()
			c.s.version.Add(1)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		f()
		d.version.Add(1)
	}
	run(do)
	c.tx.OnRollback(func() { run(undo) })
}

// PutObject creates an object or replaces the one with the same id.
func (c *Change) PutObject(d *Database, o Object) error {
	h := o.Head()
	if err := c.store(d.ID, classOf(o), h.ID, o); err != nil {
		return err
	}
	key := objectKey{h.SchemaID, Fold(h.Name)}
	d.mu.RLock()
	old := d.byID[h.ID]
	d.mu.RUnlock()
	c.apply(d, func() {
		if old != nil {
			oh := old.Head()
			delete(d.objects, objectKey{oh.SchemaID, Fold(oh.Name)})
		}
		d.objects[key], d.byID[h.ID] = o, o
	}, func() {
		delete(d.objects, key)
		delete(d.byID, h.ID)
		if old != nil {
			oh := old.Head()
			d.objects[objectKey{oh.SchemaID, Fold(oh.Name)}], d.byID[oh.ID] = old, old
		}
	})
	if t, ok := o.(*Table); ok && t.Identity != nil {
		c.s.attach(d.ID, h.ID, t.Identity)
	}
	if q, ok := o.(*Sequence); ok {
		c.s.attach(d.ID, h.ID, q.Counter)
	}
	return nil
}

// DropObject removes an object.
func (c *Change) DropObject(d *Database, o Object) error {
	h := o.Head()
	if err := c.remove(d.ID, classOf(o), h.ID); err != nil {
		return err
	}
	key := objectKey{h.SchemaID, Fold(h.Name)}
	c.apply(d, func() {
		delete(d.objects, key)
		delete(d.byID, h.ID)
	}, func() {
		d.objects[key], d.byID[h.ID] = o, o
	})
	return nil
}

// PutSchema creates a schema; an id of zero is replaced by a new one.
func (c *Change) PutSchema(d *Database, sc *Schema) error {
	if sc.ID == 0 {
		sc.ID = d.nextSchema.Add(1)
	}
	if err := c.store(d.ID, classSchema, sc.ID, sc); err != nil {
		return err
	}
	old := d.schemaByID[sc.ID]
	c.apply(d, func() { d.putSchema(sc) }, func() {
		delete(d.schemas, Fold(sc.Name))
		delete(d.schemaByID, sc.ID)
		if old != nil {
			d.putSchema(old)
		}
	})
	return nil
}

// DropSchema removes a schema.
func (c *Change) DropSchema(d *Database, sc *Schema) error {
	if err := c.remove(d.ID, classSchema, sc.ID); err != nil {
		return err
	}
	c.apply(d, func() {
		delete(d.schemas, Fold(sc.Name))
		delete(d.schemaByID, sc.ID)
	}, func() { d.putSchema(sc) })
	return nil
}

func (d *Database) putSchema(sc *Schema) {
	d.schemas[Fold(sc.Name)], d.schemaByID[sc.ID] = sc, sc
}

// PutType creates a user-defined type.
func (c *Change) PutType(d *Database, t *UserType) error {
	if t.ID == 0 {
		t.ID = d.nextType.Add(1)
	}
	if err := c.store(d.ID, classType, t.ID, t); err != nil {
		return err
	}
	key := objectKey{t.Schema, Fold(t.Name)}
	c.apply(d, func() { d.types[key] = t }, func() { delete(d.types, key) })
	return nil
}

// DropType removes a user-defined type.
func (c *Change) DropType(d *Database, t *UserType) error {
	if err := c.remove(d.ID, classType, t.ID); err != nil {
		return err
	}
	key := objectKey{t.Schema, Fold(t.Name)}
	c.apply(d, func() { delete(d.types, key) }, func() { d.types[key] = t })
	return nil
}

// PutPrincipal creates a user or role, or replaces the one with the same id.
func (c *Change) PutPrincipal(d *Database, p *Principal) error {
	if p.ID == 0 && Fold(p.Name) != "public" {
		p.ID = d.nextPrincipal.Add(1)
	}
	if err := c.store(d.ID, classPrincipal, p.ID, p); err != nil {
		return err
	}
	d.mu.RLock()
	old := d.byPrincID[p.ID]
	d.mu.RUnlock()
	c.apply(d, func() {
		if old != nil {
			delete(d.principals, Fold(old.Name))
		}
		d.putPrincipal(p)
	}, func() {
		delete(d.principals, Fold(p.Name))
		delete(d.byPrincID, p.ID)
		if old != nil {
			d.putPrincipal(old)
		}
	})
	return nil
}

func (d *Database) putPrincipal(p *Principal) {
	d.principals[Fold(p.Name)], d.byPrincID[p.ID] = p, p
}

// DropPrincipal removes a user or role and what was granted to it.
func (c *Change) DropPrincipal(d *Database, p *Principal) error {
	kept := slices.DeleteFunc(d.Permissions(), func(g Permission) bool { return g.Grantee == p.ID })
	if err := c.SetPermissions(d, kept); err != nil {
		return err
	}
	if err := c.remove(d.ID, classPrincipal, p.ID); err != nil {
		return err
	}
	c.apply(d, func() {
		delete(d.principals, Fold(p.Name))
		delete(d.byPrincID, p.ID)
	}, func() { d.putPrincipal(p) })
	return nil
}

// SetPermissions replaces all grants and denials of a database.
func (c *Change) SetPermissions(d *Database, grants []Permission) error {
	if err := c.store(d.ID, classPermissions, 0, grants); err != nil {
		return err
	}
	old := d.Permissions()
	c.apply(d, func() { d.grants = grants }, func() { d.grants = old })
	return nil
}

// PutLogin creates or replaces a login.
func (c *Change) PutLogin(l *Login) error {
	c.s.mu.Lock()
	if l.ID == 0 {
		c.s.nextLogin++
		l.ID = c.s.nextLogin
	}
	old := c.s.logins[Fold(l.Name)]
	c.s.mu.Unlock()
	if err := c.store(0, classLogin, l.ID, l); err != nil {
		return err
	}
	key := Fold(l.Name)
	c.apply(nil, func() { c.s.logins[key] = l }, func() { restore(c.s.logins, key, old) })
	return nil
}

// DropLogin removes a login.
func (c *Change) DropLogin(l *Login) error {
	if err := c.remove(0, classLogin, l.ID); err != nil {
		return err
	}
	key := Fold(l.Name)
	c.apply(nil, func() { delete(c.s.logins, key) }, func() { c.s.logins[key] = l })
	return nil
}

// PutLink creates or replaces a linked server.
func (c *Change) PutLink(l *LinkedServer) error {
	c.s.mu.RLock()
	if l.ID == 0 {
		for _, o := range c.s.links {
			l.ID = max(l.ID, o.ID)
		}
		l.ID++
	}
	old := c.s.links[Fold(l.Name)]
	c.s.mu.RUnlock()
	if err := c.store(0, classLink, l.ID, l); err != nil {
		return err
	}
	key := Fold(l.Name)
	c.apply(nil, func() { c.s.links[key] = l }, func() { restore(c.s.links, key, old) })
	return nil
}

// DropLink removes a linked server.
func (c *Change) DropLink(l *LinkedServer) error {
	if err := c.remove(0, classLink, l.ID); err != nil {
		return err
	}
	key := Fold(l.Name)
	c.apply(nil, func() { delete(c.s.links, key) }, func() { c.s.links[key] = l })
	return nil
}

// SetConfig sets a value of sp_configure.
func (c *Change) SetConfig(name string, value int64) error {
	key := Fold(name)
	c.s.mu.RLock()
	old := c.s.configs[key]
	all := make(map[string]int64, len(c.s.configs))
	for k, v := range c.s.configs {
		all[k] = v
	}
	c.s.mu.RUnlock()
	all[key] = value
	if err := c.store(0, classConfig, 0, all); err != nil {
		return err
	}
	c.apply(nil, func() { c.s.configs[key] = value }, func() { c.s.configs[key] = old })
	return nil
}

// DatabaseOptions are the options of ALTER DATABASE that last.
type DatabaseOptions struct {
	ReadCommittedSnapshot, AllowSnapshot bool
	DelayedDurability                    string
	Compatibility                        int32
}

// Options returns the database's options.
func (d *Database) Options() DatabaseOptions {
	return DatabaseOptions{
		ReadCommittedSnapshot: d.ReadCommittedSnapshot.Load(),
		AllowSnapshot:         d.AllowSnapshot.Load(),
		DelayedDurability:     d.DelayedDurability(),
		Compatibility:         d.CompatibilityLevel(),
	}
}

func (d *Database) setOptions(o DatabaseOptions) {
	d.ReadCommittedSnapshot.Store(o.ReadCommittedSnapshot)
	d.AllowSnapshot.Store(o.AllowSnapshot)
	mode := strings.ToUpper(o.DelayedDurability)
	d.delayedDurability.Store(&mode)
	d.compatibility.Store(o.Compatibility)
}

// SetOptions changes the options of a database.
func (c *Change) SetOptions(d *Database, o DatabaseOptions) error {
	old := d.Options()
	if err := c.store(d.ID, classDatabase, 0, storedDatabase(d, o)); err != nil {
		return err
	}
	c.apply(d, func() { d.setOptions(o) }, func() { d.setOptions(old) })
	return nil
}

// CreateDatabase makes a new database with its fixed schemas and principals.
func (c *Change) CreateDatabase(name, collation, owner string) (*Database, error) {
	c.s.mu.RLock()
	id := firstUserDatabase
	for other := range c.s.byID {
		id = max(id, other+1)
	}
	c.s.mu.RUnlock()
	d, err := newDatabase(id, name, collation, owner, c.s.Now())
	if err != nil {
		return nil, err
	}
	if err := c.store(id, classDatabase, 0, storedDatabase(d, d.Options())); err != nil {
		return nil, err
	}
	c.apply(nil, func() { c.s.putDatabase(d) }, func() { c.s.deleteDatabase(d) })
	return d, nil
}

// DropDatabase removes a database. The caller has dropped its tables.
func (c *Change) DropDatabase(d *Database) error {
	if err := c.removeAll(d.ID); err != nil {
		return err
	}
	c.apply(nil, func() { c.s.deleteDatabase(d) }, func() { c.s.putDatabase(d) })
	return nil
}

func (s *Server) putDatabase(d *Database) { s.databases[Fold(d.Name)], s.byID[d.ID] = d, d }

func (s *Server) deleteDatabase(d *Database) {
	delete(s.databases, Fold(d.Name))
	delete(s.byID, d.ID)
}

// restore puts an old entry back, or removes the key where there was none.
func restore[V any](m map[string]*V, key string, old *V) {
	if old == nil {
		delete(m, key)
		return
	}
	m[key] = old
}
