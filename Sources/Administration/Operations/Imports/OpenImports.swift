import Basics
import Dialogs
import Synchronization

/// The imports whose beginning the audit has. Their batches, of which there may be thousands, are no acts of their own.
///
/// An import whose process was killed stays here until others have come, or until the server ends.
final class OpenImports: Sendable {
  struct Key: Hashable {
    let actor: AuditActor
    let source: String
  }

  private let keys = Mutex<[Key]>([])

  /// Returns whether the import begins with this.
  func begin(_ key: Key) -> Bool {
    keys.withLock { keys in
      if keys.contains(key) { return false }
      // The oldest one, if it still comes, has a second beginning in the audit.
      if keys.count == AdminLimits.importsOpenMax { keys.removeFirst() }
      keys.append(key)
      return true
    }
  }

  func end(_ key: Key) { keys.withLock { keys in keys.removeAll { $0 == key } } }
}

extension AdminContext {
  /// Records the beginning of an import, before its first batch is taken.
  func begin(_ source: String) async throws(Problem) {
    guard let actor else { return }
    let key = OpenImports.Key(actor: actor, source: source)
    guard imports.begin(key) else { return }
    do throws(Problem) {
      try await recorded(ImportRecords.name, on: Line.safe(source)) { () throws(Problem) in }
    } catch {
      imports.end(key)
      throw error
    }
  }
}
