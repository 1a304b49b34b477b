import Glibc

/// The data of Prosody, whichever way it is stored.
public enum ProsodySource {
  static let expected = "the data folder of Prosody (data_path) or its SQLite database"

  /// Returns the source at a path: the data folder, or a SQLite database (`storage = "sql"`).
  public static func at(_ path: String) -> any ImportSource {
    var found = stat()
    let isFolder = stat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
    return isFolder ? ProsodyFolder(path) : ProsodyDatabase(path)
  }
}
