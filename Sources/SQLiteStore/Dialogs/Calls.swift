import Addresses
import Basics
import Dialogs

/// The entries of calls.
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
