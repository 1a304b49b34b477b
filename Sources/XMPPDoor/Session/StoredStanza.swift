import Dialogs
import NIOCore
import XMPP

/// An unacknowledged stanza as a stop stores it: the place of the entry that it shows, or the bytes of a stanza that is
/// in no log. Entries are read when they are sent again, so that what was deleted meanwhile is not in it.
///
/// The stored form of a stanza is a byte for its kind and its fields, one stanza behind the other.
enum StoredStanza: Equatable, Sendable {
  case bytes(ByteBuffer)
  case entry(Position, in: DialogID, Form)
  case result(Position, in: DialogID, ArchiveResult)

  /// Stored: never renumber.
  private enum Kind: UInt8 {
    case bytes = 0
    case entry = 1
    case result = 2
  }

  /// Returns what is stored of a stanza.
  ///
  /// - Parameter bytes: Returns the stanza as it would be sent again.
  init(_ item: Sent, _ bytes: (Entry, Form) -> [UInt8]) {
    switch item {
    case .bytes(let buffer): self = .bytes(buffer)
    case .result(let entry, let result): self = .result(entry.position, in: entry.dialog, result)
    case .entry(let entry, let form):
      // The log keeps only the last marker of a member, and a receipt (XEP-0184) tells of one message.
      if case .marker = entry.fact {
        self = .bytes(ByteBuffer(bytes: bytes(entry, form)))
      } else {
        self = .entry(entry.position, in: entry.dialog, form)
      }
    }
  }

  func write(into buffer: inout ByteBuffer) {
    switch self {
    case .bytes(let bytes):
      buffer.writeInteger(Kind.bytes.rawValue)
      Self.write(bytes, into: &buffer)
    case .entry(let position, let dialog, let form):
      buffer.writeInteger(Kind.entry.rawValue)
      buffer.writeInteger(position.number)
      buffer.writeInteger(dialog.number)
      buffer.writeInteger(form.rawValue)
    case .result(let position, let dialog, let result):
      buffer.writeInteger(Kind.result.rawValue)
      buffer.writeInteger(position.number)
      buffer.writeInteger(dialog.number)
      buffer.writeInteger(result.archive.rawValue)
      buffer.writeInteger(result.queryID == nil ? 0 : 1, as: UInt8.self)
      Self.write(ByteBuffer(string: result.queryID ?? ""), into: &buffer)
    }
  }

  private static func write(_ bytes: ByteBuffer, into buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt32(bytes.readableBytes))
    buffer.writeImmutableBuffer(bytes)
  }

  /// Reads a stanza; `nil` if it is none.
  init?(from buffer: inout ByteBuffer) {
    guard let kind = buffer.readInteger(as: UInt8.self).flatMap({ Kind(rawValue: $0) }) else { return nil }
    if kind == .bytes {
      guard let bytes = Self.readBytes(&buffer) else { return nil }
      self = .bytes(bytes)
      return
    }
    guard let position = buffer.readInteger(as: Int64.self), let dialog = buffer.readInteger(as: Int64.self),
      let number = buffer.readInteger(as: UInt8.self)
    else { return nil }
    if kind == .entry {
      guard let form = Form(rawValue: number) else { return nil }
      self = .entry(Position(position), in: DialogID(dialog), form)
      return
    }
    guard let archive = ArchiveResult.Archive(rawValue: number), let hasID = buffer.readInteger(as: UInt8.self),
      let id = Self.readBytes(&buffer)
    else { return nil }
    let result = ArchiveResult(queryID: hasID == 1 ? String(buffer: id) : nil, archive: archive)
    self = .result(Position(position), in: DialogID(dialog), result)
  }

  private static func readBytes(_ buffer: inout ByteBuffer) -> ByteBuffer? {
    buffer.readInteger(as: UInt32.self).flatMap { buffer.readSlice(length: Int($0)) }
  }

  /// Returns the stanzas of stored parts; `nil` if the parts are not whole.
  static func all(in parts: [[UInt8]]) -> [StoredStanza]? {
    var found: [StoredStanza] = []
    for part in parts {
      var buffer = ByteBuffer(bytes: part)
      while buffer.readableBytes > 0 {
        guard let next = StoredStanza(from: &buffer) else { return nil }
        found.append(next)
      }
    }
    return found
  }

  /// Returns the stanza to be sent again to a session of this user; `Sent.gone` if its entry is in the log no more, or if
  /// the user has deleted it for themselves.
  func sent(to user: UserID, _ reader: any StoreReader) throws -> Sent {
    switch self {
    case .bytes(let buffer): return .bytes(buffer)
    case .entry(let position, let dialog, let form):
      guard let entry = try reader.entry(position, in: dialog, sentTo: user) else { return .gone }
      return .entry(entry, form)
    case .result(let position, let dialog, let result):
      guard let entry = try reader.entry(position, in: dialog, sentTo: user) else { return .gone }
      return .result(entry, result)
    }
  }
}

/// The unacknowledged stanzas that the store has of a session from before a restart, which its client has not resumed yet.
struct StoredStanzas: Equatable, Sendable {
  /// The number of stanzas that the client had acknowledged, not wrapped.
  let acknowledged: UInt64
  let count: Int
  /// The bytes of the stanzas as they would be sent again, about.
  let byteCount: Int

  /// Reads the stanzas; `nil` if there are not as many as were stored: the counts of both sides would differ.
  func read(of stream: StreamNonce, to user: UserID, _ reader: any StoreReader) throws -> [Sent]? {
    guard let stanzas = StoredStanza.all(in: try reader.stanzas(of: stream)), stanzas.count == count else { return nil }
    return try stanzas.map { try $0.sent(to: user, reader) }
  }

  /// Returns the machine of a session that waited without these stanzas, now with them before those that it was sent
  /// since; `nil` if they are more than may wait.
  func machine(
    with stanzas: [Sent], before waiting: ResumptionMachine<Sent>.Snapshot
  ) -> ResumptionMachine<Sent>? {
    var snapshot = waiting
    snapshot.acknowledgedTotal = acknowledged
    // Entries that were read for this session alone are its own memory.
    snapshot.items = stanzas.map { (item: $0, byteCount: $0.resentBytes) } + waiting.items
    let machine = ResumptionMachine(restoring: snapshot)
    return machine.outbound.count == snapshot.items.count ? machine : nil
  }
}
