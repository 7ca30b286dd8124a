package engine_test

import "syscall"

func syscallUnmount(dir string) error { return syscall.Unmount(dir, 0) }
