package mcpguard

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPages bounds how much of a list is read: a server may page without end.
const maxPages = 1000

var errTooLong = errors.New("mcpguard: the list of tools does not end")

type lister func(ctx context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error)

// learn reads the server's whole list. If that fails the guards stay as they were.
func (g *Guards) learn(ctx context.Context, list lister) {
	g.listing.Lock() // callers that want to know the same wait for one another
	defer g.listing.Unlock()
	tools, err := all(ctx, list)
	if err != nil {
		g.opts.Logger.Warn("the tools of a server cannot be listed", "source", g.opts.Source, "error", err)
		return
	}
	g.Learn(tools)
}

func all(ctx context.Context, list lister) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := list(ctx, params)
		switch {
		case err != nil:
			return nil, err
		case page == nil:
			return tools, nil
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return tools, nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, errTooLong
}
