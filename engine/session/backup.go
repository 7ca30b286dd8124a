package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// pageBytes is the size of a page, in which BACKUP counts.
const pageBytes = 8192

// backupStatement compiles BACKUP DATABASE.
func (c *compiler) backupStatement(s syntax.Statement) bool {
	b, ok := s.(*syntax.Backup)
	if !ok {
		return false
	}
	run := &backupRun{database: newLazyExpr(b.Database), file: newLazyExpr(b.File), flags: map[string]bool{}, values: map[string]*lazyExpr{}}
	for _, o := range b.Options {
		run.flags[o.Name] = true
		run.values[o.Name] = optionalExpr(o.Value)
	}
	c.emit(s, func(x *Session, f *frame) error {
		err := run.run(x, f)
		var e *sqlerr.Error
		switch {
		case err == nil:
			x.rowCount, x.lastError = 0, 0
		case errors.As(err, &e) && e.Number != 40510:
			return x.after(e, sqlerr.New(3013, "BACKUP DATABASE"))
		}
		return err
	})
	return true
}

// backupRun is a BACKUP DATABASE statement.
type backupRun struct {
	database, file *lazyExpr
	flags          map[string]bool
	values         map[string]*lazyExpr // nil where an option has none
}

// backupConflicts are the options that exclude each other.
var backupConflicts = [][2]string{{"NOINIT", "INIT"}, {"NOFORMAT", "FORMAT"}, {"NOINIT", "FORMAT"}, {"NO_COMPRESSION", "COMPRESSION"}}

// run makes the backup, error 3021, 3031, 3147 and those of the file.
func (b *backupRun) run(x *Session, f *frame) error {
	if x.txn.count > 0 || x.txn.tx != nil {
		return sqlerr.New(3021)
	}
	for _, c := range backupConflicts {
		if b.flags[c[0]] && b.flags[c[1]] {
			return sqlerr.New(3031, c[0], c[1])
		}
	}
	db, err := b.target(x, f)
	if err != nil {
		return err
	}
	path, err := b.path(x, f)
	if err != nil {
		return err
	}
	release, err := claimPath(path)
	if err != nil {
		return deviceError(path, err)
	}
	defer release()
	if err := b.mayReplace(x, path); err != nil {
		return err
	}
	o := catalog.BackupOptions{Compress: b.flags["COMPRESSION"]}
	if o.Name, err = b.text(x, f, "NAME", 128); err != nil {
		return err
	}
	if o.Description, err = b.text(x, f, "DESCRIPTION", 255); err != nil {
		return err
	}
	progress, err := b.progress(x, f)
	if err != nil {
		return err
	}
	o.Progress = progress.done
	began := time.Now()
	info, err := x.srv.cat.Backup(x.ctx, db, path, o)
	switch {
	case err != nil && (x.interrupted() != nil || errors.Is(err, storage.ErrLogFailed) || errors.Is(err, storage.ErrClosed)):
		return x.sqlError(err)
	case err != nil:
		return deviceError(path, err)
	}
	progress.done(1, 1)
	b.report(x, db, info, time.Since(began))
	return nil
}

// target is the database, error 911, 916, 262 and 3147.
func (b *backupRun) target(x *Session, f *frame) (*catalog.Database, error) {
	v, err := b.database.eval(x, f)
	if err != nil {
		return nil, err
	}
	if v, err = types.Convert(v, sysname, 0); err != nil {
		return nil, err
	}
	if v.IsNull() || v.Text() == "" {
		return nil, sqlerr.New(3025)
	}
	db, ok := x.srv.cat.Database(v.Text())
	if !ok {
		return nil, sqlerr.WithState(911, 11, v.Text())
	}
	if db.ID == catalog.TempDBID {
		return nil, sqlerr.New(3147)
	}
	user := x.userIn(db)
	if user == nil {
		return nil, sqlerr.New(916, x.ident.login.Name, db.Name)
	}
	if !x.owns(db) && !mayBackup(db, user) {
		return nil, sqlerr.New(262, "BACKUP DATABASE", db.Name)
	}
	return db, nil
}

// mayBackup reports whether a user that does not own the database may save it.
func mayBackup(db *catalog.Database, user *catalog.Principal) bool {
	granted, denied := db.GrantedInDatabase(user.ID, "BACKUP DATABASE")
	return !denied && (granted || db.IsMember(user.ID, "db_backupoperator"))
}

// path is the file. A path that is not absolute is one in the directory for
// backups, inside the data directory.
func (b *backupRun) path(x *Session, f *frame) (string, error) {
	v, err := b.file.eval(x, f)
	if err != nil {
		return "", err
	}
	if v, err = types.Convert(v, types.NVarChar(4000), 0); err != nil {
		return "", err
	}
	path := v.Text()
	if v.IsNull() || path == "" {
		return "", sqlerr.New(3044)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := x.srv.store.BackupDir()
	if err != nil {
		return "", deviceError(path, err)
	}
	if dir == "" {
		return "", sqlerr.Unsupported("BACKUP DATABASE to a relative path, without a data directory")
	}
	if !filepath.IsLocal(path) {
		return "", sqlerr.New(3038, path)
	}
	return filepath.Join(dir, path), nil
}

// mayReplace checks what is there under the path: nothing, or something that the
// options let go. A backup is never appended to another.
func (b *backupRun) mayReplace(x *Session, path string) error {
	isBackup, err := x.srv.store.IsBackup(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && b.flags["FORMAT"]:
		return nil
	case err != nil:
		return deviceError(path, err)
	case !b.flags["INIT"]:
		return sqlerr.Unsupported("BACKUP DATABASE WITH NOINIT, to a file that exists")
	case !isBackup:
		return sqlerr.New(3242, path)
	}
	return nil
}

// text is the value of an option, error 3217 when it is too long.
func (b *backupRun) text(x *Session, f *frame, option string, longest int) (string, error) {
	e := b.values[option]
	if e == nil {
		return "", nil
	}
	v, err := e.eval(x, f)
	if err != nil || v.IsNull() {
		return "", err
	}
	if v, err = types.Convert(v, textMax, 0); err != nil {
		return "", err
	}
	if len([]rune(v.Text())) > longest {
		return "", sqlerr.New(3217, option)
	}
	return v.Text(), nil
}

// progress prepares the messages of STATS, of which 10 percent is the default.
func (b *backupRun) progress(x *Session, f *frame) (*backupProgress, error) {
	p := &backupProgress{x: x}
	if !b.flags["STATS"] {
		return p, nil
	}
	p.step = 10
	if e := b.values["STATS"]; e != nil {
		v, err := e.eval(x, f)
		if err != nil {
			return nil, err
		}
		if v, err = types.Convert(v, types.TypeInt, 0); err != nil {
			return nil, err
		}
		if p.step = v.Int(); v.IsNull() || p.step < 1 || p.step > 100 {
			return nil, sqlerr.New(3217, "STATS")
		}
	}
	p.next = p.step
	return p, nil
}

// backupProgress tells the client how far a backup is, message 3211.
type backupProgress struct {
	x          *Session
	step, next int64
}

func (p *backupProgress) done(rows, total int64) {
	if p.step == 0 || total == 0 {
		return
	}
	percent := min(rows*100/total, 100)
	if percent < p.next {
		return
	}
	percent -= percent % p.step
	if rows >= total {
		percent = 100
	}
	p.next = percent + p.step
	_, text, _ := sqlerr.Template(3211)
	p.x.inform(3211, 1, fmt.Sprintf(text, percent))
	if percent == 100 {
		p.step = 0
	}
}

// report tells the client what was done, messages 4035 and 3014.
func (b *backupRun) report(x *Session, db *catalog.Database, info storage.BackupInfo, took time.Duration) {
	pages := (info.Bytes + pageBytes - 1) / pageBytes
	_, text, _ := sqlerr.Template(4035)
	x.inform(4035, 1, fmt.Sprintf(text, pages, db.Name, db.Name, 1))
	ms := max(took.Milliseconds(), 1)
	rate := pages * pageBytes * 1000 / ms * 1000 / (1 << 20) // thousandths of MB per second
	_, text, _ = sqlerr.Template(3014)
	x.inform(3014, 1, fmt.Sprintf(text, "BACKUP DATABASE", pages, thousandths(ms), thousandths(rate)))
}

func thousandths(n int64) string { return fmt.Sprintf("%d.%03d", n/1000, n%1000) }

// backupPaths are the files that are being written by this process.
var backupPaths sync.Map

var errPathInUse = errors.New("32(The process cannot access the file because it is being used by another process.)")

// claimPath keeps two backups from writing one file at a time.
func claimPath(path string) (release func(), err error) {
	if _, taken := backupPaths.LoadOrStore(path, true); taken {
		return nil, errPathInUse
	}
	return func() { backupPaths.Delete(path) }, nil
}

// deviceError is error 3201 for a file that cannot be opened, and 3202 for one
// that cannot be written.
func deviceError(path string, err error) error {
	var p *os.PathError
	if errors.Is(err, errPathInUse) || errors.As(err, &p) && p.Op == "open" {
		return sqlerr.New(3201, path, systemError(err))
	}
	return sqlerr.New(3202, path, systemError(err))
}

// systemError is an error of the operating system as messages show it, with the
// number and the text of Windows for those that people look up.
func systemError(err error) string {
	var no syscall.Errno
	switch {
	case errors.Is(err, errPathInUse):
		return errPathInUse.Error()
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrNotExist):
		return "3(The system cannot find the path specified.)"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EROFS):
		return "5(Access is denied.)"
	case errors.Is(err, syscall.ENOSPC):
		return "112(There is not enough space on the disk.)"
	case errors.As(err, &no):
		return fmt.Sprintf("%d(%s)", int(no), no.Error())
	}
	return "(" + err.Error() + ")"
}
