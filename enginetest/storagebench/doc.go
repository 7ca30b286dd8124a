// Package storagebench measures what the store must reach: durable commits beside
// a bare log file, claims from a queue table whatever its length, the time of
// recovery, and the memory of a row.
//
// Speeds of a shared machine change from one second to the next. What is compared
// is therefore measured in turns: every contender runs for a moment in each
// round, a ratio is taken within its round, and the figure is the median of the
// rounds. Absolute figures are of this machine at this moment.
package storagebench
