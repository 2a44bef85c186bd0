package accept

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

type benchmarkCase struct {
	name, document string
	tree           any
}

const smallSchema = `{"type":"object","properties":{
	"to":{"type":"string","minLength":3},"subject":{"type":"string","maxLength":200},
	"priority":{"type":"string","enum":["low","normal","high"]},"retries":{"type":"integer","minimum":0,"maximum":5}},
	"required":["to","subject"],"additionalProperties":false}`

const smallDocument = `{"to":"a@example.com","subject":"hello","priority":"high","retries":2}   `

const mediumSchema = `{"type":"object","properties":{
	"title":{"type":"string","minLength":1,"maxLength":120},"description":{"type":"string"},
	"start":{"type":"string","format":"date"},"end":{"type":"string","format":"date"},
	"host":{"type":"string","format":"ipv4"},"code":{"type":"string","pattern":"^[A-Z]{2}-[0-9]+$"},
	"amount":{"type":"number","minimum":0,"exclusiveMaximum":100000},"count":{"type":"integer","minimum":1},
	"step":{"type":"number","multipleOf":0.05},"urgent":{"type":"boolean"},
	"color":{"enum":["red","green","blue",null]},"tags":{"type":"array","items":{"type":"string","maxLength":20},"maxItems":10},
	"owner":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"place":{"type":"object","properties":{"lat":{"type":"number","minimum":-90,"maximum":90},"lon":{"type":"number"}},"required":["lat","lon"]},
	"people":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}}},
	"required":["title","start","amount"]}`

const mediumDocument = `{"title":"Quarterly review of the warehouse","description":"Walk through every aisle, count what is there and note what is missing; bring the list of last quarter along.",
	"start":"2026-01-31","end":"2026-02-03","host":"192.0.2.17","code":"DE-4711","amount":1234.56,"count":12,"step":0.35,"urgent":false,
	"color":"green","tags":["inventory","warehouse","quarter","review","people"],"owner":null,"place":{"lat":52.5200,"lon":13.4050},
	"people":[{"name":"first person","age":41},{"name":"second person","age":35},{"name":"third person","age":28},{"name":"fourth person"}]}`

func benchmarkCases(t testing.TB) []benchmarkCase {
	return []benchmarkCase{
		{"small", smallDocument, schematest.Decode(t, smallSchema)},
		{"medium", mediumDocument, schematest.Decode(t, mediumSchema)},
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range benchmarkCases(b) {
		b.Run(c.name+"/accept", func(b *testing.B) {
			p := Compile(c.tree, Options{Formats: testFormats, FoldCheck: true})
			doc := parse(b, c.document)
			b.ReportAllocs()
			for b.Loop() {
				if !p.Check(doc).Accepted {
					b.Fatal("not accepted")
				}
			}
		})
		b.Run(c.name+"/jsonschema", func(b *testing.B) {
			v5, err := general(c.tree, 0)
			require.NoError(b, err)
			value := parse(b, c.document).Value(0)
			b.ReportAllocs()
			for b.Loop() {
				if v5.Validate(value) != nil {
					b.Fatal("not accepted")
				}
			}
		})
	}
}
