package types

import (
	"encoding/json"
	"fmt"
)

// storedType is the JSON form of a Type: the collation goes by its name.
type storedType struct {
	Kind      Kind
	Length    int    `json:",omitempty"`
	Precision uint8  `json:",omitempty"`
	Scale     uint8  `json:",omitempty"`
	Collation string `json:",omitempty"`
}

// MarshalJSON implements json.Marshaler. The form is stored by the catalog and
// must stay readable: kinds keep their numbers.
func (t Type) MarshalJSON() ([]byte, error) {
	s := storedType{Kind: t.Kind, Length: t.Length, Precision: t.Precision, Scale: t.Scale}
	if t.Collation != nil {
		s.Collation = t.Collation.Name
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Type) UnmarshalJSON(b []byte) error {
	var s storedType
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*t = Type{Kind: s.Kind, Length: s.Length, Precision: s.Precision, Scale: s.Scale}
	if s.Collation == "" {
		return nil
	}
	c, ok := LookupCollation(s.Collation)
	if !ok {
		return fmt.Errorf("unknown collation %q", s.Collation)
	}
	t.Collation = c
	return nil
}
