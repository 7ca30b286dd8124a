// Package operator is what an operator does with a deployed broker: the allow-list
// and credentials, requests and dead letters, health. It is the code behind the
// operator's commands; everything it does is a statement of package tsql, and can
// be done in SQL as well.
package operator
