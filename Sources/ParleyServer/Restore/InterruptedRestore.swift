import Basics
import Glibc
import ServerConfiguration

/// The places of a restore within a data folder, and its last step. Everything is prepared in `restoring/`, on the same
/// file system; the file `restoring/ready` is its point of no return. What follows are only renames, which need no
/// space: of the former data into `replaced-.../`, and of the new into its place. Each is done if it is not done yet, so
/// that whoever opens the folder next finishes what a crash has interrupted, and nobody sees a half of both.
struct InterruptedRestore {
  let data: String

  var staging: String { data + "/restoring" }
  private var ready: String { staging + "/ready" }

  /// The parts of the data that are replaced, of which the database is the last. The write-ahead log belongs to the
  /// former database, and `tokens.key` to tokens that were perhaps revoked since the backup.
  private static let replaced = [
    "parley.db-wal", "parley.db-shm", "parley.db-journal", "tokens.key", "blobs", "parley.db",
  ]
  private static let restored: Set = ["blobs", "parley.db"]

  /// Whether there is data in the folder.
  var hasData: Bool { Self.replaced.contains { $0 != "tokens.key" && Files.exists("\(data)/\($0)") } }

  /// Whether the restore takes place, whatever happens.
  var isDecided: Bool { Files.exists(ready) }

  /// Decides that the restore takes place.
  ///
  /// - Parameter aside: The name of the folder for the former data, which is there; empty if there is no such data.
  func decide(aside: String) throws(Files.Failure) {
    try Folder.sync(staging)
    try Files.write(Array("\(aside)\n".utf8), to: ready, mode: 0o600)
    try Folder.sync(staging)
  }

  /// Finishes a restore that was decided; what was prepared for one that was not is removed.
  func settle() throws(Files.Failure) {
    guard Files.exists(staging) else { return }
    if Files.exists(ready) {
      let text = try Files.read(ready, bytesMax: 256)
      let name = String(decoding: text, as: UTF8.self).prefix { !$0.isNewline }
      let aside = name.isEmpty ? nil : data + "/" + name
      for name in Self.replaced {
        let (place, prepared) = (data + "/" + name, staging + "/" + name)
        // A part that was prepared and is there no more has its place already.
        guard !Self.restored.contains(name) || Files.exists(prepared) else { continue }
        if let aside, Files.exists(place) { try Folder.rename(place, aside + "/" + name) }
        if Self.restored.contains(name) { try Folder.rename(prepared, place) }
      }
      if let aside { try Folder.sync(aside) }
      try Folder.sync(data)
    }
    Folder.remove(staging)
  }
}
