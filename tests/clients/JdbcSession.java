// A session of pgJDBC: prepared statements past the threshold at which they are kept, batches, fetch
// sizes, metadata.

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;

public class JdbcSession {
    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
            + "/nacre?user=nacre";
        try (Connection connection = DriverManager.getConnection(url)) {
            rows(connection);
            errors(connection);
            metadata(connection);
        }
    }

    static void rows(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists reef");
            statement.execute("create table reef (id integer primary key, name varchar(30), "
                + "depth numeric(7,2), mapped date, seen timestamp, is_open boolean)");
        }
        connection.setAutoCommit(false);
        String insert = "insert into reef values (?, ?, ?, ?, ?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int number = 0; number < 1000; number++) {
                statement.setInt(1, number);
                statement.setString(2, "reef " + number);
                statement.setBigDecimal(3, BigDecimal.valueOf(number, 2));
                statement.setDate(4, Date.valueOf("2026-01-02"));
                statement.setTimestamp(5, Timestamp.valueOf("2026-01-02 03:04:05.678"));
                statement.setBoolean(6, number % 2 == 0);
                statement.addBatch();
            }
            expect(statement.executeBatch().length, 1000);
        }
        connection.commit();
        try (PreparedStatement statement =
            connection.prepareStatement("select * from reef where id = ?")) {
            // The driver keeps the statement on the server from the fifth time on, and then asks for binary.
            for (int number = 0; number < 12; number++) {
                statement.setInt(1, number);
                try (ResultSet row = statement.executeQuery()) {
                    expect(row.next(), true);
                    expect(row.getString("name"), "reef " + number);
                    expect(row.getBigDecimal(3), BigDecimal.valueOf(number, 2));
                    expect(row.getDate(4), Date.valueOf("2026-01-02"));
                    expect(row.getTimestamp(5), Timestamp.valueOf("2026-01-02 03:04:05.678"));
                    expect(row.getBoolean(6), number % 2 == 0);
                }
            }
        }
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(64);
            int seen = 0;
            try (ResultSet rows = statement.executeQuery("select id from reef order by id")) {
                while (rows.next()) {
                    expect(rows.getInt(1), seen++);
                }
            }
            expect(seen, 1000);
        }
        connection.commit();
        edited(connection);
    }

    // What a tool does that lets rows be edited.
    static void edited(Connection connection) throws SQLException {
        String query = "select id, name, depth, depth + 1 as deeper from reef where id < 2 order by id";
        try (Statement statement = connection.createStatement(
                 ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
             ResultSet rows = statement.executeQuery(query)) {
            ResultSetMetaData columns = rows.getMetaData();
            expect(columns.getTableName(2), "reef");
            expect(columns.getTableName(4), "");
            expect(columns.getColumnTypeName(2), "varchar");
            expect(columns.getPrecision(2), 30);
            expect(columns.getPrecision(3), 7);
            expect(columns.getScale(3), 2);
            expect(columns.isNullable(1), ResultSetMetaData.columnNoNulls);
            expect(columns.isNullable(2), ResultSetMetaData.columnNullable);
            expect(rows.next(), true);
            rows.updateString("name", "the first");
            rows.updateRow();
        }
        try (Statement statement = connection.createStatement();
             ResultSet row = statement.executeQuery("select name from reef where id = 0")) {
            expect(row.next(), true);
            expect(row.getString(1), "the first");
        }
        connection.commit();
    }

    static void errors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("insert into reef (id) values (1)");
            throw new AssertionError("a key was there twice");
        } catch (SQLException error) {
            expect(error.getSQLState(), "23505");
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        expect(metadata.getDatabaseMajorVersion(), 15);
        try (ResultSet tables = metadata.getTables(null, "public", "%", new String[] {"TABLE"})) {
            expect(tables.next(), true);
            expect(tables.getString("TABLE_NAME"), "reef");
            expect(tables.next(), false);
        }
        try (ResultSet columns = metadata.getColumns(null, "public", "reef", "%")) {
            String[] names = {"id", "name", "depth", "mapped", "seen", "is_open"};
            for (String name : names) {
                expect(columns.next(), true);
                expect(columns.getString("COLUMN_NAME"), name);
            }
        }
        try (ResultSet keys = metadata.getPrimaryKeys(null, "public", "reef")) {
            expect(keys.next(), true);
            expect(keys.getString("COLUMN_NAME"), "id");
        }
        try (ResultSet indexes = metadata.getIndexInfo(null, "public", "reef", true, false)) {
            expect(indexes.next(), true);
            expect(indexes.getBoolean("NON_UNIQUE"), false);
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table reef");
        }
    }

    static void expect(Object found, Object expected) {
        if (!found.equals(expected)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }
}
