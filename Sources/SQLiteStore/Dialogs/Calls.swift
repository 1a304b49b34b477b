import Addresses
import Basics
import Dialogs

/// The states of calls.
extension Reader {
  func call(_ id: Position) throws -> Call? {
    try connection(.call).bind(1, id.number).first { try call($0) }
  }

  func call(named name: String, in dialog: DialogID) throws -> Call? {
    try connection(.callNamed).bind(1, dialog.number).bind(2, name).first { try call($0) }
  }

  func openCalls(of user: UserID, limit: Int) throws -> [Call] {
    try connection(.openCalls).bind(1, user.number).bind(2, bound(limit)).all { try call($0) }
  }

  func callCount(by user: UserID, since time: Timestamp) throws -> Int {
    try connection(.callCount).bind(1, user.number).bind(2, time.milliseconds).first { Int($0.int(0)) } ?? 0
  }

  func dueCalls(at time: Timestamp, limit: Int) throws -> [Position] {
    try connection(.dueCalls).bind(1, time.milliseconds).bind(2, bound(limit)).all { Position($0.int(0)) }
  }

  func nextCallDue() throws -> Timestamp? {
    try connection(.nextCallDue).first { Timestamp(milliseconds: $0.int(0)) }
  }

  private func call(_ row: Prepared) throws -> Call {
    guard let kind = Call.Kind(rawValue: UInt8(clamping: row.int(3))),
      let state = Call.State(rawValue: UInt8(clamping: row.int(4)))
    else { throw StoreFailure.corrupt("call \(row.int(0)) is of an unknown kind") }
    func time(_ column: Int32) -> Timestamp? { row.intOrNil(column).map { Timestamp(milliseconds: $0) } }
    func callParty(_ column: Int32) throws -> Call.CallParty {
      Call.CallParty(
        try known(UserID(row.int(column))), resource: row.textOrNil(column + 1), isApp: row.int(column + 2) == 1)
    }
    var call = Call(
      id: Position(row.int(0)), dialog: DialogID(row.int(1)), name: row.text(2), kind: kind, caller: try callParty(6),
      callee: try callParty(9), rangAt: Timestamp(milliseconds: row.int(12)), due: time(16))
    call.state = state
    call.reason = row.intOrNil(5).flatMap { Call.Reason(rawValue: UInt8(clamping: $0)) }
    call.heardAt = time(13)
    call.acceptedAt = time(14)
    call.endedAt = time(15)
    return call
  }
}

extension Writer {
  func put(_ call: Call) throws {
    let put = try connection(.putCall)
    try put.bind(1, call.id.number).bind(2, call.dialog.number).bind(3, call.name).bind(4, Int64(call.kind.rawValue))
      .bind(5, Int64(call.state.rawValue)).bind(6, call.reason.map { Int64($0.rawValue) })
    for (index, callParty) in [(7 as Int32, call.caller), (10, call.callee)] {
      try put.bind(index, callParty.party.id.number).bind(index + 1, callParty.resource).bind(
        index + 2, callParty.isApp ? 1 : 0)
    }
    try put.bind(13, call.rangAt.milliseconds).bind(14, call.heardAt?.milliseconds)
      .bind(15, call.acceptedAt?.milliseconds).bind(16, call.endedAt?.milliseconds)
      .bind(17, call.due?.milliseconds).run()
  }
}

extension FactCoding {
  static func write(_ change: CallChange, _ out: inout ByteWriter) {
    let call = change.call
    out.write(Int64(change.act.rawValue))
    out.write(change.message != nil)
    out.write(change.successor) { $0.write($1) }
    out.write(call.id.number)
    out.write(call.name)
    out.write(Int64(call.kind.rawValue))
    out.write(Int64(call.state.rawValue))
    out.write(call.reason) { $0.write(Int64($1.rawValue)) }
    for callParty in [call.caller, call.callee] {
      out.write(callParty.party.id.number)
      out.write(callParty.resource) { $0.write($1) }
      out.write(callParty.isApp)
    }
    out.write(call.rangAt.milliseconds)
    for time in [call.heardAt, call.acceptedAt, call.endedAt, call.due] {
      out.write(time) { $0.write($1.milliseconds) }
    }
  }

  static func callChange(
    _ from: inout ByteReader, in dialog: DialogID, stanza: () throws(StoreFailure) -> Message,
    party: (UserID) throws -> Party
  ) throws -> CallChange {
    guard let act = CallAct(rawValue: UInt8(clamping: try from.int())) else { throw damaged }
    let message = try from.flag() ? try stanza() : nil
    let successor = try from.optional(text)
    let (id, name) = (Position(try from.int()), try from.text())
    guard let kind = Call.Kind(rawValue: UInt8(clamping: try from.int())),
      let state = Call.State(rawValue: UInt8(clamping: try from.int()))
    else { throw damaged }
    let reason = try from.optional { from throws(StoreFailure) in
      Call.Reason(rawValue: UInt8(clamping: try from.int()))
    }
    func callParty() throws -> Call.CallParty {
      let user = try party(UserID(try from.int()))
      return Call.CallParty(user, resource: try from.optional(text), isApp: try from.flag())
    }
    func time() throws(StoreFailure) -> Timestamp? {
      try from.optional { from throws(StoreFailure) in Timestamp(milliseconds: try from.int()) }
    }
    let (caller, callee) = (try callParty(), try callParty())
    var call = Call(
      id: id, dialog: dialog, name: name, kind: kind, caller: caller, callee: callee,
      rangAt: Timestamp(milliseconds: try from.int()), due: nil)
    call.state = state
    call.reason = reason.flatMap { $0 }
    (call.heardAt, call.acceptedAt, call.endedAt, call.due) = (try time(), try time(), try time(), try time())
    return CallChange(act: act, call: call, message: message, successor: successor)
  }
}

extension Query {
  /// Deletes by both parties: there is an index for each.
  static let deleteCallsOfUser = Query("DELETE FROM calls WHERE caller = ?1 OR callee = ?1")
  private static let columns = """
    position, dialog, name, kind, state, reason, caller, caller_resource, caller_app, callee, callee_resource,
    callee_app, rang, heard, accepted, ended, due
    """
  fileprivate static let call = Query("SELECT \(columns) FROM calls WHERE position = ?1")
  fileprivate static let callNamed = Query("SELECT \(columns) FROM calls WHERE dialog = ?1 AND name = ?2")
  /// Each half reads no more than it needs.
  fileprivate static let openCalls = Query(
    """
    SELECT * FROM (
      SELECT * FROM (SELECT \(columns) FROM calls INDEXED BY calls_open_by
        WHERE caller = ?1 AND due IS NOT NULL ORDER BY position DESC LIMIT ?2)
      UNION ALL
      SELECT * FROM (SELECT \(columns) FROM calls INDEXED BY calls_open_to
        WHERE callee = ?1 AND due IS NOT NULL ORDER BY position DESC LIMIT ?2)
    ) ORDER BY position DESC LIMIT ?2
    """)
  fileprivate static let callCount = Query("SELECT count(*) FROM calls WHERE caller = ?1 AND rang > ?2")
  fileprivate static let dueCalls = Query(
    "SELECT position FROM calls INDEXED BY calls_due WHERE due <= ?1 ORDER BY due LIMIT ?2")
  fileprivate static let nextCallDue = Query(
    "SELECT due FROM calls INDEXED BY calls_due WHERE due IS NOT NULL ORDER BY due LIMIT 1")
  fileprivate static let putCall = Query(
    """
    INSERT OR REPLACE INTO calls (\(columns))
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
    """)
}
