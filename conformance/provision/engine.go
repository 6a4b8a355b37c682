package provision

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"  // the driver that administers PostgreSQL
	_ "github.com/microsoft/go-mssqldb" // and SQL Server
	_ "modernc.org/sqlite"              // and opens SQLite
)

// engine is how one kind of server is administered. It is data: statements, and where its parts are found.
type engine struct {
	name    string
	example string // an administrator's address
	hint    string // how a person provides the server program

	driver string
	source func(address *url.URL) string // as the driver wants it

	// Each list runs in order, outside any transaction. The role owns its databases and has no power beyond them: no superuser, and
	// no way round row security.
	createRole     func(role, password string) []string
	dropRole       func(role string) []string
	createDatabase func(name, role string) []string
	dropDatabase   func(name string) []string
	readOnly       func(role string, databases []string) []string
	readWrite      func(role string, databases []string) []string

	sessions   func(role string) string // a query for the ids of the role's connections
	endSession func(id int64) string

	port    string // that the server listens on inside a container
	image   string // repository:tag
	environ func(password string) []string
	admin   string // the administrator that environ sets up

	program func() (program, error) // nil: no program of this server is looked for
}

func (e engine) variable() string { return "SUTRA_TEST_" + strings.ToUpper(e.name) + "_DSN" }

// Open opens a database by its address, for tests that look past the engine.
func Open(address string) (*sql.DB, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address of a database: %w", err)
	}
	if u.Scheme == "sqlite" {
		return sql.Open("sqlite", u.Path)
	}
	e, ok := engines[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("no server has addresses that begin with %s", u.Scheme)
	}
	return sql.Open(e.driver, e.source(u))
}

// address is where a role reaches a database of the server that the administrator reaches at admin.
func (e engine) address(admin *url.URL, user *url.Userinfo, database string) *url.URL {
	u := *admin
	u.User = user
	if e.name == "sqlserver" {
		q := u.Query()
		q.Set("database", database)
		u.RawQuery = q.Encode()
		return &u
	}
	u.Path = "/" + database
	return &u
}

var engines = map[string]engine{
	"postgres": {
		name:    "postgres",
		example: "postgres://postgres:secret@127.0.0.1:5432/postgres",
		hint:    "install PostgreSQL's server (Debian: postgresql)",
		driver:  "pgx",
		source:  (*url.URL).String,
		createRole: func(role, password string) []string {
			return []string{fmt.Sprintf("CREATE ROLE %s LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD '%s'", role, password)}
		},
		dropRole: func(role string) []string { return []string{"DROP ROLE IF EXISTS " + role} },
		createDatabase: func(name, role string) []string {
			return []string{fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, role)}
		},
		dropDatabase: func(name string) []string {
			return []string{fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)}
		},
		readOnly: func(role string, _ []string) []string {
			return []string{fmt.Sprintf("ALTER ROLE %s SET default_transaction_read_only = on", role), endSessions(role)}
		},
		readWrite: func(role string, _ []string) []string {
			return []string{fmt.Sprintf("ALTER ROLE %s RESET default_transaction_read_only", role), endSessions(role)}
		},
		sessions: func(role string) string {
			return fmt.Sprintf("SELECT pid FROM pg_stat_activity WHERE usename = '%s'", role)
		},
		endSession: func(id int64) string { return fmt.Sprintf("SELECT pg_terminate_backend(%d)", id) },

		port:    "5432/tcp",
		image:   "postgres:17",
		environ: func(password string) []string { return []string{"POSTGRES_PASSWORD=" + password} },
		admin:   "postgres",
		program: postgresProgram,
	},
	"mysql":   mysqlEngine("mysql", "run scripts/fetch-mysql.sh (Debian)", "mysql:8.4", "MYSQL_ROOT_PASSWORD=", mysqlProgram),
	"mariadb": mysqlEngine("mariadb", "install MariaDB's server (Debian: mariadb-server)", "mariadb:11.4", "MARIADB_ROOT_PASSWORD=", mariadbProgram),
	"sqlserver": {
		name:    "sqlserver",
		example: "sqlserver://sa:secret@127.0.0.1:1433",
		hint:    "run it where Docker is",
		driver:  "sqlserver",
		source:  (*url.URL).String,
		createRole: func(role, password string) []string {
			return []string{fmt.Sprintf("CREATE LOGIN %s WITH PASSWORD = '%s'", role, password)}
		},
		dropRole: func(role string) []string { return []string{"DROP LOGIN " + role} },
		createDatabase: func(name, role string) []string {
			return []string{
				"CREATE DATABASE " + name,
				unlessBabelfish(fmt.Sprintf("ALTER DATABASE %s SET READ_COMMITTED_SNAPSHOT ON", name)),
				fmt.Sprintf("ALTER AUTHORIZATION ON DATABASE::%s TO %s", name, role),
			}
		},
		dropDatabase: func(name string) []string {
			return []string{
				unlessBabelfish(fmt.Sprintf("ALTER DATABASE %s SET SINGLE_USER WITH ROLLBACK IMMEDIATE", name)),
				"DROP DATABASE " + name,
			}
		},
		readOnly:  func(_ string, databases []string) []string { return accessOf(databases, "READ_ONLY") },
		readWrite: func(_ string, databases []string) []string { return accessOf(databases, "READ_WRITE") },
		sessions: func(role string) string {
			return fmt.Sprintf("SELECT session_id FROM sys.dm_exec_sessions WHERE login_name = '%s'", role)
		},
		endSession: func(id int64) string { return fmt.Sprintf("KILL %d", id) },

		port:    "1433/tcp",
		image:   "mcr.microsoft.com/mssql/server:2022-latest",
		environ: func(password string) []string { return []string{"ACCEPT_EULA=Y", "MSSQL_SA_PASSWORD=" + password} },
		admin:   "sa",
	},
}

// endSessions makes a role's sessions start anew, as a failover does.
func endSessions(role string) string {
	return fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s'", role)
}

// unlessBabelfish is a statement that Babelfish for PostgreSQL, which stands in for SQL Server where there is none, cannot even parse.
func unlessBabelfish(statement string) string {
	return fmt.Sprintf("IF SERVERPROPERTY('Babelfish') IS NULL EXEC('%s')", statement)
}

func accessOf(databases []string, mode string) []string {
	var all []string
	for _, name := range databases {
		all = append(all, fmt.Sprintf("ALTER DATABASE %s SET %s WITH ROLLBACK IMMEDIATE", name, mode))
	}
	return all
}

// mysqlEngine is what MySQL and MariaDB share.
func mysqlEngine(name, hint, image, password string, find func() (program, error)) engine {
	// MySQL reads the statement of every session to answer from the process list, and fails at one that holds bytes. MariaDB does not,
	// and keeps no list of threads unless it is told to.
	sessions := "SELECT processlist_id FROM performance_schema.threads WHERE processlist_user = '%s'"
	if name == "mariadb" {
		sessions = "SELECT id FROM information_schema.processlist WHERE user = '%s'"
	}
	return engine{
		name:    name,
		example: name + "://root:secret@127.0.0.1:3306/",
		hint:    hint,
		driver:  "mysql",
		source: func(admin *url.URL) string {
			c := mysql.NewConfig()
			c.Net, c.Addr, c.User, c.DBName = "tcp", admin.Host, admin.User.Username(), strings.TrimPrefix(admin.Path, "/")
			c.Passwd, _ = admin.User.Password()
			return c.FormatDSN()
		},
		createRole: func(role, password string) []string {
			return []string{
				fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", role, password),
				fmt.Sprintf("GRANT PROCESS ON *.* TO %s@'%%'", role), // to see the ages of its own transactions
			}
		},
		dropRole: func(role string) []string { return []string{fmt.Sprintf("DROP USER IF EXISTS %s@'%%'", role)} },
		createDatabase: func(name, role string) []string {
			return []string{
				fmt.Sprintf("CREATE DATABASE %s CHARACTER SET utf8mb4", name),
				fmt.Sprintf("GRANT ALL PRIVILEGES ON %s.* TO %s@'%%'", name, role),
			}
		},
		dropDatabase: func(name string) []string { return []string{"DROP DATABASE IF EXISTS " + name} },
		readOnly:     func(string, []string) []string { return []string{"SET GLOBAL read_only = ON"} },
		readWrite:    func(string, []string) []string { return []string{"SET GLOBAL read_only = OFF"} },
		sessions:     func(role string) string { return fmt.Sprintf(sessions, role) },
		endSession:   func(id int64) string { return fmt.Sprintf("KILL %d", id) },
		port:         "3306/tcp",
		image:        image,
		environ:      func(secret string) []string { return []string{password + secret} },
		admin:        "root",
		program:      find,
	}
}
