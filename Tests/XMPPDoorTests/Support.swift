import Addresses
import Basics
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

/// Returns the output of a writer as text, in the scope of a client's stream.
func written(_ body: (inout ElementWriter) -> Void) -> String {
  var writer = ElementWriter()
  body(&writer)
  return String(buffer: writer.buffer)
}

/// The same, read again.
func element(_ body: (inout ElementWriter) -> Void) throws -> Element { try stanza(written(body)) }

/// An element as a client sends it on its stream.
func stanza(_ text: String) throws -> Element { try Element(parsing: Array(text.utf8)) }

/// Returns the draft that the children of a message make.
func draft(_ text: String, _ table: FeatureTable = Features.table()) throws -> Draft {
  var draft = Draft()
  for child in try stanza(text).children { try table.read(child, into: &draft) }
  return draft
}

func bare(_ text: String) throws -> BareJID { try BareJID(text) }

let someTime = Timestamp(milliseconds: 1_278_803_305_000)  // 2010-07-10T23:08:25Z

func party(_ number: Int64, _ address: String) throws -> Party {
  Party(id: UserID(number), realm: RealmID(1), address: try bare(address))
}

func message(
  _ position: Int64, from author: Party, to peer: Party, extras: String, toResource: String? = nil, id: String? = nil,
  time: Timestamp = someTime
) -> Entry {
  Entry(
    position: Position(position), time: time, dialog: DialogID(1), author: author, place: .peer(peer),
    fact: .message(
      Message(
        sequence: position, content: Content(kind: .text, text: "text", extras: Array(extras.utf8)),
        envelope: Envelope(type: .chat, fromResource: "orchard", toResource: toResource, id: id),
        traits: [.archived, .counts])),
    id: PublicID(high: 0, low: UInt64(position)))
}
