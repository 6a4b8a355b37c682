#!/bin/sh
# Puts Kafka's server into .cache/kafka (or the directory given): its jars, by Maven, and nothing else. A JRE 17 or newer runs them. The
# tests find it there, or where SUTRA_KAFKA_HOME says.
set -eu

version=4.1.1
home=${1:-$(dirname "$0")/../.cache/kafka}
mkdir -p "$home" && home=$(cd "$home" && pwd)
[ -e "$home/$version/kafka_2.13-$version.jar" ] && echo "Kafka $version" && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>sutra</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
POM
mvn --batch-mode --quiet --file "$work/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.7.0:copy-dependencies \
	-DincludeScope=runtime -DoutputDirectory="$work/jars"
rm -rf "${home:?}/$version"
mv "$work/jars" "$home/$version"
echo "Kafka $version"
