package storage_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/storage"
)

// withoutClaim takes the claim out of the control file: as after a crash of the
// machine, where it may not have reached the disk.
func withoutClaim(fs *memFS) *memFS {
	clear(fs.names["data/control"].data[512:])
	return fs
}

// unchanged reports whether two file systems hold the same files.
func unchanged(a, b *memFS) bool {
	return maps.EqualFunc(a.names, b.names, func(x, y *memFile) bool { return bytes.Equal(x.data, y.data) })
}

// refused opens a store that must refuse its directory as damaged and not touch
// it, and returns the damage.
func refused(t *testing.T, what string, image *memFS) *storage.CorruptError {
	t.Helper()
	before := image.after(killed, nil)
	rows, err := rowsAfter(t, image)
	var damage *storage.CorruptError
	if !errors.As(err, &damage) {
		t.Errorf("%s: %d rows and %v, want a *CorruptError", what, rows, err)
		return &storage.CorruptError{}
	}
	if !unchanged(before, image) {
		t.Errorf("%s: the directory was changed", what)
	}
	return damage
}

// TestTornTail cuts the last record at every byte, leaving zeros or rubbish: a
// crash of the machine before its sync ended.
func TestTornTail(t *testing.T) {
	t.Parallel()
	fs, segment, frames := threeCommits(t)
	data := fs.names[segment].data
	end := frames[2] + len(bytes.TrimRight(data[frames[2]:], "\x00"))
	for cut := frames[2]; cut <= end; cut++ {
		for _, rest := range [][]byte{nil, make([]byte, 64), bytes.Repeat([]byte("FRAMrubbish"), 9)} {
			image := withoutClaim(fs.after(killed, nil))
			image.names[segment].data = append(slices.Clone(data[:cut]), rest...)
			want := int64(2)
			if cut == end {
				want = 3
			}
			// The record may end in zeros, which a cut followed by zeros restores.
			got, err := rowsAfter(t, image)
			if err != nil || got != want && !(got == 3 && bytes.HasPrefix(image.names[segment].data[cut:], data[cut:end])) {
				t.Errorf("cut at %d of %d to %d: %d rows, %v", cut, frames[2], end, got, err)
			}
		}
	}
}

// TestLostTail takes acknowledged records from the end of the log away, in ways
// that a torn end could look like.
func TestLostTail(t *testing.T) {
	t.Parallel()
	fs, segment, frames := threeCommits(t)
	data := fs.names[segment].data
	end := frames[2] + len(bytes.TrimRight(data[frames[2]:], "\x00"))
	tests := []struct {
		name string
		left []byte
		at   int
	}{
		{"the last record torn", data[: end-1 : end-1], frames[2]},
		{"the last record gone", data[:frames[2]:frames[2]], frames[2]},
		{"the last record zeros", append(data[:frames[2]:frames[2]], make([]byte, 4096)...), frames[2]},
		{"all but the first record gone", data[:frames[1]:frames[1]], frames[1]},
		{"only the header left", data[:frames[0]:frames[0]], frames[0]},
		{"half the header left", data[:10:10], 0},
		{"empty", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			image := fs.after(killed, nil)
			image.names[segment].data = tt.left
			damage := refused(t, tt.name, image)
			if damage.File != segment || damage.Offset != int64(tt.at) {
				t.Errorf("got %v, want byte %d of %s", damage, tt.at, segment)
			}
		})
	}
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		for _, image := range []*memFS{fs.after(killed, nil), withoutClaim(fs.after(killed, nil))} {
			delete(image.names, segment)
			if damage := refused(t, "removed", image); damage.File != segment {
				t.Errorf("got %v, want %s", damage, segment)
			}
		}
	})
	t.Run("emptied, and the claim lost", func(t *testing.T) {
		t.Parallel()
		image := withoutClaim(fs.after(killed, nil))
		image.names[segment].data = nil
		if damage := refused(t, "emptied", image); damage.File != segment {
			t.Errorf("got %v, want %s", damage, segment)
		}
	})
}

// smallDirectory returns the files of a store with a checkpoint, two segments
// and the control file, and what the tables hold.
func smallDirectory(t *testing.T) (fs *memFS, want string) {
	t.Helper()
	live := newMemFS()
	s, err := durable(live, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc := script{}
	for i, step := range lifeOfADatabase()[:10] {
		if i != 1 && i != 6 { // what is big
			sc = append(sc, step)
		}
	}
	sc.play(t, s)
	want = contents(t, s)
	fs = live.after(killed, nil)
	abandon(s, live, t.Context())
	return fs, want
}

// flip opens a store with one bit changed. That is damage with file and place,
// and nothing is changed; or, where the bit means nothing, everything is there.
func flip(t *testing.T, fs *memFS, want, name string, at int, bit byte) (found bool) {
	t.Helper()
	image := fs.after(killed, nil)
	image.names[name].data[at] ^= bit
	before := image.after(killed, nil)
	s, err := durable(image, t.Context())
	if err == nil {
		got := contents(t, s)
		abandon(s, image, t.Context())
		if got != want {
			t.Errorf("%s, bit %#x of byte %d: unnoticed, got\n%s\nwant\n%s", name, bit, at, got, want)
		}
		return false
	}
	if !unchanged(before, image) {
		t.Errorf("%s, bit %#x of byte %d: the directory was changed", name, bit, at)
	}
	var damage *storage.CorruptError
	switch {
	case errors.Is(err, storage.ErrNewerFormat) && at >= 8 && at < 12:
	case !errors.As(err, &damage):
		t.Errorf("%s, bit %#x of byte %d: %v", name, bit, at, err)
	case damage.File != name || damage.Offset > int64(at):
		t.Errorf("%s, bit %#x of byte %d: %v", name, bit, at, err)
	}
	return true
}

// TestBitFlip changes every byte of every file of a small directory.
func TestBitFlip(t *testing.T) {
	t.Parallel()
	fs, want := smallDirectory(t)
	flips, found := 0, 0
	for name, f := range fs.names {
		if filepath.Base(name) == "lock" {
			continue
		}
		used := len(bytes.TrimRight(f.data, "\x00"))
		for at := range used {
			flips++
			if flip(t, fs, want, name, at, 1<<(at%8)) {
				found++
			} else if !strings.HasSuffix(name, "control") || at < 32 {
				t.Errorf("%s: byte %d changed, unnoticed", name, at)
			}
		}
		for at := used; at < len(f.data); at += 997 { // the space made ready means nothing
			flip(t, fs, want, name, at, 1<<(at%8))
		}
	}
	t.Logf("bits flipped %d, found %d, the rest of no meaning", flips, found)
}

// TestRandomBitFlips changes random bits of a bigger directory.
func TestRandomBitFlips(t *testing.T) {
	t.Parallel()
	live := newMemFS()
	s, err := storage.Open(t.Context(), storage.Options{Dir: "data", FS: live, SegmentBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	tx := s.Begin(nil)
	tab, err := tx.CreateTable(accounts())
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4000) {
		insert(t, tab, tx, row(i, i%10, strings.Repeat("x", int(i%200))))
		if i%40 == 39 {
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			tx = s.Begin(nil)
		}
		if i == 2000 {
			tx.Rollback()
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			tx = s.Begin(nil)
		}
	}
	tx.Rollback()
	want := contents(t, s)
	fs := live.after(killed, nil)
	abandon(s, live, t.Context())
	var names []string
	for name := range fs.names {
		if filepath.Base(name) != "lock" && !strings.HasSuffix(name, "control") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) < 4 {
		t.Fatalf("files %q", names)
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		name := names[rnd.IntN(len(names))]
		used := len(bytes.TrimRight(fs.names[name].data, "\x00"))
		at := rnd.IntN(used)
		if !flip(t, fs, want, name, at, 1<<rnd.IntN(8)) {
			t.Errorf("%s: byte %d changed, unnoticed", name, at)
		}
	}
}

// TestCutCheckpoint takes the end of a checkpoint away.
func TestCutCheckpoint(t *testing.T) {
	t.Parallel()
	live := newMemFS()
	s, err := durable(live, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:3].play(t, s)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := ""
	for n := range live.names {
		if strings.HasSuffix(n, ".ckp") {
			name = n
		}
	}
	size := len(live.names[name].data)
	if size < 1000 {
		t.Fatalf("checkpoint of %d bytes", size)
	}
	for cut := range size {
		image := live.after(killed, nil)
		image.names[name].data = image.names[name].data[:cut]
		if damage := refused(t, "cut", image); damage.File != name {
			t.Errorf("cut at %d: %v", cut, damage)
		}
	}
}

func TestMissingSegment(t *testing.T) {
	t.Parallel()
	live := newMemFS()
	s, err := durable(live, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lifeOfADatabase()[:3].play(t, s)
	image := live.after(killed, nil)
	abandon(s, live, t.Context())
	var segments []string
	for name := range image.names {
		if strings.HasSuffix(name, ".seg") {
			segments = append(segments, name)
		}
	}
	slices.Sort(segments)
	if len(segments) < 2 {
		t.Fatalf("segments %q", segments)
	}
	for _, gone := range segments {
		without := image.after(killed, nil)
		delete(without.names, gone)
		refused(t, "without "+gone, without)
		without = image.after(killed, nil)
		without.names[gone].data = nil
		refused(t, "with "+gone+" empty", without)
	}
}

func TestNewerFormat(t *testing.T) {
	t.Parallel()
	fs, segment, _ := threeCommits(t)
	for _, name := range []string{segment, "data/control"} {
		image := fs.after(killed, nil)
		image.names[name].data[8]++
		before := image.after(killed, nil)
		_, err := rowsAfter(t, image)
		if !errors.Is(err, storage.ErrNewerFormat) {
			t.Errorf("%s: got %v, want ErrNewerFormat", name, err)
			continue
		}
		for _, want := range []string{name, "format 2", "up to 1", "use the version of loopbroker that wrote it"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
		if !unchanged(before, image) {
			t.Errorf("%s: the directory was changed", name)
		}
	}
}
