package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// mercy is how long after its context has ended a statement is waited for. The
// server is asked to cancel it; so it is known in nearly all cases whether it was
// done, and the connection can be kept.
const mercy = 500 * time.Millisecond

// poolConfig is for connections of the journal's own. What the DSN says of a
// setting holds.
func poolConfig(dsn string, opts *Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if opts.Connections > 0 {
		config.MaxConns = int32(min(opts.Connections, 1<<15))
	} else if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = defaultConnections
	}
	connection := config.ConnConfig
	if !strings.Contains(dsn, "connect_timeout") {
		connection.ConnectTimeout = opts.Timeout
	}
	connection.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: mercy}
	}
	settings := sessionSettings(opts)
	for name := range connection.RuntimeParams {
		delete(settings, name)
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return set(ctx, c, settings) }
	return config, nil
}

// sessionSettings are those of the journal's own connections.
func sessionSettings(opts *Options) map[string]string {
	limit := strconv.FormatInt(opts.Timeout.Milliseconds(), 10)
	return map[string]string{
		"application_name":                    "toolguard",
		"statement_timeout":                   limit,
		"lock_timeout":                        limit,
		"idle_in_transaction_session_timeout": limit,
		"default_transaction_isolation":       "read committed",
	}
}

func set(ctx context.Context, c *pgx.Conn, settings map[string]string) error {
	var batch pgx.Batch
	for name, value := range settings {
		batch.Queue("SELECT set_config($1, $2, false)", name, value)
	}
	return c.SendBatch(ctx, &batch).Close()
}

const oldest = 150000 // of server_version_num

// checkServer refuses what a journal cannot be kept in.
func checkServer(ctx context.Context, c *pgxpool.Conn) error {
	var version int
	var standby, readOnly, fsync bool
	var encoding string
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
		current_setting('transaction_read_only')::bool, current_setting('fsync')::bool, current_setting('server_encoding')`).
		Scan(&version, &standby, &readOnly, &fsync, &encoding)
	switch {
	case err != nil:
		return err
	case version < oldest:
		return fmt.Errorf("the server's version is %d, want %d or newer", version, oldest)
	case standby:
		return errors.New("the server is a standby: connect to the primary")
	case readOnly:
		return errors.New("the session is read-only (default_transaction_read_only)")
	case !fsync:
		return errors.New("the server runs with fsync off: what is committed would be lost with the power")
	case encoding != "UTF8":
		return fmt.Errorf("the database's encoding is %s, want UTF8", encoding)
	}
	return nil
}
