import Addresses
import Dialogs
import XMLStream
import XMPP

/// A nickname from a client (XEP-0045 17.1), in the form of RFC 8266 2.3, so that compared nicks have one form.
enum RoomNick {
  /// Returns the nickname.
  ///
  /// - Throws: `jid-malformed`, as for entering without one (7.2.1), if it is empty, of white space only, longer than
  ///   `Limits.nickBytesMax`, or contains invalid characters.
  static func read(_ text: String) throws(StanzaError) -> String {
    guard let nick = try? Precis.nickname(text), nick.utf8.count <= Limits.nickBytesMax else {
      throw StanzaError(.jidMalformed, "this is no nickname (RFC 8266)")
    }
    return nick
  }

  /// Returns the nickname to which a client sends presence, as it wrote it. Parsing the address may already have changed
  /// it, of which the room tells the client (210).
  ///
  /// - Parameter parsed: the resource of the parsed address.
  static func said(in stanza: Stanza, parsed: String) -> String {
    guard let to = stanza.element["to"], let slash = to.utf8.firstIndex(of: UInt8(ascii: "/")) else { return parsed }
    return String(to[to.utf8.index(after: slash)...])
  }
}
