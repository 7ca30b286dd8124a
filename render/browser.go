package render

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	address = "https://render.invalid/"
	// policy stands behind the interception: nothing but what is in the page.
	policy = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline' data:"
	// maxSide is the longest side of a PNG, in pixels.
	maxSide = 16384
)

// browser is one process for one document.
type browser struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Handle
	cmd     *exec.Cmd
	dir     string
	in      *os.File // our end of its commands
	out     *os.File // our end of its messages
	read    *bufio.Reader
	max     int
	last    int
	session string
	page    []byte
	served  bool
	loaded  bool
}

// message is a command's answer or an event.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// start starts a browser that ends with the context.
func start(ctx context.Context, opts Options) (_ *browser, err error) {
	dir, err := os.MkdirTemp("", "loopbroker-render-")
	if err != nil {
		return nil, fmt.Errorf("make a profile: %w", err)
	}
	b := &browser{ctx: ctx, dir: dir, max: int(opts.MaxBytes)}
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	commands, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.in = in
	defer func() { _ = commands.Close() }() // the browser has its own
	out, messages, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.out = out
	defer func() { _ = messages.Close() }()

	args := []string{
		"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-dev-shm-usage",
		"--disable-breakpad", "--metrics-recording-only", "--mute-audio", "--password-store=basic", "--use-mock-keychain",
		"--disable-features=MediaRouter,OptimizationHints,Translate,DialMediaRouteProvider",
		// Whatever the interception did not see ends here.
		"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND",
	}
	if opts.NoSandbox {
		args = append(args, "--no-sandbox")
	}
	b.cmd = exec.CommandContext(ctx, opts.Browser, append(args, "about:blank")...) //nolint:gosec // the program is the operator's choice
	b.cmd.ExtraFiles = []*os.File{commands, messages}                              // 3 and 4, as --remote-debugging-pipe has them
	b.cmd.Dir = dir
	b.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "XDG_RUNTIME_DIR=" + dir, "LANG=C.UTF-8"}
	ownGroup(b.cmd)
	b.cmd.Cancel = func() error { killGroup(b.cmd); return nil }
	b.cmd.WaitDelay = 5 * time.Second
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	b.read = bufio.NewReaderSize(b.out, 1<<16)
	return b, nil
}

// stop ends the process group and removes the profile.
func (b *browser) stop() {
	if b.cmd != nil && b.cmd.Process != nil {
		killGroup(b.cmd)
		_ = b.cmd.Wait() // it was killed
	}
	for _, f := range []*os.File{b.in, b.out} {
		if f != nil {
			_ = f.Close()
		}
	}
	_ = os.RemoveAll(b.dir) // what is left of a profile harms nobody
}

// render shows the page and returns its picture.
func (b *browser) render(page []byte, format string) ([]byte, error) {
	b.page = page
	stop := context.AfterFunc(b.ctx, func() { _ = b.out.SetReadDeadline(time.Unix(1, 0)); _ = b.out.Close() })
	defer stop()
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := b.call("Page.navigate", map[string]any{"url": address}, nil); err != nil {
		return nil, err
	}
	for !b.loaded {
		if _, err := b.next(); err != nil {
			return nil, err
		}
	}
	var picture struct{ Data string }
	var err error
	if format == "png" {
		err = b.screenshot(&picture)
	} else {
		err = b.call("Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true}, &picture)
	}
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode the %s: %w", format, err)
	case len(data) > b.max:
		return nil, errTooLarge
	case len(data) == 0:
		return nil, errors.New("the browser's document is empty")
	}
	return data, nil
}

// open makes a page in which nothing runs and nothing is fetched.
func (b *browser) open() error {
	var target struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*"}}}},
		{"Emulation.setScriptExecutionDisabled", map[string]any{"value": true}},
		{"Page.enable", nil},
	} {
		if err := b.call(c.method, c.params, nil); err != nil {
			return err
		}
	}
	return nil
}

// screenshot takes a picture of the whole page.
func (b *browser) screenshot(into any) error {
	var layout struct {
		Size struct{ Width, Height float64 } `json:"cssContentSize"`
	}
	if err := b.call("Page.getLayoutMetrics", nil, &layout); err != nil {
		return err
	}
	side := func(n float64) float64 { return math.Min(math.Max(math.Ceil(n), 1), maxSide) }
	return b.call("Page.captureScreenshot", map[string]any{
		"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": side(layout.Size.Width), "height": side(layout.Size.Height), "scale": 1},
	}, into)
}

// call sends a command and waits for its answer; events are dealt with meanwhile.
func (b *browser) call(method string, params, into any) error {
	id, err := b.send(method, params)
	if err != nil {
		return err
	}
	for {
		m, err := b.next()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case m.ID != id:
			continue
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case into == nil:
			return nil
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	}
}

// send sends a command.
func (b *browser) send(method string, params any) (int, error) {
	b.last++
	command := map[string]any{"id": b.last, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		return 0, err
	}
	_, err = b.in.Write(append(text, 0))
	return b.last, err
}

// next reads a message, and answers it if it is the request of the page.
func (b *browser) next() (message, error) {
	var m message
	text, err := b.line()
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("a message of the browser: %w", err)
	}
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = b.loaded || b.served
	case "Fetch.requestPaused":
		return m, b.decide(m.Params)
	}
	return m, nil
}

// line reads up to the next NUL, and no more than a result may have.
func (b *browser) line() ([]byte, error) {
	limit := base64.StdEncoding.EncodedLen(b.max) + 1<<16
	var line bytes.Buffer
	for {
		part, err := b.read.ReadSlice(0)
		if line.Len()+len(part) > limit {
			return nil, errTooLarge
		}
		line.Write(part)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line.Bytes(), []byte{0}), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case b.ctx.Err() != nil:
			return nil, b.ctx.Err()
		case errors.Is(err, io.EOF):
			return nil, errors.New("the browser ended")
		default:
			return nil, err
		}
	}
}

// decide answers the first request for the page and refuses every other.
func (b *browser) decide(params json.RawMessage) error {
	var paused struct {
		RequestID    string
		ResourceType string
		Request      struct{ URL string }
	}
	if err := json.Unmarshal(params, &paused); err != nil {
		return fmt.Errorf("a request of the page: %w", err)
	}
	if paused.Request.URL == address && paused.ResourceType == "Document" && !b.served {
		b.served = true
		_, err := b.send("Fetch.fulfillRequest", map[string]any{
			"requestId": paused.RequestID, "responseCode": 200, "body": base64.StdEncoding.EncodeToString(b.page),
			"responseHeaders": []map[string]string{
				{"name": "Content-Type", "value": "text/html; charset=utf-8"},
				{"name": "Content-Security-Policy", "value": policy},
			},
		})
		return err
	}
	_, err := b.send("Fetch.failRequest", map[string]any{"requestId": paused.RequestID, "errorReason": "Aborted"})
	return err
}
