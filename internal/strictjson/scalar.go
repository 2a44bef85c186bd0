package strictjson

// literal parses true, false or null, which begin with c.
func (p *parser) literal(c byte) (Kind, *Error) {
	switch c {
	case 't':
		return True, p.word("true")
	case 'f':
		return False, p.word("false")
	case 'n':
		return Null, p.word("null")
	}
	return Null, p.badValue()
}

func (p *parser) word(word string) *Error {
	for i := range len(word) {
		if p.peek() != word[i] {
			return p.unexpected()
		}
		p.pos++
	}
	return nil
}

func (p *parser) number() *Error {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	digits := p.digits()
	switch {
	case digits == 0:
		return p.badValue()
	case digits > 1 && p.doc.Text[p.pos-digits] == '0':
		p.pos -= digits - 1
		return p.unexpected()
	}
	if p.peek() == '.' {
		p.pos++
		fraction := p.digits()
		if fraction == 0 {
			return p.unexpected()
		}
		digits += fraction
	}
	if digits > p.limits.MaxDigits {
		p.pos = start
		return p.exceeds(ReasonDigits, p.limits.MaxDigits, digits)
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		return p.exponent()
	}
	return nil
}

func (p *parser) exponent() *Error {
	p.pos++
	if c := p.peek(); c == '+' || c == '-' {
		p.pos++
	}
	start, n := p.pos, 0
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		n = min(n*10+int(c-'0'), 1<<30)
		p.pos++
	}
	switch {
	case p.pos == start:
		return p.unexpected()
	case n > p.limits.MaxExponent:
		p.pos = start
		return p.exceeds(ReasonExponent, p.limits.MaxExponent, n)
	}
	return nil
}

// digits moves past decimal digits and counts them.
func (p *parser) digits() int {
	text, i := p.doc.Text, p.pos
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	n := i - p.pos
	p.pos = i
	return n
}
