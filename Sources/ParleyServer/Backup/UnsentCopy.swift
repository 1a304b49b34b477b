import Basics
import Glibc

/// The copy of the database of a backup that could not be sent to its bucket: the next attempt sends the rest of it, and
/// not another copy from its beginning. There is one at most, in the data folder.
struct UnsentCopy {
  static let prefix = "unsent-"

  let name: BackupName
  let path: String

  init(of name: BackupName, in folder: String) {
    self.name = name
    path = "\(folder)/\(Self.prefix)\(name).db"
  }

  private static func all(in folder: String) -> [UnsentCopy] {
    Folder.names(folder).filter { $0.hasPrefix(prefix) }.compactMap {
      BackupName(file: $0.dropFirst(prefix.count), ending: ".db").map { UnsentCopy(of: $0, in: folder) }
    }
  }

  /// Returns the copy that is young enough to be sent; removes others.
  static func find(in folder: String, at now: Timestamp) -> UnsentCopy? {
    var found: UnsentCopy?
    for copy in all(in: folder).sorted(by: { $0.name > $1.name }) {
      if found == nil, let time = copy.name.time, time <= now, now < time + ServerLimits.unsentCopyAge {
        found = copy
      } else {
        unlink(copy.path)
      }
    }
    return found
  }

  static func removeAll(in folder: String) { for copy in all(in: folder) { unlink(copy.path) } }
}
