import Addresses
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// An example as XEP-0045 prints it: without the white space between the elements.
func example(_ text: String) throws -> Element {
  var joined = ""
  for line in text.split(separator: "\n") {
    let part = line.drop(while: \.isWhitespace)
    if !joined.isEmpty, !joined.hasSuffix(">"), !part.isEmpty { joined += " " }
    joined += part
  }
  return try stanza(joined)
}

/// The condition with which something is refused; nil: it is not.
func refusal(_ body: () throws -> Void) -> StanzaError.Condition? {
  do {
    try body()
    return nil
  } catch let error as StanzaError { return error.condition } catch { return nil }
}

func room(_ address: String = "coven@chat.shakespeare.lit") throws -> RoomName {
  RoomName(dialog: DialogID(7), realm: RealmID(1), address: try bare(address))
}

/// The people of the examples.
func person(_ address: String) throws -> Party { try party(Int64(address.utf8.count), address) }

func member(_ address: String, _ affiliation: Affiliation, nick: String? = nil) throws -> Member {
  Member(
    room: DialogID(7), party: try person(address), affiliation: affiliation, nick: nick, since: .zero,
    joinedAt: someTime, version: .zero)
}

/// The settings a form makes of others.
func settings(
  _ form: DataForm, of settings: RoomSettings = .group, owners: [BareJID] = [], admins: [BareJID] = []
) throws -> RoomSettings {
  var result = settings
  try ConfigurationForm.read(form, of: settings, owners: owners, admins: admins).apply(&result)
  return result
}

/// A filled-in form of a room's configuration.
func configuration(_ fields: [(String, [String])]) -> DataForm {
  DataForm(.submit, formType: "\(NS.mucRoomConfig)", fields: fields.map { DataForm.Field($0.0, values: $0.1) })
}
