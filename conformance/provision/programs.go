package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// connections is what every server admits: many replicas with a pool each.
const connections = 500

func postgresProgram() (program, error) {
	initdb, ok := firstProgram("initdb", "/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin")
	if !ok {
		return program{}, errors.New("no initdb in PATH or /usr/lib/postgresql")
	}
	postgres := filepath.Join(filepath.Dir(initdb), "postgres")
	return program{
		where: "by " + postgres,
		user:  "postgres",
		stop:  syscall.SIGINT, // its fast shutdown: connections are closed
		files: func(password string) map[string]string { return map[string]string{"password": password} },
		install: func(dir, _ string) [][]string {
			return [][]string{{
				initdb, "--pgdata=" + filepath.Join(dir, "data"), "--username=postgres", "--pwfile=" + filepath.Join(dir, "password"),
				"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync",
			}}
		},
		serve: func(dir string, port int) []string {
			return []string{
				postgres, "-D", filepath.Join(dir, "data"),
				"-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(port), "-c", "unix_socket_directories=",
				"-c", fmt.Sprintf("max_connections=%d", connections),
			}
		},
	}, nil
}

func mariadbProgram() (program, error) {
	mariadbd, ok := firstProgram("mariadbd", "/usr/sbin", "/usr/local/mysql/bin")
	if !ok {
		return program{}, errors.New("no mariadbd in PATH or /usr/sbin")
	}
	installer, ok := firstProgram("mariadb-install-db", "/usr/bin", "/usr/local/mysql/scripts")
	if !ok {
		return program{}, errors.New("no mariadb-install-db beside mariadbd")
	}
	p := mysqlServer(mariadbd)
	p.install = func(dir, _ string) [][]string {
		return [][]string{{installer, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--auth-root-authentication-method=normal", "--skip-test-db"}}
	}
	return p, nil
}

func mysqlProgram() (program, error) {
	mysqld, err := findMySQL()
	if err != nil {
		return program{}, err
	}
	p := mysqlServer(mysqld)
	p.install = func(dir, _ string) [][]string {
		return [][]string{{mysqld, "--no-defaults", "--initialize-insecure", "--datadir=" + filepath.Join(dir, "data")}}
	}
	serve := p.serve
	p.serve = func(dir string, port int) []string {
		return append(serve(dir, port), "--mysqlx=OFF", "--secure-file-priv=NULL", "--disable-log-bin", "--log-error-verbosity=1")
	}
	return p, nil
}

// findMySQL prefers the directory of scripts/fetch-mysql.sh. A mysqld in PATH may be MariaDB under its old name.
func findMySQL() (string, error) {
	for _, home := range homes("SUTRA_MYSQL_HOME", "mysql") {
		mysqld := filepath.Join(home, "bin", "mysqld")
		if _, err := os.Stat(mysqld); err == nil {
			return mysqld, nil
		}
	}
	mysqld, ok := firstProgram("mysqld", "/usr/sbin", "/usr/local/mysql/bin")
	if !ok {
		return "", errors.New("no mysqld in SUTRA_MYSQL_HOME, .cache/mysql or PATH")
	}
	out, err := exec.CommandContext(context.Background(), mysqld, "--version").Output()
	if err != nil || strings.Contains(string(out), "MariaDB") {
		return "", fmt.Errorf("%s is not MySQL: %s", mysqld, strings.TrimSpace(string(out)))
	}
	return mysqld, nil
}

// mysqlServer is what the two share when they serve.
func mysqlServer(mysqld string) program {
	return program{
		where: "by " + mysqld,
		user:  "provision",
		stop:  syscall.SIGTERM,
		files: func(password string) map[string]string {
			return map[string]string{"users.sql": fmt.Sprintf(
				"CREATE USER IF NOT EXISTS provision@'%%' IDENTIFIED BY '%s';\nGRANT ALL PRIVILEGES ON *.* TO provision@'%%' WITH GRANT OPTION;\n", password)}
		},
		serve: func(dir string, port int) []string {
			return []string{
				mysqld, "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--init-file=" + filepath.Join(dir, "users.sql"),
				"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--socket=" + filepath.Join(dir, "s"),
				"--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir,
				fmt.Sprintf("--max-connections=%d", connections), "--innodb-buffer-pool-size=256M",
			}
		},
	}
}
