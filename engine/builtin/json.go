package builtin

import (
	"strings"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// jsonFuncs are the JSON functions ("JSON functions (Transact-SQL)").
func jsonFuncs() []*Func {
	query := lenient("JSON_QUERY", 1, 2, jsonType("JSON_QUERY", types.Max), evalJSONQuery)
	query.ReturnsJSON = true
	modify := lenient("JSON_MODIFY", 3, 3, jsonModifyType, evalJSONModify(false))
	modify.ReturnsJSON = true
	raw := *modify
	raw.Eval = evaluator("JSON_MODIFY", evalJSONModify(true))
	modify.Raw = &raw
	return []*Func{
		pure("ISJSON", 1, 1, refusing("ISJSON", fixed(types.TypeInt), lobs...), evalIsJSON),
		lenient("JSON_VALUE", 2, 2, jsonType("JSON_VALUE", types.MaxNVarChar), evalJSONValue),
		lenient("JSON_PATH_EXISTS", 2, 2, jsonPathType, evalJSONPathExists),
		query,
		modify,
	}
}

// jsonType is nvarchar of the given length in the collation of the document.
// Document and path must be character data.
func jsonType(name string, length int) typeFunc {
	return func(args []types.Type, _ []*types.Value) (types.Type, error) {
		for i, t := range args[:min(len(args), 2)] {
			null := t.Kind == types.KindNull && i == 0
			if !null && (!t.Kind.IsChar() || t.Kind.IsLOB()) {
				return types.Type{}, badArgument(t, i+1, name)
			}
		}
		return types.NVarChar(length).WithCollation(collationOf(args[:1])), nil
	}
}

// jsonModifyType refuses a new value that is neither text, an exact or
// approximate number, nor a bit.
func jsonModifyType(args []types.Type, consts []*types.Value) (types.Type, error) {
	k := args[2].Kind
	text := k.IsChar() && !k.IsLOB()
	if !text && (!k.IsNumeric() || k.IsMoney()) && k != types.KindNull {
		return types.Type{}, badArgument(args[2], 3, "JSON_MODIFY")
	}
	return jsonType("JSON_MODIFY", types.Max)(args, consts)
}

func jsonPathType(args []types.Type, consts []*types.Value) (types.Type, error) {
	_, err := jsonType("JSON_PATH_EXISTS", types.Max)(args, consts)
	return types.TypeBit, err
}

// path is the path of argument 1. A NULL path is error 8116, even for a NULL
// document.
func (c call) path(parse func(string) (*json.Path, error)) (*json.Path, error) {
	if len(c.args) == 1 {
		return json.RootPath(), nil
	}
	if c.args[1].IsNull() {
		return nil, sqlerr.WithState(8116, 8, "NULL", 2, c.name)
	}
	return parse(c.args[1].Text())
}

// jsonResult is a text or NULL.
func jsonResult(s string, ok bool, err error) (types.Value, error) {
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewNVarChar(s), nil
}

func evalIsJSON(c call) (types.Value, error) {
	s, err := c.text(0)
	if err != nil {
		return types.Null, err
	}
	ok, err := json.IsJSON(s)
	if err != nil || !ok {
		return types.NewInt(0), err
	}
	return types.NewInt(1), nil
}

func evalJSONValue(c call) (types.Value, error) {
	p, err := c.path(json.ParsePath)
	if err != nil || c.args[0].IsNull() {
		return types.Null, err
	}
	return jsonResult(json.Value(c.args[0].Text(), p, !c.types[0].IsMax()))
}

func evalJSONQuery(c call) (types.Value, error) {
	p, err := c.path(json.ParsePath)
	if err != nil || c.args[0].IsNull() {
		return types.Null, err
	}
	return jsonResult(json.Query(c.args[0].Text(), p))
}

func evalJSONPathExists(c call) (types.Value, error) {
	p, err := c.path(json.ParsePath)
	if err != nil || c.args[0].IsNull() {
		return types.Null, err
	}
	ok, err := json.Exists(c.args[0].Text(), p)
	return types.NewBit(ok), err
}

// evalJSONModify is JSON_MODIFY(document, path, value); with raw the value is
// JSON text that is put in as it is.
func evalJSONModify(raw bool) evalFunc {
	return func(c call) (types.Value, error) {
		p, err := c.path(json.ParseModifyPath)
		if err != nil || c.args[0].IsNull() {
			return types.Null, err
		}
		v := c.args[2]
		var value string
		switch {
		case v.IsNull():
		case raw && v.Kind().IsChar():
			value = strings.TrimSpace(v.Text())
		default:
			b, err := json.AppendValue(nil, v)
			if err != nil {
				return types.Null, err
			}
			value = string(b)
		}
		s, err := json.Modify(c.args[0].Text(), p, value, v.IsNull())
		return jsonResult(s, true, err)
	}
}
