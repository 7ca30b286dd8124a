package storage

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"loopbroker/engine/types"
)

// Checkpoints and backups are sequences of blocks behind a header.
//
//	block   length u32, crc u32 (of the contents as they are in the file), then
//	        a kind byte and the contents:
//	        'M' whatever the maker of a backup wants to know again
//	        'T' a table: next row id (uvarint), TableDef (JSON)
//	        'R' rows of a table: table id (uvarint), then row id (uvarint) and row, repeated
//	        'r' the same, all behind the kind byte compressed (flate)
//	        'E' the end: numbers of tables and rows (uvarint)
const (
	blockBytes  = 256 << 10 // a block takes no further row beyond this
	blockHeader = 8
	maxBlock    = maxRecord + blockBytes

	blockMeta       = 'M'
	blockTable      = 'T'
	blockRows       = 'R'
	blockCompressed = 'r'
	blockEnd        = 'E'
)

// blockWriter writes blocks one after the other. The first error stays.
type blockWriter struct {
	ctx      context.Context
	file     File
	at       int64
	buf      []byte // the block being made, its header included
	packed   bytes.Buffer
	packer   *flate.Writer                  // nil: rows are not compressed
	keep     func(ObjectID, types.Row) bool // nil: all rows
	tables   uint64
	rows     uint64
	progress func(rows uint64)
	err      error
}

func (w *blockWriter) put(b []byte) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		_, w.err = w.file.WriteAt(b, w.at)
		w.at += int64(len(b))
	}
}

// begin begins a block, after writing the one before.
func (w *blockWriter) begin(kind byte) {
	w.flush()
	w.buf = append(w.buf[:0], make([]byte, blockHeader)...)
	w.buf = append(w.buf, kind)
}

func (w *blockWriter) flush() {
	if len(w.buf) == 0 {
		return
	}
	b := w.buf
	if w.packer != nil && b[blockHeader] == blockRows {
		b = w.pack(b)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-blockHeader))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[blockHeader:], castagnoli))
	w.put(b)
	w.buf = w.buf[:0]
	if w.progress != nil {
		w.progress(w.rows)
	}
}

// pack compresses a block of rows.
func (w *blockWriter) pack(b []byte) []byte {
	w.packed.Reset()
	w.packed.Write(make([]byte, blockHeader))
	w.packed.WriteByte(blockCompressed)
	w.packer.Reset(&w.packed)
	_, err := w.packer.Write(b[blockHeader+1:])
	w.err = errors.Join(w.err, err, w.packer.Close())
	return w.packed.Bytes()
}

func (w *blockWriter) table(t *capturedTable, v *View) {
	text, err := json.Marshal(t.def)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.tables++
	w.begin(blockTable)
	w.buf = binary.AppendUvarint(w.buf, t.next)
	w.buf = append(w.buf, text...)
	w.beginRows(t)
	for from := RowID(0); w.err == nil; {
		recs := t.data.recordsAfter(from)
		if len(recs) == 0 {
			break
		}
		for _, rec := range recs {
			row := rec.visible(v.csn, nil)
			if row == nil || w.keep != nil && !w.keep(t.def.ID, row) {
				continue
			}
			w.buf = binary.AppendUvarint(w.buf, uint64(rec.id))
			w.buf = appendRow(w.buf, row)
			w.rows++
			if len(w.buf) >= blockBytes {
				w.beginRows(t)
			}
		}
		from = recs[len(recs)-1].id
	}
}

func (w *blockWriter) beginRows(t *capturedTable) {
	w.begin(blockRows)
	w.buf = binary.AppendUvarint(w.buf, uint64(t.def.ID))
}

// end writes the last block and syncs.
func (w *blockWriter) end() {
	w.begin(blockEnd)
	w.buf = binary.AppendUvarint(w.buf, w.tables)
	w.buf = binary.AppendUvarint(w.buf, w.rows)
	w.flush()
	if w.err == nil {
		w.err = w.file.Sync()
	}
}

// recordsAfter returns some of the records after id, in order.
func (d *tableData) recordsAfter(id RowID) []*record {
	recs := make([]*record, 0, 512)
	d.mu.RLock()
	defer d.mu.RUnlock()
	d.ascend(forViews, id+1, func(rec *record) bool {
		recs = append(recs, rec)
		return len(recs) < cap(recs)
	})
	return recs
}

// openBlocks opens a file of blocks and checks the header, which is returned.
func openBlocks(fs FS, path, magic string, header int) (*blockReader, []byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r := &blockReader{file: f, path: path, at: int64(header)}
	if r.size, err = f.Size(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	h := make([]byte, min(int64(header), r.size))
	if n, err := f.ReadAt(h, 0); n < len(h) {
		return nil, nil, errors.Join(err, f.Close())
	}
	if err := checkHeader(path, h, magic, header); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return r, h, nil
}

// blockReader reads the blocks of a file.
type blockReader struct {
	file File
	path string
	size int64
	at   int64
}

// rawBlock is a block as it is in the file.
type rawBlock struct {
	at   int64
	sum  uint32
	body []byte // kind and contents
}

// next returns the next block, which is not checked yet.
func (r *blockReader) next() (b rawBlock, err error) {
	b.at = r.at
	var h [blockHeader]byte
	if r.size-r.at < blockHeader {
		return b, r.corrupt(r.at, "the end is missing")
	}
	if _, err := r.file.ReadAt(h[:], r.at); err != nil && !errors.Is(err, io.EOF) {
		return b, err
	}
	size := int64(binary.LittleEndian.Uint32(h[:]))
	if size < 1 || size > r.size-r.at-blockHeader || size > maxBlock {
		return b, r.corrupt(r.at, "impossible length")
	}
	b.sum = binary.LittleEndian.Uint32(h[4:])
	b.body = make([]byte, size)
	if n, err := r.file.ReadAt(b.body, r.at+blockHeader); n < len(b.body) {
		return b, errors.Join(r.corrupt(r.at, "cannot be read"), err)
	}
	r.at += blockHeader + size
	return b, nil
}

func (r *blockReader) corrupt(at int64, reason string) error {
	return &CorruptError{File: r.path, Offset: at, Reason: reason}
}

// open checks a block and returns its kind and contents, unpacked.
func (b *rawBlock) open() (kind byte, contents []byte, err error) {
	if crc32.Checksum(b.body, castagnoli) != b.sum {
		return 0, nil, errors.New("wrong checksum")
	}
	kind, contents = b.body[0], b.body[1:]
	if kind == blockCompressed {
		kind = blockRows
		contents, err = io.ReadAll(flate.NewReader(bytes.NewReader(contents)))
	}
	return kind, contents, err
}

// loaded is what a block holds, in the form in which tables take it.
type loaded struct {
	at    int64
	kind  byte
	meta  []byte
	next  uint64
	def   TableDef
	id    ObjectID
	recs  []*record
	width int // length of each row
	end   [2]uint64
}

// decode takes a block apart. want says which tables' rows are wanted; the
// others are only checked.
func (b *rawBlock) decode(want func(ObjectID) bool) (l loaded, err error) {
	l.at = b.at
	kind, contents, err := b.open()
	if err != nil {
		return l, err
	}
	l.kind = kind
	rd := &redoReader{b: contents}
	switch kind {
	case blockMeta:
		l.meta = contents
	case blockTable:
		l.next = rd.uvarint()
		if rd.err == nil {
			rd.err = json.Unmarshal(rd.b, &l.def)
		}
	case blockRows:
		l.id = ObjectID(rd.uvarint())
		l.width = -1
		wanted := want == nil || want(l.id)
		for rd.more() {
			id := RowID(rd.uvarint())
			row := rd.row()
			if rd.err == nil && l.width >= 0 && l.width != len(row) {
				rd.err = errRowWidth
			}
			l.width = len(row)
			if rd.err == nil && wanted {
				l.recs = append(l.recs, newRecord(id, row, recovered))
			} else {
				l.recs = append(l.recs, nil)
			}
		}
	case blockEnd:
		l.end = [2]uint64{rd.uvarint(), rd.uvarint()}
	default:
		return l, errors.New("unknown block")
	}
	return l, rd.err
}

var errRowWidth = errors.New("rows of different lengths")

// load reads all blocks and hands their contents on in order. Blocks are
// decoded on several goroutines. It checks that the numbers at the end are right
// and that the end is there.
func (r *blockReader) load(ctx context.Context, want func(ObjectID) bool, use func(loaded) error) error {
	var tables, rows uint64
	ended := false
	produce := func(emit func(rawBlock) error) error {
		for r.at < r.size {
			b, err := r.next()
			if err != nil {
				return err
			}
			if err := emit(b); err != nil {
				return err
			}
		}
		return nil
	}
	work := func(b rawBlock) (loaded, error) {
		l, err := b.decode(want)
		if err != nil {
			return l, r.corrupt(b.at, err.Error())
		}
		return l, nil
	}
	err := inOrder(ctx, produce, work, func(l loaded) error {
		switch {
		case ended:
			return r.corrupt(l.at, "something behind the end")
		case l.kind == blockTable:
			tables++
		case l.kind == blockRows:
			rows += uint64(len(l.recs))
		case l.kind == blockEnd:
			if ended = true; l.end != [2]uint64{tables, rows} {
				return r.corrupt(l.at, "the numbers at the end are wrong")
			}
		}
		if err := use(l); err != nil {
			return r.corrupt(l.at, err.Error())
		}
		return nil
	})
	if err == nil && !ended {
		err = r.corrupt(r.at, "the end is missing")
	}
	return err
}

func (r *blockReader) close() error { return r.file.Close() }

// checkHeader checks magic, format and checksum at the beginning of a file.
func checkHeader(path string, b []byte, magic string, size int) error {
	corrupt := func(at int64, reason string) error { return &CorruptError{File: path, Offset: at, Reason: reason} }
	switch {
	case len(b) < size:
		return corrupt(0, "shorter than its header")
	case string(b[:8]) != magic:
		return corrupt(0, "not a file of this kind")
	}
	switch v := binary.LittleEndian.Uint32(b[8:]); {
	case v > formatVersion:
		return fmt.Errorf("%w: %s has format %d and this program reads formats up to %d: use the version of loopbroker that wrote it, or a newer one",
			ErrNewerFormat, path, v, formatVersion)
	case v != formatVersion:
		return corrupt(8, "unknown format")
	case crc32.Checksum(b[16:size], castagnoli) != binary.LittleEndian.Uint32(b[12:]):
		return corrupt(12, "wrong checksum of the header")
	}
	return nil
}
