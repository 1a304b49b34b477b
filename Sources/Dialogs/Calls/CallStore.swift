public import Basics

/// A call as it is stored: its users by their ids.
struct CallRow {
  typealias Side = (user: UserID, resource: String?, isApp: Bool)
  let id: Position
  let dialog: DialogID
  let name: String
  let kind: Call.Kind
  let state: Call.State
  let reason: Call.Reason?
  let caller: Side
  let callee: Side
  let rangAt: Timestamp
  let heardAt: Timestamp?
  let acceptedAt: Timestamp?
  let endedAt: Timestamp?
  let due: Timestamp?

  init(_ call: Call) {
    func side(_ side: Call.CallParty) -> Side { (side.party.id, side.resource, side.isApp) }
    (id, dialog, name, kind, state, reason) = (call.id, call.dialog, call.name, call.kind, call.state, call.reason)
    (caller, callee, rangAt, due) = (side(call.caller), side(call.callee), call.rangAt, call.due)
    (heardAt, acceptedAt, endedAt) = (call.heardAt, call.acceptedAt, call.endedAt)
  }

  /// Returns the call, with its users from the store.
  func call(_ reader: some UserReader) throws -> Call {
    func side(_ side: Side) throws -> Call.CallParty {
      guard let party = try reader.party(side.user) else { throw UnreadableRecord(kind: Self.kind) }
      return Call.CallParty(party, resource: side.resource, isApp: side.isApp)
    }
    var call = Call(
      id: id, dialog: dialog, name: name, kind: kind, caller: try side(caller), callee: try side(callee),
      rangAt: rangAt, due: due)
    (call.state, call.reason) = (state, reason)
    (call.heardAt, call.acceptedAt, call.endedAt) = (heardAt, acceptedAt, endedAt)
    return call
  }
}

extension Call.Kind: FieldCodable {}
extension Call.State: FieldCodable {}
extension Call.Reason: FieldCodable {}

extension CallRow: Record {
  enum Field: String, CaseIterable, Sendable {
    case position, dialog, name, kind, state, reason, caller, callerResource = "caller_resource",
      callerApp = "caller_app", callee, calleeResource = "callee_resource", calleeApp = "callee_app", rangAt = "rang",
      heardAt = "heard", acceptedAt = "accepted", endedAt = "ended", due
  }
  static let kind = "calls"
  static let key: [Field] = [.position]
  var fields: [FieldValue] {
    [
      id.field, dialog.field, name.field, kind.field, state.field, reason.field,
      caller.user.field, caller.resource.field, caller.isApp.field, callee.user.field, callee.resource.field,
      callee.isApp.field, rangAt.field, heardAt.field, acceptedAt.field, endedAt.field, due.field,
    ]
  }
  init(_ fields: inout FieldReader) throws {
    id = try fields.next()
    dialog = try fields.next()
    name = try fields.next()
    kind = try fields.next()
    state = try fields.next()
    reason = try fields.next()
    caller = try (fields.next(), fields.next(), fields.next())
    callee = try (fields.next(), fields.next(), fields.next())
    rangAt = try fields.next()
    heardAt = try fields.next()
    acceptedAt = try fields.next()
    endedAt = try fields.next()
    due = try fields.next()
  }
}

extension StoreReader {
  public func call(_ id: Position) throws -> Call? { try record(CallRow.self, .equal(.position, id))?.call(self) }

  public func call(named name: String, in dialog: DialogID) throws -> Call? {
    try record(CallRow.self, .equal(.dialog, dialog), .equal(.name, name))?.call(self)
  }

  /// Returns a user's calls, of either side, that have not ended, the newest first; at most `limit`.
  public func openCalls(of user: UserID, limit: Int) throws -> [Call] {
    let made = try records(
      CallRow.self, .equal(.caller, user), .present(.due), isDescending: true, limit: limit)
    let taken = try records(
      CallRow.self, .equal(.callee, user), .present(.due), isDescending: true, limit: limit)
    return try (made + taken).sorted { $0.id > $1.id }.prefix(limit).map { try $0.call(self) }
  }
}

extension RecordReader {
  /// Returns how many calls a user has begun since then.
  public func callCount(by user: UserID, since time: Timestamp) throws -> Int {
    try count(CallRow.self, .equal(.caller, user), .above(.rangAt, time))
  }

  /// Returns all users' calls whose time is over at `time`, the earliest first.
  public func dueCalls(at time: Timestamp, limit: Int) throws -> [Position] {
    try records(CallRow.self, .atMost(.due, time), by: .due, limit: limit).map(\.id)
  }

  /// Returns the time when the next call is due; `nil` if there is none.
  public func nextCallDue() throws -> Timestamp? {
    try records(CallRow.self, .present(.due), by: .due, limit: 1).first?.due
  }
}

extension RecordWriter {
  /// Inserts or replaces a call.
  public func put(_ call: Call) throws { try put(CallRow(call)) }
}
