package session

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// lockResource is what is locked, in the words of the views.
type lockResource struct {
	kind, subtype string
	description   string
	database      uint32
	entity        int64 // object id of an object, hobt id of a row
	principal     int32 // of an application lock
}

// lockResource names the resource of a lock.
func (s *Server) lockResource(l *storage.LockInfo) lockResource {
	r := lockResource{kind: l.Kind, database: l.Space, description: l.Description}
	object := int32(uint32(l.Object))
	switch l.Kind {
	case "OBJECT":
		r.description, r.entity = "", int64(object)
	case "KEY":
		index := int32(l.Index)
		if index == 0 {
			index = catalog.ClusteredIndexID
		}
		r.entity = catalog.HobtID(object, index)
	case "RID":
		r.entity = catalog.HobtID(object, catalog.HeapIndexID)
	case "APPLICATION":
		r.principal, r.description = applicationDescription(l.Description)
	case "METADATA":
		r.subtype, r.description = "QNAME_HASH", s.nameDescription(l)
	}
	return r
}

// nameDescription describes the lock on the name of an object, which the store
// knows as schema.name.
func (s *Server) nameDescription(l *storage.LockInfo) string {
	schema, _, _ := strings.Cut(l.Description, ".")
	var scope int32
	if db, ok := s.cat.DatabaseByID(l.Space); ok {
		if sc, ok := db.Schema(schema); ok {
			scope = sc.ID
		}
	}
	return fmt.Sprintf("$qname_scope_id = %d, $qname_hash = 0x%08x", scope, hash32(l.Description))
}

func hash32(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash takes all
	return h.Sum32()
}

// maxApplicationText is how much of the name of an application lock is shown.
const maxApplicationText = 32

// applicationDescription takes the name of an application lock apart:
// principal:[begin of the resource]:(hash).
func applicationDescription(name string) (principal int32, description string) {
	id, resource, _ := strings.Cut(name, applicationSeparator)
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return 0, name
	}
	begin := []rune(resource)
	begin = begin[:min(len(begin), maxApplicationText)]
	return int32(n), fmt.Sprintf("%d:[%s]:(%08x)", n, string(begin), hash32(resource))
}

// waitResource is the resource as sys.dm_exec_requests names it.
func waitResource(r lockResource) string {
	switch r.kind {
	case "KEY":
		return fmt.Sprintf("KEY: %d:%d %s", r.database, r.entity, r.description)
	case "OBJECT":
		return fmt.Sprintf("OBJECT: %d:%d:0 ", r.database, r.entity)
	case "DATABASE":
		return fmt.Sprintf("DATABASE: %d:0 ", r.database)
	case "METADATA":
		return fmt.Sprintf("METADATA: database_id = %d %s(%s), lockPartitionId = 0", r.database, r.subtype, r.description)
	}
	return fmt.Sprintf("%s: %d:%s", r.kind, r.database, r.description)
}

// taskResource is the resource as sys.dm_os_waiting_tasks describes it.
func (r *lockResource) taskResource(l *storage.LockInfo, mode string) string {
	var what string
	switch r.kind {
	case "DATABASE":
		what = fmt.Sprintf("databaselock subresource=FULL dbid=%d", r.database)
	case "OBJECT":
		what = fmt.Sprintf("objectlock lockPartition=0 objid=%d subresource=FULL dbid=%d", r.entity, r.database)
	case "KEY":
		what = fmt.Sprintf("keylock hobtid=%d dbid=%d", r.entity, r.database)
	case "RID":
		file, page := "1", r.description
		if parts := strings.Split(r.description, ":"); len(parts) == 3 {
			file, page = parts[0], parts[1]
		}
		what = fmt.Sprintf("ridlock fileid=%s pageid=%s dbid=%d", file, page, r.database)
	case "APPLICATION":
		what = fmt.Sprintf("applicationlock hash=%s databasePrincipalId=%d dbid=%d", r.description, r.principal, r.database)
	default:
		what = fmt.Sprintf("metadatalock subresource=%s classid=%s dbid=%d", r.subtype, r.description, r.database)
	}
	return fmt.Sprintf("%s id=lock%x mode=%s associatedObjectId=%d", what, binary.BigEndian.Uint64(lockAddress(l)), mode, r.entity)
}

// sameResource reports whether two locks are on one resource.
func sameResource(a, b *storage.LockInfo) bool {
	return a.Kind == b.Kind && a.Space == b.Space && a.Object == b.Object && a.Index == b.Index && a.Row == b.Row && a.Description == b.Description
}

// lockAddress stands for the address of a lock request: the same in every view.
func lockAddress(l *storage.LockInfo) []byte {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, l.Kind, l.Space, l.Object, l.Index, l.Row, l.Description, l.Session, l.Tx) // a hash takes all
	return binary.BigEndian.AppendUint64(nil, h.Sum64()>>16)
}

// lockRow is a row of sys.dm_tran_locks.
type lockRow struct {
	lockResource
	mode, status string
	session      int32
	tx           uint64 // 0 for a lock that the session owns
	owner        string
	space        string // lockspace
	address      []byte
}

// lockRows are all locks. The shared lock of each session on its database is
// not taken, for it has nothing to wait for: it is shown. As in SQL Server there
// is none on master and tempdb.
func lockRows(x *Session) []lockRow {
	var rows []lockRow
	for _, i := range visibleSessions(x) {
		if i.Database == "master" || i.Database == "tempdb" {
			continue
		}
		l := storage.LockInfo{Kind: "DATABASE", Space: i.DatabaseID, ModeName: "S", Status: "GRANT", Session: i.ID}
		rows = append(rows, x.srv.lockRow(&l, "SHARED_TRANSACTION_WORKSPACE"))
	}
	locks := x.srv.store.Locks()
	for i := range locks {
		owner := "TRANSACTION"
		if locks[i].Tx == 0 {
			owner = "SESSION"
		}
		rows = append(rows, x.srv.lockRow(&locks[i], owner))
	}
	return rows
}

func (s *Server) lockRow(l *storage.LockInfo, owner string) lockRow {
	return lockRow{
		lockResource: s.lockResource(l), mode: l.ModeName, status: l.Status, session: l.Session, tx: l.Tx, owner: owner,
		space: fmt.Sprintf("0x%016X:0:0", uint64(uint32(l.Session))<<40|l.Tx), address: lockAddress(l),
	}
}

// lifetime is what SQL Server shows in the undocumented column of that name: a
// bit for locks that are kept to the end of the transaction.
func (r *lockRow) lifetime() int64 {
	if r.tx != 0 {
		return 0x2000000
	}
	return 0
}

func init() {
	stateView("dm_tran_locks", lockRows,
		word("resource_type", text60, func(r *lockRow) string { return r.kind }),
		word("resource_subtype", text60, func(r *lockRow) string { return r.subtype }),
		number("resource_database_id", types.TypeInt, func(r *lockRow) int64 { return int64(r.database) }),
		word("resource_description", text256, func(r *lockRow) string { return r.description }),
		number("resource_associated_entity_id", types.TypeBigInt, func(r *lockRow) int64 { return r.entity }),
		fixed[lockRow]("resource_lock_partition", types.TypeInt, 0),
		word("request_mode", text60, func(r *lockRow) string { return r.mode }),
		word("request_type", text60, func(*lockRow) string { return "LOCK" }),
		word("request_status", text60, func(r *lockRow) string { return r.status }),
		fixed[lockRow]("request_reference_count", types.TypeSmallInt, 1),
		number("request_lifetime", types.TypeInt, (*lockRow).lifetime),
		number("request_session_id", types.TypeInt, func(r *lockRow) int64 { return int64(r.session) }),
		fixed[lockRow]("request_exec_context_id", types.TypeInt, 0),
		fixed[lockRow]("request_request_id", types.TypeInt, 0),
		word("request_owner_type", text60, func(r *lockRow) string { return r.owner }),
		number("request_owner_id", types.TypeBigInt, func(r *lockRow) int64 { return int64(r.tx) }),
		computed("request_owner_guid", types.TypeUniqueIdentifier, func(*lockRow) types.Value { return types.NewUniqueIdentifier([16]byte{}) }),
		word("request_owner_lockspace_id", text32, func(r *lockRow) string { return r.space }),
		bytesOrNull("lock_owner_address", address, func(r *lockRow) []byte { return r.address }),
	)
}
