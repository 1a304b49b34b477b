import Glibc

/// The data of ejabberd, whichever way it is stored.
public enum EjabberdSource {
  /// Returns the source at a path: a dump of Mnesia (`ejabberdctl dump`), a SQLite database (`sql_type: sqlite`), or what
  /// `pg_dump` writes of a PostgreSQL database (`sql_type: pgsql`).
  ///
  /// - Parameter domain: the domain of a database whose tables do not tell it.
  public static func at(_ path: String, domain: String?) -> any ImportSource {
    var start = [UInt8](repeating: 0, count: 16)
    let file = open(path, O_RDONLY | O_CLOEXEC)
    _ = read(file, &start, start.count)
    close(file)
    if start.starts(with: "SQLite format 3".utf8) { return EjabberdDatabase(path, domain: domain, isDump: false) }
    if start.starts(with: "--".utf8) || start.starts(with: "COPY ".utf8) {
      return EjabberdDatabase(path, domain: domain, isDump: true)
    }
    return EjabberdDump(path)
  }
}

/// The tables of an ejabberd with `default_db: sql`, in its older schema, where a database has one domain, or in the newer,
/// where rows name theirs (`new_sql_schema`).
struct EjabberdDatabase: ImportSource {
  let path: String
  let domain: String?
  let isDump: Bool

  init(_ path: String, domain: String?, isDump: Bool) {
    self.path = path
    self.domain = domain
    self.isDump = isDump
  }

  func reader(of kinds: RecordKinds) throws(SourceFailure) -> any RecordReader {
    if isDump {
      let joined = try Database()
      return EjabberdTables(try PostgresDump(path, kinds, joined), joined, path, domain, kinds)
    }
    let database = try Database(reading: path)
    guard try database.hasTable("rosterusers") else {
      throw SourceFailure(Place(file: path), "it has no table rosterusers; is it ejabberd's database?")
    }
    return EjabberdTables(try EjabberdTableRows(database, path, kinds), database, path, domain, kinds)
  }
}
