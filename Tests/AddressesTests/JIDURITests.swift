import Testing

@testable import Addresses

/// RFC 5122.
@Suite struct JIDURITests {
  /// The examples of 2.7.2 and 2.7.3, and one without anything to encode.
  @Test(arguments: [
    ("node@example.com", "xmpp:node@example.com"),
    (
      #"nasty!#$%()*+,-.;=?[\]^_`{|}~node@example.com"#,
      "xmpp:nasty!%23$%25()*+,-.;=%3F%5B%5C%5D%5E_%60%7B%7C%7D~node@example.com"
    ),
    (
      #"node@example.com/repulsive !#"$%&'()*+,-./:;<=>?@[\]^_`{|}~resource"#,
      "xmpp:node@example.com/repulsive%20!%23%22$%25&'()*+,-.%2F:;%3C=%3E%3F%40%5B%5C%5D%5E_%60%7B%7C%7D~resource"
    ),
    ("ji\u{159}i@\u{10d}echy.example/v Praze", "xmpp:ji%C5%99i@%C4%8Dechy.example/v%20Praze"),
    ("example.com", "xmpp:example.com"),
  ])
  func examples(address: String, uri: String) throws {
    let jid = try JID(address)
    #expect(jid.uri == uri)
    #expect(JID(uri: uri) == jid)
  }

  /// URIs without an address, and an IRI, whose characters outside of ASCII are not encoded.
  @Test(arguments: [
    ("xmpp://guest@example.com/support@example.com/x?message#part", "support@example.com/x"),
    ("xmpp:example-node@example.com?message;subject=Hello%20World", "example-node@example.com"),
    ("xmpp:node@example.com#a/b@c", "node@example.com"),
    ("XMPP:Juliet@Example.com", "juliet@example.com"),
    ("xmpp:room@rooms.example.com/N%75rse%2fa", "room@rooms.example.com/Nurse/a"),
    ("xmpp:ji\u{159}i@\u{10d}echy.example", "ji\u{159}i@\u{10d}echy.example"),
  ])
  func others(uri: String, address: String) throws {
    #expect(JID(uri: uri) == (try JID(address)))
  }

  @Test(arguments: [
    "", "xmpp:", "xmpp:?x", "node@example.com", "mailto:node@example.com", "xmpp://guest@example.com",
    "xmpp:@example.com",
    "xmpp:node@", "xmpp:node@example.com/", "xmpp:no%de@example.com", "xmpp:n%C5@example.com", "xmpp:a%40b@example.com",
    "xmpp:node@example.com/%00",
  ])
  func noAddresses(uri: String) { #expect(JID(uri: uri) == nil) }
}
