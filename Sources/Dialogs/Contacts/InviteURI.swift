import Addresses
import Basics

extension Invites.Open {
  /// Returns the URI that leads an XMPP client to the invitation (XEP-0401 4.1.2 and 4.2.2).
  public func uri(token: String) -> String {
    // All but the unreserved characters and the @ (RFC 5122 2.2).
    func escaped(_ text: String) -> String { PercentEncoding.encode(text, keeping: "@") }
    if invite.kind == .contact, let inviter {
      return "xmpp:\(escaped("\(inviter.address)"))?roster;preauth=\(token)" + (makesAccount ? ";ibr=y" : "")
    }
    let name = invite.name.map { escaped($0) + "@" } ?? ""
    return "xmpp:\(name)\(escaped(realm.domain))?register;preauth=\(token)"
  }
}
