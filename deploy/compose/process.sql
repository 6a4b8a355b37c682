-- MySQL and MariaDB: the engine has to see the ages of its own transactions, to end those of a replica that was stopped.
GRANT PROCESS ON *.* TO sutra@'%';
