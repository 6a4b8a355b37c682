#!/bin/sh
# Puts MySQL's server into .cache/mysql (or the directory given), from Debian unstable, with the libraries it needs, and installs
# nothing: Debian's stable releases have no MySQL. The package lists are kept apart from the machine's own. bin/mysqld starts it
# with the libraries of that directory. The tests find it there, or where SUTRA_MYSQL_HOME says.
set -eu

home=${1:-$(dirname "$0")/../.cache/mysql}
mkdir -p "$home/bin" && home=$(cd "$home" && pwd)
[ -x "$home/bin/mysqld" ] && "$home/bin/mysqld" --version && exit 0

# The mirror is the one this machine takes its own Debian packages from.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
	sed -n -e 's/^URIs: *\([^ ]*\).*/\1/p' -e 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' |
	sed -n '/\/debian\/\{0,1\}$/{p;q;}')
[ -n "$mirror" ] || { echo "fetch-mysql: no Debian mirror in /etc/apt" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status" # nothing is installed, so every library is fetched
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror unstable main" >"$work/sources.list"

apt() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$work" \
		-o Dir::State::Lists="$work/lists" -o Dir::State::Status="$work/status" -o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User=root -o APT::Install-Recommends=false -o APT::Get::List-Cleanup=false "$@"
}
apt update
apt --yes --download-only install mysql-server-core
for package in "$work"/cache/archives/*.deb; do
	dpkg -x "$package" "$home"
done

loader=$(find "$home" -name 'ld-linux*.so.*' | head -n 1)
libraries=$(find "$home" \( -name 'libc.so.*' -o -name 'libprotobuf-lite.so.*' \) -exec dirname {} + | sort -u | paste -s -d :)
cat >"$home/bin/mysqld" <<WRAPPER
#!/bin/sh
exec "$loader" --library-path "$libraries" "$home/usr/sbin/mysqld" "\$@" --basedir="$home/usr" \\
	--plugin-dir="$home/usr/lib/mysql/plugin" --character-sets-dir="$home/usr/share/mysql/charsets" --lc-messages-dir="$home/usr/share/mysql"
WRAPPER
chmod +x "$home/bin/mysqld"
"$home/bin/mysqld" --version
