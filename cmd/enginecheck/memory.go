package main

type memoryCommand struct{}

func (memoryCommand) Run() error { return nil }
