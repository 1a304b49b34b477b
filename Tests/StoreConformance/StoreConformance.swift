import Basics
public import Dialogs

/// The contract of a store, as named cases that any store's tests can run:
///
///     @Test(arguments: StoreConformance.cases)
///     func conforms(_ example: StoreConformance.Case) throws {
///       try example.run { try MyStore(folder) }
///     }
public enum StoreConformance {
  public struct Case: Sendable, CustomStringConvertible {
    public let name: String
    let body: @Sendable (Scene) throws -> Void

    public var description: String { name }

    /// `open` opens the storage of this one case: empty the first time, and as it
    /// was left when called again after `close()`. Throws `Unmet` where the store
    /// does not do what it must.
    public func run(_ open: @escaping () throws -> any Store) throws {
      let scene = try Scene(open)
      try body(scene)
      try scene.store.close()
    }
  }

  public static let cases: [Case] =
    users + contacts + contactGroups + nodes + dialogs + rooms + whispers + log + states + archive + logins + durability
    + mentions
    + conversations + search + blobs + invites + pushes + dialogSettings + identities + perUserMessages + codes
    + nonces + attachments + backends + draftsAndScheduledMessages + finding + userSettings + calls
    + records + outbox + retention + memberAges
}

/// An expectation that a store does not meet.
public struct Unmet: Error, CustomStringConvertible {
  public let description: String
}

func require(_ condition: Bool, _ what: String, file: String = #fileID, line: Int = #line) throws {
  guard condition else { throw Unmet(description: "\(file):\(line): \(what)") }
}

func equal<Value: Equatable>(
  _ value: Value, _ expected: Value, _ what: String = "", file: String = #fileID, line: Int = #line
) throws {
  guard value == expected else {
    throw Unmet(description: "\(file):\(line): \(what): \(value) instead of \(expected)")
  }
}

/// Compares entries field by field.
func equal(_ entry: Entry?, _ expected: Entry, file: String = #fileID, line: Int = #line) throws {
  try equal(entry.map(account), account(expected), "entry", file: file, line: line)
}

func equal(
  _ entries: [Entry], _ expected: [Entry], _ what: String = "entries", file: String = #fileID, line: Int = #line
) throws {
  try equal(entries.map(account), expected.map(account), what, file: file, line: line)
}

private func account(_ entry: Entry) -> String {
  """
  \(entry.position.number) at \(entry.time.milliseconds) in \(entry.dialog.number) by \(entry.author.address) \
  (\(entry.author.id.number)) to \(String(reflecting: entry.place)), \(entry.id): \(String(reflecting: entry.fact))
  """
}
