public import Foundation

/// One change of a table; a value of nil removes the key.
public struct StorageChange: Sendable, Equatable {
  public var table, key: String
  /// JSON.
  public var value: Data?

  public init(_ table: String, _ key: String, _ value: Data?) {
    (self.table, self.key, self.value) = (table, key, value)
  }
}

/// Where the SDK keeps what must survive a restart: the login, the place in the log of events, unsent messages. A storage serves one
/// account, and one ``Parley`` at a time.
public protocol Storage: Sendable {
  func get(_ table: String, _ key: String) async throws -> Data?
  /// Returns all values of a table, in the order of the keys.
  func all(_ table: String) async throws -> [Data]
  /// Applies all changes or none, and returns when they are durable.
  func write(_ changes: [StorageChange]) async throws
  /// Removes everything.
  func clear() async throws
  func close() async throws
}

/// Keeps nothing beyond the process.
public actor MemoryStorage: Storage {
  private var tables = Tables()

  public init() {}

  public func get(_ table: String, _ key: String) -> Data? { tables[table, key] }
  public func all(_ table: String) -> [Data] { tables.all(table) }
  public func write(_ changes: [StorageChange]) { tables.apply(changes) }
  public func clear() { tables = Tables() }
  public func close() {}
}

struct Tables: Equatable {
  private(set) var values: [String: [String: Data]] = [:]

  subscript(table: String, key: String) -> Data? { values[table]?[key] }

  func all(_ table: String) -> [Data] { (values[table] ?? [:]).sorted { $0.key < $1.key }.map(\.value) }

  mutating func apply(_ changes: [StorageChange]) {
    for change in changes { values[change.table, default: [:]][change.key] = change.value }
  }

  var bytes: Int { values.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } } }
}

/// Keeps everything in one file that its owner alone can read: a line of JSON for each write, the last of which may be cut off. Of several
/// processes only one may use it. Once closed it stays closed.
public actor FileStorage: Storage {
  private let file: URL
  private var tables = Tables()
  private var handle: FileHandle?
  private var isClosed = false
  private var size = 0
  /// The bytes of the values at the last rewriting, or a minimum.
  private var kept = 0

  public init(_ file: URL) { self.file = file }

  public func get(_ table: String, _ key: String) throws -> Data? {
    _ = try opened()
    return tables[table, key]
  }

  public func all(_ table: String) throws -> [Data] {
    _ = try opened()
    return tables.all(table)
  }

  public func write(_ changes: [StorageChange]) throws {
    guard !changes.isEmpty else { return }
    let line = try Self.line(changes)
    let handle = try opened()
    try handle.write(contentsOf: line)
    try handle.synchronize()
    tables.apply(changes)
    size += line.count
    if size > 1 << 20, size > 4 * kept { try rewrite() }
  }

  public func clear() throws {
    _ = try opened()
    tables = Tables()
    try rewrite()
  }

  public func close() throws {
    isClosed = true
    try handle?.close()
    handle = nil
  }

  private func opened() throws -> FileHandle {
    if let handle { return handle }
    guard !isClosed else { throw ParleyError("closed", "The storage has been closed.") }
    tables = Tables()
    if FileManager.default.fileExists(atPath: file.path) {
      for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
        // What cannot be read was cut off by a crash, before anybody was told that it is stored.
        guard let changes = try? JSON.decode([[String?]].self, from: Data(line)) else { continue }
        tables.apply(
          changes.compactMap { change in
            guard change.count == 3, let table = change[0], let key = change[1] else { return nil }
            return StorageChange(table, key, change[2].map { Data($0.utf8) })
          })
      }
    }
    return try rewrite()
  }

  /// Writes what is kept to a new file, which then takes the place of the old one.
  @discardableResult private func rewrite() throws -> FileHandle {
    try handle?.close()
    handle = nil
    let next = file.appendingPathExtension("new")
    try? FileManager.default.removeItem(at: next)
    let made = FileManager.default.createFile(
      atPath: next.path, contents: nil, attributes: [.posixPermissions: 0o600])
    guard made else { throw ParleyError("storage", "\(next.path) cannot be written.") }
    let handle = try FileHandle(forWritingTo: next)
    size = 0
    for (table, values) in tables.values {
      for (key, value) in values {
        let line = try Self.line([StorageChange(table, key, value)])
        try handle.write(contentsOf: line)
        size += line.count
      }
    }
    try handle.synchronize()
    guard rename(next.path, file.path) == 0 else {
      throw ParleyError("storage", "\(file.path) cannot be replaced.")
    }
    kept = size
    self.handle = handle
    return handle
  }

  private static func line(_ changes: [StorageChange]) throws -> Data {
    try JSON.encode(changes.map { [$0.table, $0.key, $0.value.map { String(decoding: $0, as: UTF8.self) }] })
      + Data("\n".utf8)
  }
}
