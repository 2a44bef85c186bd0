package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one change.
type mutant struct {
	id       int
	file     string
	function string
	line     int
	from, to string
	killed   bool
	by       string
	dropped  bool // it does not compile
}

// String names the change without its line, which moves, and fit for a table.
func (m *mutant) String() string {
	text := fmt.Sprintf("%s %s: %s → %s", m.file, m.function, m.from, m.to)
	return strings.NewReplacer("|", "¦", "`", "'").Replace(text)
}

// wrap is what a change puts around a piece of text.
type wrap struct {
	mutant         *mutant
	start, end     int // of the piece
	before, after  string
	outFrom, outTo int // where it ended up
}

// find finds all changes of a file.
func (p *loaded) find(t *target) {
	for _, d := range t.file.Decls {
		p.function = "(variables)"
		if f, ok := d.(*ast.FuncDecl); ok {
			p.function = f.Name.Name
		}
		p.inspect(t, d)
	}
}

// inspect finds those of a declaration.
func (p *loaded) inspect(t *target, d ast.Decl) {
	skip, quiet := map[ast.Node]bool{}, map[ast.Node]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil || skip[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.FuncDecl:
			return n.Body != nil && n.Name.Name != "String" // names of values hold no behaviour
		case *ast.ExprStmt:
			quiet[n.X] = true // its result is dropped
		case *ast.UnaryExpr:
			p.expression(t, n)
			_, compound := ast.Unparen(n.X).(*ast.BinaryExpr)
			quiet[n.X] = n.Op == token.NOT && !compound // or it would be the same change
		case *ast.BlockStmt:
			p.statements(t, n.List)
		case *ast.CaseClause:
			p.statements(t, n.Body)
		case *ast.ArrayType, *ast.MapType, *ast.StructType, *ast.FuncType:
			return false
		case *ast.SelectorExpr:
			if skip[n.Sel] = true; !quiet[n] {
				p.expression(t, n)
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok && p.field(id) {
				skip[id] = true
			}
		case ast.Expr:
			if !quiet[n] {
				p.expression(t, n)
			}
		}
		return true
	})
}

// field reports whether an identifier names a field in a composite literal.
func (p *loaded) field(id *ast.Ident) bool {
	v, ok := p.info.Uses[id].(*types.Var)
	return ok && v.IsField()
}

// statements are left out, where the rest compiles without.
func (p *loaded) statements(t *target, list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || p.source(t, s.Lhs[0]) == "_" {
				continue
			}
		default:
			continue
		}
		m := p.add(t, s, oneLine(p.source(t, s)), "(left out)")
		p.around(t, s, m, fmt.Sprintf("if !mutating(%d) { ", m.id), " }")
	}
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
}

func (p *loaded) expression(t *target, e ast.Expr) {
	tv, ok := p.info.Types[e]
	if id, isIdent := e.(*ast.Ident); isIdent && !ok {
		if obj := p.info.Uses[id]; obj != nil {
			tv, ok = types.TypeAndValue{Type: obj.Type()}, true
		}
	}
	if !ok || tv.IsType() || tv.Type == nil {
		return
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		p.binary(t, e, tv)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			p.replace(t, e, tv.Type, p.source(t, e.X))
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
		p.value(t, e, tv)
	}
}

func (p *loaded) binary(t *target, e *ast.BinaryExpr, tv types.TypeAndValue) {
	if b, ok := tv.Type.Underlying().(*types.Basic); tv.Value != nil || ok && b.Info()&types.IsString != 0 {
		return
	}
	for _, op := range swaps[e.Op] {
		p.replace(t, e, tv.Type, p.source(t, e.X)+" "+op.String()+" "+p.source(t, e.Y))
	}
}

// value negates what says yes or no, and takes another code for a code.
func (p *loaded) value(t *target, e ast.Expr, tv types.TypeAndValue) {
	text := p.source(t, e)
	named, _ := tv.Type.(*types.Named)
	switch {
	case slices.Contains([]string{"true", "false"}, text):
		p.replace(t, e, tv.Type, "!"+text)
	case p.isConstant(e) && named != nil && named.Obj().Name() == "Code":
		other := "CodeUnknownError"
		if text == other {
			other = "CodePanic"
		}
		p.replace(t, e, tv.Type, other)
	case types.Identical(tv.Type, types.Typ[types.Bool]) && !tv.Assignable() && tv.Value == nil:
		p.replace(t, e, tv.Type, "!"+text)
	}
}

func (p *loaded) isConstant(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = p.info.Uses[id].(*types.Const)
	return ok
}

// replace puts another expression in the place of e.
func (p *loaded) replace(t *target, e ast.Expr, typ types.Type, by string) {
	name := p.typeName(t, typ)
	if name == "" || name == "invalid type" {
		return
	}
	m := p.add(t, e, oneLine(p.source(t, e)), oneLine(by))
	p.around(t, e, m, fmt.Sprintf("func() %s { if mutating(%d) { return %s }; return ", name, m.id, by), " }()")
}

func (p *loaded) add(t *target, n ast.Node, from, to string) *mutant {
	m := &mutant{id: len(p.mutants) + 1, file: t.name, function: p.function, line: p.fset.Position(n.Pos()).Line, from: from, to: to}
	p.mutants = append(p.mutants, m)
	return m
}

func (p *loaded) around(t *target, n ast.Node, m *mutant, before, after string) {
	t.wraps = append(t.wraps, &wrap{mutant: m, start: p.offset(n.Pos()), end: p.offset(n.End()), before: before, after: after})
}
