package main

type crashCommand struct{}

func (crashCommand) Run() error { return nil }
