package plan

import (
	"reflect"

	"loopbroker/engine/syntax"
)

// mentions reports whether a tree refers to a table by the bare name.
func mentions(tree any, name string) bool { return mentioned(reflect.ValueOf(tree), name) }

func mentioned(v reflect.Value, name string) bool {
	switch v.Kind() {
	case reflect.Interface:
		return !v.IsNil() && mentioned(v.Elem(), name)
	case reflect.Pointer:
		if v.IsNil() {
			return false
		}
		if t, ok := v.Interface().(*syntax.TableRef); ok && t.Name.Schema.Name == "" && t.Name.Database.Name == "" {
			return sameName(t.Name.Object.Name, name)
		}
		return mentioned(v.Elem(), name)
	case reflect.Struct:
		for i := range v.NumField() {
			if mentioned(v.Field(i), name) {
				return true
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if mentioned(v.Index(i), name) {
				return true
			}
		}
	}
	return false
}
