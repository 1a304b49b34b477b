import Basics
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import XMLStream
import XMPP
import XMPPFixtures

/// A scripted XMPP client: negotiates like any client, then says what the script says.
final class XMPPPlayer: Player {
  let role: Role
  let inbox: Inbox
  private let address: Address
  private let password: String
  private let loop: any EventLoop
  private let counts = SharedCounts()

  private struct State {
    var channel: (any Channel)?
    var pings = 0
  }
  private let state = Mutex(State())

  init(role: Role, address: Address, password: String, loop: any EventLoop) {
    self.role = role
    self.address = address
    self.password = password
    self.loop = loop
    inbox = Inbox(loop: loop)
  }

  var isConnected: Bool { state.withLock { $0.channel?.isActive ?? false } }

  private func has(_ option: Role.Option) -> Bool { role.options.contains(option) }

  // MARK: Connecting

  func connect() async throws {
    try await open()
    if role.isRaw { return }
    try await authenticate()
    if has(.unbound) { return }
    try await bind()
  }

  func resume() async throws {
    guard try await offerResumption(expecting: "resumed") != nil else { throw PlayerError("the server did not resume") }
    for stanza in counts.withLock({ $0.unacknowledged }) { try await write(stanza) }
  }

  /// Tries to resume; binds anew behind the refusal, and sends again what the server has not got (XEP-0198 5).
  func failToResume() async throws -> Element {
    guard let refusal = try await offerResumption(expecting: "failed") else {
      throw PlayerError("the server did resume")
    }
    let again = counts.withLock { counts in
      let again = counts.unacknowledged
      counts = ManagementCounts()
      return again
    }
    try await bind()
    for stanza in again { try await sendOne(stanza) }
    return refusal
  }

  private func offerResumption(expecting name: String) async throws -> Element? {
    if isConnected { await cut() }
    let (id, received) = counts.withLock { ($0.id, $0.received) }
    guard let id else { throw PlayerError("there is nothing to resume: the role needs the option management") }
    try await open()
    try await authenticate()
    counts.withLock { $0.isSending = true }
    try await write("<resume xmlns='\(managementNamespace)' previd='\(id)' h='\(received)'/>")
    let answer = try await expect("the answer to <resume/>") {
      $0.namespace == managementNamespace && ["resumed", "failed"].contains($0.local)
    }
    return answer.local == name ? answer : nil
  }

  private func open() async throws {
    if isConnected { throw PlayerError("\(role.name) is connected already") }
    inbox.reopen()
    let tls = has(.tls) ? try Self.tls() : nil
    let (inbox, counts, isRaw) = (inbox, counts, role.isRaw)
    let channel = try await ClientBootstrap(group: loop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
          }
          try channel.pipeline.syncOperations.addHandler(StreamHandler(inbox: inbox, counts: counts, isRaw: isRaw))
        }
      }
      .connect(host: "127.0.0.1", port: tls == nil ? address.xmpp : address.xmppTLS).get()
    state.withLock { $0.channel = channel }
  }

  private static func tls() throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    // The server's certificate is one that it made itself a moment ago.
    configuration.certificateVerification = .none
    configuration.applicationProtocols = ["xmpp-client"]
    return try NIOSSLContext(configuration: configuration)
  }

  private func openStream() async throws -> Element {
    try await write(
      "<?xml version='1.0'?><stream:stream to='\(role.domain)' version='1.0' xml:lang='en' xmlns='jabber:client' "
        + "xmlns:stream='http://etherx.jabber.org/streams'>")
    _ = try await expect("a stream header") { $0.local == "stream" }
    return try await expect("stream features") { $0.is(.streamFeatures) }
  }

  private func authenticate() async throws {
    _ = try await openStream()
    if has(.starttls) {
      try await write("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")
      _ = try await expect("<proceed/>") { $0.is(.proceedTLS) }
      let tls = try Self.tls()
      guard let channel = state.withLock({ $0.channel }) else { throw PlayerError("no connection") }
      try await channel.eventLoop.submit {
        try channel.pipeline.syncOperations.addHandler(
          NIOSSLClientHandler(context: tls, serverHostname: nil), position: .first)
      }.get()
      _ = try await openStream()
    }
    if has(.plain) {
      try await logIn("PLAIN", Array("\0\(role.user)\0\(password)".utf8)) { _ in
        throw PlayerError("PLAIN has no challenge")
      }
    } else {
      let mechanism: SCRAMMechanism = has(.sha1) ? .sha1 : has(.sha512) ? .sha512 : .sha256
      var client = SCRAMClient(
        mechanism: mechanism, username: role.user, password: password,
        nonce: "\(UInt64.random(in: .min ... .max))\(UInt64.random(in: .min ... .max))")
      let final = try await logIn("\(mechanism.name)", client.first) { try client.respond(to: $0) }
      guard let final else { throw PlayerError("the server did not prove that it knows the password") }
      try client.verify(final)
    }
    _ = try await openStream()
  }

  @discardableResult
  private func logIn(
    _ mechanism: String, _ first: [UInt8], respond: ([UInt8]) throws -> [UInt8]
  ) async throws -> [UInt8]? {
    try await write(
      "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='\(mechanism)'>\(Base64.string(first))</auth>")
    while true {
      let answer = try await expect("an answer of SASL") { $0.namespace == "urn:ietf:params:xml:ns:xmpp-sasl" }
      let data = Base64.decode(Array(answer.text.utf8))
      switch answer.local {
      case "success": return data.flatMap { $0.isEmpty ? nil : $0 }
      case "challenge":
        let response = try respond(data ?? [])
        try await write(
          "<response xmlns='urn:ietf:params:xml:ns:xmpp-sasl'>\(Base64.string(response))</response>")
      default: throw PlayerError("\(role.name) cannot log in: \(answer)")
      }
    }
  }

  private func bind() async throws {
    let resource = role.resource.map { "<resource>\($0)</resource>" } ?? ""
    try await ask("bind", "set", "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>\(resource)</bind>")
    if has(.management) {
      counts.withLock {
        $0 = ManagementCounts()
        $0.isSending = true
      }
      try await write("<enable xmlns='\(managementNamespace)' resume='true'/>")
      _ = try await expect("<enabled/>") { $0.namespace == managementNamespace && $0.local == "enabled" }
    }
    if has(.carbons) { try await ask("carbons", "set", "<enable xmlns='urn:xmpp:carbons:2'/>") }
    if has(.blocklist) { try await ask("blocklist", "get", "<blocklist xmlns='urn:xmpp:blocking'/>") }
    if has(.roster) { try await ask("roster", "get", "<query xmlns='jabber:iq:roster'/>") }
    if !has(.silent) {
      try await send(role.priority == 0 ? "<presence/>" : "<presence><priority>\(role.priority)</priority></presence>")
    }
  }

  // MARK: Leaving

  func disconnect() async throws {
    guard let channel = state.withLock({ $0.channel }) else { return }
    try await write("</stream:stream>")
    guard await inbox.take({ if case .disconnected = $0 { true } else { nil } }) != nil else {
      throw PlayerError("the server does not close the connection")
    }
    try? await channel.close()
  }

  func cut() async {
    guard let channel = state.withLock({ $0.channel }) else { return }
    // An error here means that it is closed already.
    try? await channel.close()
    try? await channel.closeFuture.get()
  }

  func goDeaf() async {
    guard let channel = state.withLock({ $0.channel }) else { return }
    try? await channel.setOption(.autoRead, value: false).get()
  }

  // MARK: Speaking

  func send(_ text: String) async throws {
    if role.isRaw { return try await writeBytes(Self.bytes(text), text) }
    for element in try PlayParser.elements(text) {
      try await sendOne(String(decoding: element.serialised(), as: UTF8.self))
    }
  }

  private func sendOne(_ stanza: String) async throws {
    counts.withLock { counts in
      if counts.isSending, !stanza.contains("'\(managementNamespace)'"), !stanza.contains("\"\(managementNamespace)\"")
      {
        counts.unacknowledged.append(stanza)
      } else if stanza.hasPrefix("<enable"), stanza.contains(managementNamespace) {
        counts = ManagementCounts()
        counts.isSending = true
      }
    }
    try await write(stanza)
  }

  func ping() async throws { try await ping(role.domain) }

  /// Waits for the answer of a domain, whatever it is.
  func ping(_ domain: String) async throws {
    let id = state.withLock { state in
      state.pings += 1
      return "stage-ping-\(state.pings)"
    }
    try await send("<iq type='get' id='\(id)' to='\(domain)'><ping xmlns='urn:xmpp:ping'/></iq>")
    _ = try await expect("the answer to a ping") { $0.is(.iq) && $0["id"] == id }
  }

  private func ask(_ id: String, _ type: String, _ payload: String) async throws {
    try await send("<iq type='\(type)' id='stage-\(id)'>\(payload)</iq>")
    let answer = try await expect("the answer to \(id)") { $0.is(.iq) && $0["id"] == "stage-\(id)" }
    guard answer["type"] == "result" else { throw PlayerError("\(role.name): \(id) was refused: \(answer)") }
  }

  private func expect(_ what: String, _ test: (Element) -> Bool) async throws -> Element {
    let found = await inbox.take { arrival -> Element? in
      guard case .xml(let element) = arrival, test(element) || element.is(.streamError) else { return nil }
      return element
    }
    guard let found else { throw PlayerError("\(role.name) did not get \(what)") }
    if found.value.is(.streamError), !test(found.value) {
      throw PlayerError("\(role.name) got \(found.value), not \(what)")
    }
    return found.value
  }

  private func write(_ text: String) async throws { try await writeBytes(Array(text.utf8), text) }

  private func writeBytes(_ bytes: [UInt8], _ text: String) async throws {
    guard let channel = state.withLock({ $0.channel }), channel.isActive else {
      throw PlayerError("\(role.name) is not connected")
    }
    inbox.note(sent: text)
    // The items that arrive tell whether the bytes could still be sent.
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// `\xHH` in what a raw player sends is one byte.
  static func bytes(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"),
        let value = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }
}
