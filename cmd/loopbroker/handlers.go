package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"loopbroker"
	"loopbroker/filefetch"
	"loopbroker/httpfetch"
	"loopbroker/render"
)

// handlerFlags say what a worker's handlers may do.
type handlerFlags struct {
	AllowNetworks []netip.Prefix    `name:"allow-network" placeholder:"CIDR" help:"Network that may be called although it is not public, such as 127.0.0.0/8. May be given more than once."`
	Credentials   string            `placeholder:"DIR" help:"Directory with the secrets of credentials, a file for each, named like the credential. Without a file the environment variable LOOPBROKER_CREDENTIAL_NAME is asked."`
	FileRoots     map[string]string `name:"file-root" placeholder:"NAME=DIR" help:"Folder that jobs of type file may read from, by the name that they give. May be given more than once; without it the worker serves no such jobs."`
	Render        bool              `help:"Serve jobs of type render: templates to HTML, and to PDF and PNG where Chromium is."`
	Browser       string            `placeholder:"FILE" help:"Chromium for jobs of type render, which are then served. Without it, the one in PATH."`
	Templates     string            `placeholder:"DIR" help:"Folder with templates that jobs of type render may name."`
	NoSandbox     bool              `help:"Run Chromium without its own sandbox, which a process of root needs."`
}

// check reports what is wrong with the settings.
func (f handlerFlags) check() error {
	for _, d := range []struct{ flag, dir string }{{"--credentials", f.Credentials}, {"--templates", f.Templates}} {
		if d.dir == "" {
			continue
		}
		if info, err := os.Stat(d.dir); err != nil {
			return usageError{fmt.Errorf("%s: %w", d.flag, err)}
		} else if !info.IsDir() {
			return usageError{fmt.Errorf("%s %s is not a directory", d.flag, d.dir)}
		}
	}
	if !f.render() && (f.Templates != "" || f.NoSandbox) {
		return usageError{errors.New("--templates and --no-sandbox need --render or --browser")}
	}
	return nil
}

// render reports whether jobs of type render are served.
func (f handlerFlags) render() bool { return f.Render || f.Browser != "" }

// secrets are where the worker looks for a secret: the files first.
func (f handlerFlags) secrets() httpfetch.Secrets {
	chain := httpfetch.SecretChain{}
	if f.Credentials != "" {
		chain = append(chain, httpfetch.DirSecrets{Dir: f.Credentials})
	}
	return append(chain, httpfetch.EnvSecrets{})
}

// handlers are what a worker works with.
type handlers struct {
	http   *httpfetch.Handler
	byType map[string]loopbroker.Handler
	closes []func()
}

// newHandlers makes the handlers that the settings name.
func newHandlers(f handlerFlags) (_ *handlers, err error) {
	h := &handlers{byType: map[string]loopbroker.Handler{}}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.http, err = httpfetch.New(httpfetch.Options{AllowNetworks: f.AllowNetworks, Secrets: f.secrets()}); err != nil {
		return nil, err
	}
	h.byType[loopbroker.TypeHTTP] = h.http
	h.closes = append(h.closes, h.http.Close)
	if len(f.FileRoots) > 0 {
		files, err := filefetch.New(filefetch.Options{Roots: f.FileRoots})
		if err != nil {
			return nil, usageError{err}
		}
		h.byType[filefetch.Type] = files
		h.closes = append(h.closes, files.Close)
	}
	if f.render() {
		pages, err := render.New(render.Options{Browser: f.Browser, Templates: f.Templates, NoSandbox: f.NoSandbox})
		if err != nil {
			return nil, usageError{err}
		}
		h.byType[render.Type] = pages
		h.closes = append(h.closes, pages.Close)
	}
	return h, nil
}

// close frees their connections and folders.
func (h *handlers) close() {
	for _, one := range h.closes {
		one()
	}
}
