#!/bin/sh
# Asks the stub target from inside a transaction, as the application's login.
SQLCMDPASSWORD="$LOOPBROKER_APP_PASSWORD" exec /opt/mssql-tools18/bin/sqlcmd -C -b -y 60 -S localhost -U loopbroker_app -d app -i /examples/ask.sql
