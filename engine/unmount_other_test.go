//go:build !linux

package engine_test

import "errors"

func syscallUnmount(string) error { return errors.ErrUnsupported }
