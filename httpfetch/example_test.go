package httpfetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"loopbroker"
	"loopbroker/httpfetch"
)

// A handler reaches a stub on this machine only if it is told that it may.
func Example() {
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	}))
	defer stub.Close()
	job := loopbroker.Job{Type: loopbroker.TypeHTTP, JSON: `{"url": "` + stub.URL + `", "method": "GET"}`}

	for _, opts := range []httpfetch.Options{
		{},
		{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	} {
		h, err := httpfetch.New(opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer h.Close()
		reply, err := h.Handle(context.Background(), job)
		var fault *loopbroker.Fault
		if errors.As(err, &fault) {
			fmt.Println(fault)
			continue
		}
		fmt.Println(reply.HTTPStatus, reply.ContentType)
	}

	// Output:
	// address_not_allowed: the host has an address that may not be called (loopback)
	// 200 text/plain
}
