/// The data of ejabberd, whichever way it is stored.
public enum EjabberdSource {
  static let expected =
    "what ejabberdctl dump, pg_dump, mysqldump or mariadb-dump has written, or ejabberd's SQLite database,"

  /// Returns the source at a path: a dump of Mnesia (`ejabberdctl dump`), a SQLite database (`sql_type: sqlite`), or what
  /// `pg_dump` or `mysqldump` writes of its database (`sql_type: pgsql`, `mysql`).
  ///
  /// - Parameters:
  ///   - domain: the domain of a database whose tables do not tell it.
  ///   - uploads: the folder of uploaded files; `nil` to leave them out.
  public static func at(_ path: String, domain: String?, uploads: String? = nil) -> any ImportSource {
    let data: any ImportSource
    if let kind = kind(of: path) {
      data = EjabberdDatabase(path: path, domain: domain, kind: kind)
    } else {
      data = EjabberdDump(path)
    }
    return uploads.map { EjabberdUploads(data, folder: $0) } ?? data
  }

  private static func kind(of path: String) -> EjabberdDatabase.Kind? {
    if SourcePath.isDatabase(path) { return .sqlite }
    let start = SourcePath.beginning(of: path)
    // MariaDB's may begin with a comment that only its own client reads.
    if start.starts(with: "/*".utf8)
      || ["-- MySQL dump", "-- MariaDB dump"].contains(where: { start.starts(with: $0.utf8) })
    {
      return .mysql
    }
    return start.starts(with: "--".utf8) || start.starts(with: "COPY ".utf8) ? .postgres : nil
  }
}

/// The tables of an ejabberd with `default_db: sql`, in its older schema, where a database has one domain, or in the newer,
/// where rows name theirs (`new_sql_schema`).
struct EjabberdDatabase: ImportSource {
  /// SQLite's own file, or a dump.
  enum Kind { case sqlite, postgres, mysql }
  let path: String
  let domain: String?
  let kind: Kind

  func check() throws(SourceFailure) { try SourcePath.check(path, EjabberdSource.expected) }

  var places: String { "the tables of ejabberd in \(path)" }

  func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    let rows: any EjabberdRows
    let tables: Database
    switch kind {
    case .sqlite:
      tables = try Database(reading: path)
      guard try tables.hasTable("rosterusers") else {
        throw SourceFailure(Place(file: path), "it has no table rosterusers; is it ejabberd's database?")
      }
      rows = try EjabberdTableRows(tables, path, kinds)
    case .postgres:
      tables = try Database()
      rows = try PostgresDump(path, kinds, tables)
    case .mysql:
      tables = try Database()
      rows = try MySQLDump(path, kinds, tables)
    }
    return try EjabberdTables(rows, tables, path, domain, kinds)
  }
}
