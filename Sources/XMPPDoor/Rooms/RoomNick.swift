import Addresses
import Dialogs
import XMPP

/// A nickname from a client (XEP-0045 17.1), in the form of RFC 8266 2.3, so that compared nicks have one form.
enum RoomNick {
  /// Returns the nickname.
  ///
  /// - Throws: `jid-malformed`, as for entering without one (7.2.1), if it is empty, of white space only, longer than
  ///   `Limits.nickBytesMax`, or contains invalid characters.
  static func read(_ text: String) throws(StanzaError) -> String {
    guard text.utf8.count <= Limits.nickBytesMax, let nick = try? Precis.nickname(text),
      nick.utf8.count <= Limits.nickBytesMax
    else { throw StanzaError(.jidMalformed, "this is no nickname (RFC 8266)") }
    return nick
  }
}
