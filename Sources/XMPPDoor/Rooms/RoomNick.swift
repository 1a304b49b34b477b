import Addresses
import Dialogs
import XMPP

/// A nickname that a client names (XEP-0045 17.1): as RFC 8266 2.3 shows it, so that what is compared has one form.
enum RoomNick {
  /// - Throws: `jid-malformed`, as for entering without one (7.2.1), when it is empty, of space only, longer than
  ///   `Limits.nickBytesMax`, or has characters no nickname has.
  static func read(_ text: String) throws(StanzaError) -> String {
    guard text.utf8.count <= Dialogs.Limits.nickBytesMax, let nick = try? Precis.nickname(text),
      nick.utf8.count <= Dialogs.Limits.nickBytesMax
    else { throw StanzaError(.jidMalformed, "this is no nickname (RFC 8266)") }
    return nick
  }
}
