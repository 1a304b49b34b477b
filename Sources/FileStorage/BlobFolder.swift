import Basics
package import Dialogs
import Glibc

/// A blob store with one file per blob: `<two hex digits>/<name>`, in 256 folders by the id's first digits, so that
/// none gets too large. A blob is written in the `Spool` beside them, synced, renamed, and its folder synced, before it
/// is acknowledged.
///
/// Each upload has its own file, even with equal content: names are unguessable, so that no user can find out whether
/// another has a file, and removing one never affects another.
package final class BlobFolder: BlobStore {
  private let path: String
  private let spool: Spool
  package let isRemote = false

  package init(_ path: String) throws(BlobFailure) {
    self.path = path
    spool = try Spool(path)
    do throws(Files.Failure) {
      for shard in UInt8.min ... .max { try Files.makeFolder(path + "/" + Hex.string([shard]), mode: 0o700) }
    } catch {
      throw Spool.unusable(path, "made", error.code)
    }
    guard Spool.sync(folder: path) else {
      throw Spool.unusable(path, "written to", errno)
    }
  }

  private func shard(_ name: BlobName) -> String { path + "/" + name.description.prefix(2) }
  private func file(_ name: BlobName) -> String { shard(name) + "/\(name)" }

  package func begin(_ name: BlobName, size: Int64) throws(BlobFailure) -> any BlobWriter {
    try spool.begin(name, size: size, finish: finish(name))
  }

  package func resume(_ name: BlobName) throws(BlobFailure) -> any BlobWriter {
    try spool.resume(name, finish: finish(name))
  }

  private func finish(_ name: BlobName) -> Spool.Finish {
    let (file, shard) = (file(name), shard(name))
    return { written, _ throws(BlobFailure) in
      // A resumable upload keeps its file in the spool until the database has recorded the blob.
      let isNamed =
        written.isResumed
        ? (unlink(file) == 0 || errno == ENOENT) && link(written.path, file) == 0 : rename(written.path, file) == 0
      guard isNamed, Spool.sync(folder: shard) else { throw Spool.failure(errno) }
    }
  }

  package func open(_ name: BlobName) throws(BlobFailure) -> (any BlobReader)? {
    let file = Glibc.open(file(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if file < 0 {
      if errno == ENOENT { return nil }
      throw Spool.failure(errno)
    }
    return Reading(file: file)
  }

  package func remove(_ name: BlobName) throws(BlobFailure) {
    spool.discard(name)
    guard unlink(file(name)) == 0 || errno == ENOENT else { throw Spool.failure(errno) }
  }

  package func settle(_ name: BlobName) { spool.discard(name) }
  package var unsettled: [BlobID] { spool.unsettled }
  package var room: Int64 { spool.room }

  private final class Reading: BlobReader {
    private let file: Int32
    init(file: Int32) { self.file = file }
    deinit { close(file) }

    func read(at offset: Int64, count: Int) throws(BlobFailure) -> [UInt8] {
      try Spool.read(file, at: offset, count: count)
    }
  }
}
