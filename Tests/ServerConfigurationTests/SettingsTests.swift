import Accounts
import Addresses
import Basics
import Dialogs
import FileStorage
import Foundation
import IdentityTokens
import Logging
import Peers
import ServerFixtures
import Testing

@testable import ServerConfiguration

/// Priorities, unknown keys, and all errors in one go.
@Suite struct SettingsTests {
  /// Loads with a file of this text, an environment and options.
  private func load(
    _ yaml: String? = nil, environment: [String: String] = [:],
    options: [(key: String, value: String, option: String)] = []
  ) throws -> Settings {
    guard let yaml else {
      return try Settings.load(SettingsArguments(values: options), environment: environment, standardFiles: [])
    }
    return try withScratchFolder { folder in
      let path = folder + "/parley.yaml"
      try Files.write(Array(yaml.utf8), to: path, mode: 0o600)
      return try Settings.load(
        SettingsArguments(file: path, values: options), environment: environment, standardFiles: [])
    }
  }

  /// The lines of a refusal, without the scratch folder's name.
  private func errors(
    _ yaml: String? = nil, environment: [String: String] = [:],
    options: [(key: String, value: String, option: String)] = []
  ) throws -> [String] {
    let refusal = try #require(throws: StartupError.self) {
      _ = try load(yaml, environment: environment, options: options)
    }
    #expect(refusal.status == .usage)
    return refusal.lines.map { line in
      guard let start = line.range(of: "/tmp/"), let end = line.range(of: "/parley.yaml") else { return line }
      return line.replacingCharacters(in: start.lowerBound..<end.upperBound, with: "FILE")
    }
  }

  @Test func backupsAreMadeAtTimesWithAUnit() throws {
    #expect(try load().backups.every == nil)
    let data = try load().data
    for (text, seconds) in [("30m", 1_800), ("6h", 21_600), ("1d", 86_400), ("366d", 31_622_400)] {
      let backups = try load("backup: {every: \(text), keep: 3}").backups
      #expect(
        backups
          == Settings.Backups(
            folder: data + "/backups", every: .seconds(seconds), keep: 3, place: .folder, bucket: nil,
            isReplicated: false))
    }
    #expect(try load("backup: {every: 1d, folder: /var/backups/parley}").backups.folder == "/var/backups/parley")
    for text in ["5", "0m", "h", "-1d", "1w", "367d", "1.5h", "99999999999999999999d"] {
      #expect(
        try errors("backup: {every: \(text)}").first?.hasPrefix("backup.every = \(text) (FILE:1): ") == true, "\(text)")
    }
    #expect(try errors("backup: {every: 1d, keep: 0}").count == 1)
    #expect(
      try errors("data: /srv/parley\nbackup: {every: 1d, folder: /srv/parley}").first?.contains(
        "the data folder itself") == true)
  }

  @Test func tracesGoToACollector() throws {
    #expect(try load().tracing == nil)
    #expect(
      try load("tracing: {endpoint: 'http://127.0.0.1:4318'}").tracing
        == Settings.Tracing(url: "http://127.0.0.1:4318/v1/traces", ratio: 0.1, serviceName: "parley"))
    let whole = try load("tracing: {endpoint: 'https://otel.example/in/traces', ratio: 1, service_name: chat}").tracing
    #expect(whole == Settings.Tracing(url: "https://otel.example/in/traces", ratio: 1, serviceName: "chat"))
    for text in ["1.1", "-0.1", "much", "nan"] {
      #expect(try errors("tracing: {ratio: \(text)}").first?.hasPrefix("tracing.ratio = \(text) (FILE:1): ") == true)
    }
    for text in ["127.0.0.1:4318", "grpc://otel.example", "https://key:secret@otel.example"] {
      #expect(try errors("tracing: {endpoint: '\(text)'}").count == 1, "\(text)")
    }
  }

  /// The bucket of backups has a service of its own, or shares that of users' files.
  @Test func backupsGoToABucketOfTheirOwnOrBesideFiles() throws {
    let own = "endpoint: 'https://s3.example/', bucket: b, key: k, secret: s"
    let files = "uploads: {store: s3, s3: {\(own), prefix: files/}}\n"
    func bucket(_ text: String) throws -> [String]? {
      try load(text).backups.bucket.map { [$0.endpoint, $0.bucket, $0.key, $0.secret, $0.prefix] }
    }
    #expect(
      try bucket("backup: {store: s3, s3: {\(own)}}") == ["https://s3.example", "b", "k", "s", "backups/"])
    #expect(try bucket(files + "backup: {store: s3}") == ["https://s3.example", "b", "k", "s", "backups/"])
    #expect(try bucket(files + "backup: {s3: {bucket: c, prefix: p/}}") == ["https://s3.example", "c", "k", "s", "p/"])
    #expect(try bucket("backup: {every: 1d}") == nil)
    for (text, key) in [
      ("backup: {store: s3}", "backup.s3.endpoint"), ("backup: {s3: {key: k}}", "backup.s3.key"),
      ("backup: {store: s3, s3: {endpoint: 'https://s3.example', key: k, secret: s}}", "backup.s3.bucket"),
      (files + "backup: {store: s3, s3: {prefix: files/}}", "backup.s3.prefix"),
      ("backup: {store: tape}", "backup.store"), ("backup: {s3: {\(own), prefix: 'a b'}}", "backup.s3.prefix"),
    ] {
      let told = try errors(text)
      #expect(told.first?.hasPrefix(key + " ") == true, "\(text): \(told)")
    }
  }

  @Test func anErrorOfAKeyThatIsNotSetSaysSo() throws {
    #expect(
      try errors("push: {apns: {key: k.p8, topics: a.b, team_id: TEAM123456}}") == [
        "push.apns.key_id is not set: ten letters and digits are expected, as Apple's developer account shows them"
      ])
  }

  @Test func aMissingSecretIsNamedWithTheURLThatNeedsItAndHowToMakeOne() throws {
    let url = "'https://backend.example.org/hook'"
    for (text, key) in [
      ("before_send: {url: \(url)}", "before_send"), ("delivery: {url: \(url)}", "delivery"),
      ("push: {webhook: {url: \(url)}}", "push.webhook"),
    ] {
      let lines = try errors(text)
      #expect(lines.count == 1, "\(text): \(lines)")
      #expect(lines.first?.hasPrefix("\(key).secret is not set: \(key).url is set, and ") == true, "\(lines)")
      #expect(lines.first?.hasSuffix("make one: echo whsec_$(openssl rand -base64 32)") == true, "\(lines)")
    }
    // The value of a secret is not shown.
    #expect(
      try errors("before_send: {url: \(url), secret: prospero}").first?.hasPrefix(
        "before_send.secret = ******** (FILE:1): before_send.url is set") == true)
  }

  /// A reload compares these: they show that a secret has changed, and not what it is.
  @Test func fingerprintsShowChanges() throws {
    func secret(_ text: String) throws -> Settings.Effective? {
      try load("turn: {secret: \(text)}").effective.first { $0.key == "turn.secret" }
    }
    #expect(try secret("one")?.fingerprint == secret("one")?.fingerprint)
    #expect(try secret("one")?.fingerprint != secret("two")?.fingerprint)
    #expect(try secret("one")?.value == secret("two")?.value)
  }

  @Test func identityBackendsAndProvidersAreRead() throws {
    let secret = String(repeating: "s", count: 32)
    let yaml = """
      domains: [example.org]
      identity:
        backends:
          - name: my-app
            secrets: [\(secret), "\(secret),2"]
            keys: [/etc/parley/key.pem]
            jwks: http://127.0.0.1:8000/keys
            domain: Example.org
            signup: false
          - name: other
            jwks: https://example.org/keys
        providers:
          - name: google
            audiences: [a, b]
            issuers: [https://accounts.google.com, accounts.google.com]
            nonce: true
            contacts: no
        codes:
          - name: twitter
            client_id: app
            client_secret: \(secret)
            authorize_url: https://api.example/authorize
            scope: users.read
            token_url: https://api.example/token
            user_url: http://127.0.0.1:8000/me
            subject: data.id
            redirects: [app://a, "https://a.example"]
      """
    let settings = try load(yaml)
    #expect(
      settings.identity.backends.map(\.tokens) == [
        Backend(
          name: "my-app", domain: "example.org", secrets: [Array(secret.utf8), Array("\(secret),2".utf8)],
          keySet: "http://127.0.0.1:8000/keys", admitsNewcomers: false),
        Backend(name: "other", domain: "localhost", keySet: "https://example.org/keys"),
      ])
    #expect(settings.identity.backends.map(\.keyFiles) == [["/etc/parley/key.pem"], []])
    #expect(
      settings.identity.providers == [
        Provider(
          name: "google", domain: "localhost", issuers: ["https://accounts.google.com", "accounts.google.com"],
          audiences: ["a", "b"], needsNonce: true, provesContacts: false)
      ])
    #expect(
      settings.identity.codes == [
        CodeProvider(
          name: "twitter", domain: "localhost", clientID: "app", clientSecret: secret,
          authorizationURL: "https://api.example/authorize", scope: "users.read",
          tokenURL: "https://api.example/token", userURL: "http://127.0.0.1:8000/me", subject: ["data", "id"],
          redirectURIs: ["app://a", "https://a.example"])
      ])
    #expect(settings.effective.first { $0.key == "identity.codes" }?.value == "twitter")
    #expect(!settings.effective.contains { $0.value.contains(secret) })
    #expect(settings.effective.first { $0.key == "identity.backends" }?.value == "my-app, other")
    let environment = try load(environment: ["PARLEY_IDENTITY_BACKENDS": "app=\(secret)="])
    #expect(environment.identity.backends.map(\.tokens.secrets) == [[Array("\(secret)=".utf8)]])
    #expect(!environment.effective.contains { $0.value.contains(secret) })
  }

  @Test func errorsInIdentitySettings() throws {
    let lines = try errors(
      """
      identity:
        backends:
          - name: a
            secrets: short-secret
          - name: b
          - name: c
            jwks: http://example.org/keys
            domain: example.net
            signup: perhaps
        providers:
          - name: Google
            audiences: a
            issuers: accounts.google.com
          - name: none
          - nmae: x
        codes:
          - name: google2
            client_id: a
            client_secret: short-secret
            token_url: http://example.org/token
            user_url: https://example.org/me
      """)
    #expect(!lines.contains { $0.contains("short-secret") })
    let expected = [
      "secrets (FILE:4): a secret has at least 32 bytes", "b needs secrets, keys or jwks", "an https URL is expected",
      "it is not served here", "true or false is expected", "1 to 32 small letters", "an https URL is expected",
      "the app's ids at the provider", "the iss of its tokens is expected", "did you mean name?",
      "codes for the app are expected",
    ]
    for text in expected { #expect(lines.contains { $0.contains(text) }, "\(text) in \(lines)") }
    #expect(lines.contains { $0.contains("token_url") && $0.contains("an https URL is expected") })
    let secret = String(repeating: "s", count: 32)
    let twice = try errors(environment: ["PARLEY_IDENTITY_BACKENDS": "a=\(secret),a=\(secret)"])
    #expect(twice.contains { $0.contains("has a backend of this name already") })
  }

  @Test func defaultsAreThoseOfTheTable() throws {
    let settings = try load()
    #expect(
      settings.domains == [
        Settings.Domain(
          name: "localhost", rooms: "conference.localhost", uploads: "upload.localhost", pubsub: "pubsub.localhost",
          certificate: nil)
      ])
    #expect(settings.data == Files.absolute("data"))
    #expect(settings.xmpp == Settings.Endpoint(host: "::", port: 5222))
    #expect(settings.xmppTLS == Settings.Endpoint(host: "::", port: 5223))
    #expect(settings.http == Settings.Endpoint(host: "127.0.0.1", port: 8080))
    #expect(settings.https == Settings.Endpoint(host: "::", port: 8443))
    #expect(settings.publicURL == "https://localhost:8443")
    #expect(!settings.allowsPlaintext)
    #expect(!settings.allowsRegistration)
    #expect(settings.certificate == nil)
    #expect(settings.resumeWindow == .seconds(300))
    #expect(settings.adminSocket == Files.absolute("data") + "/admin.sock")
    #expect(settings.logLevel == .info)
    #expect(settings.logFormat == .text)
    #expect(try load("log.format: json\n").logFormat == .json)
    #expect(settings.threads >= 1)
    #expect(settings.effective.map(\.key) == Keys.all.map(\.name))
  }

  @Test func commandLineWinsOverEnvironmentOverFileOverDefault() throws {
    let yaml = "xmpp:\n  port: 1\n  tls_port: 1001\nhttp.port: 1002\n"
    let settings = try load(
      yaml, environment: ["PARLEY_XMPP_PORT": "2", "PARLEY_XMPP_TLS_PORT": "2001"],
      options: [("xmpp.port", "3", "--set")])
    #expect(settings.xmpp.port == 3)
    #expect(settings.xmppTLS.port == 2001)
    #expect(settings.http.port == 1002)
    #expect(settings.https.port == 8443)
    let origins = Dictionary(uniqueKeysWithValues: settings.effective.map { ($0.key, $0.origin) })
    #expect(origins["xmpp.port"] == "--set")
    #expect(origins["xmpp.tls_port"] == "PARLEY_XMPP_TLS_PORT")
    #expect(origins["http.port"]?.hasSuffix("/parley.yaml:4") == true)
    #expect(origins["https.port"] == "default")
  }

  @Test func aSecretOnTheCommandLineIsRefusedAndNotRepeated() throws {
    let secrets = Keys.all.filter(\.holdsSecret)
    #expect(
      Set(secrets.map(\.name)) == [
        "uploads.s3.secret", "backup.s3.secret", "push.webhook.secret", "turn.secret", "mail.password",
        "delivery.secret", "before_send.secret", "components", "identity.backends", "identity.codes",
      ])
    for key in secrets {
      #expect(
        try errors(options: [(key.name, "irc.example.org=prospero", "--set")]) == [
          "\(key.name) (--set): a secret must not be on a command line, which every user of the machine can read "
            + "(ps): put it into the configuration file or into \(key.environmentName)"
        ])
    }
    let unset = try load("turn.secret: prospero", options: [("turn.secret", "", "--set")])
    #expect(unset.effective.first { $0.key == "turn.secret" }?.value == "")
  }

  @Test func everyMistakeIsToldAtOnceWithKeyValueAndOrigin() throws {
    let lines = try errors(
      "domain: two words\nxmpp:\n  port: 70000\n  prot: 5222\nregistration: maybe\nlog.level: loud\n",
      environment: ["PARLEY_HTTP_PRT": "1", "PARLEY_RESUME_SECONDS": "-1"],
      options: [("https.host", "chat.example.org", "--set https.host")])
    #expect(
      lines == [
        "xmpp.prot (FILE:4): there is no such key; did you mean xmpp.port?",
        "PARLEY_HTTP_PRT: no key of the configuration has this name; did you mean PARLEY_HTTP_PORT?",
        "xmpp.port = 70000 (FILE:3): a port is a number from 1 to 65535; 0 turns it off",
        "https.host = chat.example.org (--set https.host): an IPv4 or IPv6 address of this machine is expected, or localhost",
        "domain = two words (FILE:1): a domain name is expected",
        "registration = maybe (FILE:5): true or false is expected",
        "resume.seconds = -1 (PARLEY_RESUME_SECONDS): seconds: a whole number from 0 to 86400 is expected",
        "log.level = loud (FILE:6): one of trace, debug, info, notice, warning, error, critical is expected",
      ])
  }

  @Test func aBadValueThatIsReplacedIsNoMistake() throws {
    #expect(try load("xmpp.port: many", environment: ["PARLEY_XMPP_PORT": "5"]).xmpp.port == 5)
  }

  @Test(arguments: [
    (
      "xmpp: 5222",
      "xmpp (FILE:1): it is a group of keys: xmpp.host, xmpp.port, xmpp.tls_port, xmpp.plaintext, xmpp.proxy_protocol"
    ),
    ("xmpp.tls_prot: 1", "xmpp.tls_prot (FILE:1): there is no such key; did you mean xmpp.tls_port?"),
    ("nothing.like.it: 1", "nothing.like.it (FILE:1): there is no such key"),
    ("log:\n  level: [a]", "log.level (FILE:2): one value is expected here, not a list"),
    ("log:\n  level: {a: b}", "log.level (FILE:2): one value is expected here, not a map"),
    ("- a", "FILE:1: keys and values are expected here"),
    ("domain: localhost\ndomain: localhost", "domain (FILE:2): line 1 sets it already"),
    ("domains:\n  - name: a.example\n    room: b", "domains.room (FILE:3): there is no such key; did you mean rooms?"),
    ("domains:\n  - rooms: b.example", "domains.name (FILE:2): a domain name is expected"),
    (
      "domains: [localhost, a.example, a.example]",
      "domains.name = a.example (FILE:1): this server already uses the domain"
    ),
    ("tls.key: k.pem", "tls.key = k.pem (FILE:1): tls.certificate must be set as well"),
    ("tls.certificate: c.pem", "tls.certificate = c.pem (FILE:1): tls.key must be set as well"),
    ("pubsub.domain: localhost", "pubsub.domain = localhost (FILE:1): this server already uses the domain"),
    (
      "pubsub.domain: conference.{domain}",
      "pubsub.domain = conference.localhost (FILE:1): this server already uses the domain"
    ),
    ("rooms.domain: localhost", "rooms.domain = localhost (FILE:1): this server already uses the domain"),
    (
      "http.url: chat.example.org",
      "http.url = chat.example.org (FILE:1): a URL such as https://chat.example.org is expected"
    ),
    (
      "http.origins: [chat.example.org]",
      "http.origins = chat.example.org (FILE:1): chat.example.org is not an origin such as https://chat.example.org; * must be the only entry"
    ),
    (
      "http.trusted_proxies: proxy.example",
      "http.trusted_proxies = proxy.example (FILE:1): proxy.example is not a network such as 10.0.0.0/8"
    ),
    (
      "terms.url: www.example.org",
      "terms.url = www.example.org (FILE:1): a URL such as https://www.example.org/terms is expected"
    ),
    ("http.port: 5222\nhttp.host: 0.0.0.0", "http.port = 5222 (FILE:1): xmpp.port has the same port"),
    ("admins: alice", "admins = alice (FILE:1): 'alice' is not a user's address such as alice@example.org"),
    ("admins: [alice@a.example]", "admins = alice@a.example (FILE:1): a.example is not served here"),
    ("threads: 0", "threads = 0 (FILE:1): threads: a whole number from 1 to 1024 is expected"),
  ])
  func errorsInTheFile(yaml: String, expected: String) throws {
    #expect(try errors(yaml) == [expected])
  }

  /// Each later line is named with the one before, and hides no other error. The key may be in quotes, behind lines that
  /// end in two characters, in a group or with a dot, and the group may be what is written again.
  @Test func aKeyThatIsWrittenAgainIsNamedWithBothLines() throws {
    let yaml = [
      "domain: two words", "xmpp: {port: 1, tls_prot: 2, \"port\": 3}\r", "tls:\r", "  key: k.pem\r",
      "domain: localhost", "'tls':", "  'key': /k.pem", "  'key': /l.pem", "  certificate: /c.pem", "log.level: debug",
      "log:", "  level: loud", "domains:", "  - {name: a.example, rooms: b.example, rooms: c.example}",
      "domain: localhost",
    ].joined(separator: "\n")
    #expect(
      try errors(yaml) == [
        "xmpp.tls_prot (FILE:2): there is no such key; did you mean xmpp.tls_port?",
        "xmpp.port (FILE:2): line 2 sets it already",
        "domain (FILE:5): line 1 sets it already",
        "tls (FILE:6): line 3 sets it already",
        "tls.key (FILE:7): line 4 sets it already",
        "tls.key (FILE:8): line 7 sets it already",
        "log.level (FILE:12): line 10 sets it already",
        "domains.rooms (FILE:14): line 14 sets it already",
        "domain (FILE:15): line 5 sets it already",
        "log.level = loud (FILE:12): one of trace, debug, info, notice, warning, error, critical is expected",
      ])
  }

  @Test func serversForCallsAndContactsAreListsOfURIs() throws {
    let yaml = """
      turn:
        servers: ["stun:[2001:db8::1]", "turn:Relay.example.org:1?transport=tcp", turns:relay.example.org]
        secret: prospero
      contact.abuse: [mailto:abuse@example.org, xmpp:abuse@example.org]
      """
    let settings = try load(yaml, environment: ["PARLEY_CONTACT_STATUS": "https://status.example.org"])
    #expect(
      settings.services.all == [
        ExternalService(kind: .stun, host: "2001:db8::1", port: 3478, transport: .udp),
        ExternalService(kind: .turn, host: "relay.example.org", port: 1, transport: .tcp),
        ExternalService(kind: .turns, host: "relay.example.org", port: 5349, transport: .tcp),
      ])
    #expect(
      settings.contacts == [
        "abuse": ["mailto:abuse@example.org", "xmpp:abuse@example.org"], "status": ["https://status.example.org"],
      ])
    #expect(settings.effective.first { $0.key == "turn.secret" }?.value == "********")
  }

  @Test(arguments: [
    "turn:relay.example.org?transport=sctp", "stun:relay.example.org?transport=udp", "stun:", "relay.example.org",
    "turn:relay.example.org:0", "stun:[relay]:1", "http://relay.example.org", "stun:a:b:1",
  ])
  func anInvalidServerForCallsIsAnError(_ uri: String) throws {
    let lines = try errors(environment: ["PARLEY_TURN_SERVERS": uri, "PARLEY_TURN_SECRET": "s"])
    #expect(lines.count == 1)
    #expect(lines[0].contains("\(uri) is neither stun:HOST"))
  }

  @Test func aRelayWithoutSecretIsAMistake() throws {
    let lines = try errors(environment: ["PARLEY_TURN_SERVERS": "turn:relay.example.org"])
    #expect(lines.count == 1)
    #expect(lines[0].contains("turn.secret must be set"))
  }

  @Test(arguments: ["abuse@example.org", "mailto:", ":x", "x y:z", "1a:b", "mailto:<a>"])
  func textThatIsNoURIIsNoContact(_ text: String) throws {
    #expect(try errors(environment: ["PARLEY_CONTACT_ABUSE": text]).count == 1)
  }

  @Test(arguments: [
    ("https://status.example.org/outage.json", 0), ("mailto:status@example.org", 1), ("outage.json", 1),
    ("httpx:status", 1),
  ])
  func outagesAreToldAtAURL(_ text: String, errorCount: Int) throws {
    let environment = ["PARLEY_OUTAGE_ADDRESSES": text]
    guard errorCount == 0 else { return #expect(try errors(environment: environment).count == errorCount) }
    #expect(try load(environment: environment).outageAddresses == [text])
  }

  @Test func someMaySendWithoutBounds() throws {
    let settings = try load(
      """
      domains: [example.org]
      sending:
        day_bytes: 2000000
        network_stanzas_per_second: 5000
        network_bytes_per_second: 16777216
        unlimited: [Bot@example.org, 10.0.0.0/8, "2001:db8::/48", IRC.example.com]
      """)
    var policy = SendingPolicy()
    policy.networkStanzasPerSecond = 5_000
    policy.networkBytesPerSecond = 16_777_216
    policy.dayBytes = 2_000_000
    policy.unlimited.users = [try #require(BareJID(parsing: "bot@example.org"))]
    policy.unlimited.domains = ["irc.example.com"]
    policy.unlimited.networks = ["10.0.0.0/8", "2001:db8::/48"].compactMap { Network($0) }
    #expect(settings.sending == policy)
  }

  @Test(arguments: ["bot@elsewhere.example", "10.0.0.0/33", "@", "a@b@c"])
  func whoIsUnknownIsNotUnlimited(_ written: String) throws {
    let lines = try errors(environment: ["PARLEY_SENDING_UNLIMITED": written])
    #expect(lines.count == 1)
    #expect(lines[0].contains("\(written) is neither a user of this server"))
  }

  /// Clients have the address of their /64 alone, so a part of one would match none.
  @Test(arguments: ["2001:db8::1", "2001:db8::/65"])
  func aPartOfANetworkIsNotUnlimited(_ written: String) throws {
    let lines = try errors(environment: ["PARLEY_SENDING_UNLIMITED": written])
    #expect(lines.count == 1)
    #expect(lines[0].contains("\(written) is only part of a network"))
    let settings = try load("sending: {unlimited: [\"2001:db8::/64\"]}\n")
    #expect(settings.sending.unlimited.networks == [try #require(Network("2001:db8::/64"))])
  }

  @Test func componentsBelongToTheDomainAboveThem() throws {
    let yaml = """
      domain: example.net
      domains: [example.org]
      components:
        - {name: IRC.example.org, secret: a}
        - name: gateway.example.com
          secret: b
      """
    let settings = try load(yaml)
    #expect(
      settings.components == [
        Settings.Component(name: "irc.example.org", secret: "a", home: "example.org"),
        Settings.Component(name: "gateway.example.com", secret: "b", home: "example.net"),
      ])
    #expect(settings.component == Settings.Endpoint(host: "127.0.0.1", port: 5347))
    #expect(settings.effective.first { $0.key == "components" }?.value == "IRC.example.org, gateway.example.com")
    let written = try load(environment: ["PARLEY_COMPONENTS": "irc.localhost=a=b, sms.localhost=c"])
    #expect(written.components.map(\.secret) == ["a=b", "c"])
    #expect(try !load().component.isOn)
  }

  @Test func permissionsOfComponents() throws {
    let yaml = """
      components:
        - name: a.localhost
          secret: s
          roster: both
          roster_push: false
          message: outgoing
          presence: roster
          iq: ["urn:a get", urn:b both]
          delegate: [urn:x, "urn:y node ver"]
        - {name: b.localhost, secret: t, roster: get, delegate: "urn:x node"}
      """
    let components = try load(yaml).components
    #expect(
      components.map(\.privileges) == [
        Privileges(
          roster: .both, isToldOfRosters: false, speaks: true, requests: ["urn:a": .get, "urn:b": .both],
          presence: .contacts),
        Privileges(roster: .get, isToldOfRosters: true),
      ])
    #expect(
      components.map(\.delegated) == [
        [
          Delegation("urn:x", to: "a.localhost"),
          Delegation("urn:y", attributes: ["node", "ver"], to: "a.localhost"),
        ], [Delegation("urn:x", attributes: ["node"], to: "b.localhost")],
      ])
    // The remaining fields are those whose change needs a restart.
    let other = try load(yaml.replacing("roster: both", with: "roster: get")).components
    #expect(other != components && other.map(\.fixed) == components.map(\.fixed))
    #expect(try load(yaml.replacing("[urn:x,", with: "[urn:z,")).components.map(\.fixed) != components.map(\.fixed))
  }

  @Test(arguments: [
    ("roster: all", "roster"), ("message: incoming", "message"), ("presence: all", "presence"),
    ("presence: roster", "presence"), ("{roster: set, presence: roster}", "presence"),
    ("roster_push: true", "roster_push"),
    ("roster_push: maybe", "roster_push"), ("iq: [urn:a]", "iq"), ("iq: urn:a all", "iq"), ("iq: {urn:a: get}", "iq"),
    ("delegate: ['urn:xmpp:delegation:2']", "delegate"), ("delegate: [urn:a, urn:a]", "delegate"),
    ("roster: [get]", "roster"),
  ]) func permissionsThatCannotBeGranted(field: String, name: String) throws {
    let fields = field.hasPrefix("{") ? String(field.dropFirst().dropLast()) : field
    let lines = try errors("components:\n  - {name: a.localhost, secret: s, \(fields)}\n")
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("components.\(name)"))
  }

  @Test func errorsOfComponentsAreToldWithoutTheirSecrets() throws {
    let yaml = "components:\n  - {name: two words, secret: s1}\n  - {name: localhost, secret: s2}\n  - irc.localhost\n"
    let lines = try errors(yaml)
    #expect(
      lines == [
        "components.name = two words (FILE:2): a domain name is expected",
        "components.name = localhost (FILE:3): this server already uses the domain",
        "components.secret (FILE:4): irc.localhost needs a secret",
      ])
  }

  @Test func aFileThatIsNoYAMLTellsTheLine() throws {
    let lines = try errors("domain: localhost\nxmpp: [1, 2\n")
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix("FILE:"))
    #expect(lines[0].contains("not valid YAML"))
  }

  @Test(arguments: ["xmpp:\n\tport: 5222\n", "domain: localhost\n\txmpp.port: 1\n", "admins:\n- \ta@localhost\n"])
  func aTabIsNamed(_ text: String) throws {
    let lines = try errors(text)
    #expect(lines.count == 1)
    #expect(lines[0].contains("not valid YAML"))
    #expect(lines[0].hasSuffix(" (use spaces, not tabs)"))
  }

  @Test func aNamedFileMustBeThere() throws {
    let refusal = try #require(throws: StartupError.self) {
      _ = try Settings.load(
        SettingsArguments(file: "/nonexistent/parley.yaml"), environment: [:], standardFiles: [])
    }
    #expect(
      refusal.lines == ["/nonexistent/parley.yaml: the configuration cannot be read: there is no such file or folder"])
  }

  /// A command is for somebody who may read the file; a server that may not read it needs the permission.
  @Test func whoMayNotReadTheFileIsToldWhatToDo() {
    let failure = Files.Failure(path: "/none.yaml", code: 13)
    #expect(SettingsFile.reason(failure, isOfServer: false).hasPrefix("permission denied; run this as root or as "))
    let reason = SettingsFile.reason(failure, isOfServer: true)
    #expect(reason.contains(": sudo chgrp ") && reason.contains(" /none.yaml && sudo chmod g+r /none.yaml; else "))
    #expect(
      SettingsFile.reason(Files.Failure(path: "/none.yaml", code: 2), isOfServer: true)
        == "there is no such file or folder")
  }

  /// As in /etc/parley for a user who must not enter it; a link to itself stops root, too.
  @Test func aStandardFileThatCannotBeReachedIsAnError() throws {
    try withScratchFolder { folder in
      let loop = folder + "/loop"
      try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: loop)
      let refusal = try #require(throws: StartupError.self) {
        _ = try Settings.load(
          SettingsArguments(), environment: [:],
          standardFiles: [folder + "/missing.yaml", loop + "/parley.yaml"])
      }
      #expect(refusal.lines.count == 1)
      #expect(refusal.lines[0].hasPrefix("\(loop)/parley.yaml: the configuration cannot be read: "))
    }
  }

  @Test(arguments: ["", "# only a comment\n", "xmpp:\n  port:\n", "tls.certificate: ''\n"])
  func emptyValuesAreAsIfUnset(yaml: String) throws {
    #expect(try load(yaml).xmpp.port == 5222)
    #expect(try load(yaml).certificate == nil)
  }

  @Test func plaintextNeedsALoopbackAddress() throws {
    #expect(
      try errors(environment: ["PARLEY_XMPP_PLAINTEXT": "true"]) == [
        "xmpp.plaintext = true (PARLEY_XMPP_PLAINTEXT): passwords would cross the network unencrypted; "
          + "set xmpp.host to 127.0.0.1 or ::1"
      ])
    for host in ["127.0.0.1", "127.8.8.8", "::1", "localhost"] {
      #expect(try load("xmpp: {host: '\(host)', plaintext: yes}").allowsPlaintext)
    }
  }

  @Test func domainsFromTheFileAndFromTheEnvironment() throws {
    let yaml = """
      domain: One.Example
      rooms.domain: rooms.{domain}
      pubsub.domain: nodes.{domain}
      domains:
        - two.example
        - name: three.example
          rooms: talk.three.example
          pubsub: feeds.three.example
          certificate: /c/chain.pem
          key: /c/key.pem
      """
    let domains = try load(yaml).domains
    #expect(
      domains == [
        Settings.Domain(
          name: "one.example", rooms: "rooms.one.example", uploads: "upload.one.example",
          pubsub: "nodes.one.example", certificate: nil),
        Settings.Domain(
          name: "two.example", rooms: "rooms.two.example", uploads: "upload.two.example",
          pubsub: "nodes.two.example", certificate: nil),
        Settings.Domain(
          name: "three.example", rooms: "talk.three.example", uploads: "upload.three.example",
          pubsub: "feeds.three.example",
          certificate: Settings.CertificateFiles(chain: "/c/chain.pem", key: "/c/key.pem")),
      ])
    let replaced = try load(yaml, environment: ["PARLEY_DOMAINS": "four.example, five.example"]).domains
    #expect(replaced.map(\.name) == ["one.example", "four.example", "five.example"])
    #expect(try load("pubsub: {enabled: no}").domains.map(\.pubsub) == [nil])
    #expect(try load("pubsub: {create: admins}").nodeCreators == .admins)
  }

  @Test func adminsAsTextAndAsAList() throws {
    let admins = [try BareJID("alice@localhost"), try BareJID("bob@localhost")]
    #expect(try load("admins: alice@localhost, Bob@localhost").admins == Set(admins))
    #expect(try load("admins: [alice@localhost, bob@localhost]").admins == Set(admins))
    #expect(try load("", environment: ["PARLEY_ADMINS": "alice@localhost"]).admins == [admins[0]])
    #expect(try load("").admins.isEmpty)
  }

  @Test func theFirstDomainMayHaveAnElementOfItsOwn() throws {
    let settings = try load(
      "domain: a.example\ndomains:\n  - b.example\n  - {name: a.example, certificate: /c, key: /k}\n")
    #expect(settings.domains.map(\.name) == ["a.example", "b.example"])
    #expect(settings.domains[0].certificate == Settings.CertificateFiles(chain: "/c", key: "/k"))
  }

  @Test func variablesOfAServiceBesideAreIgnored() throws {
    let environment = [
      "PARLEY_PORT": "tcp://10.0.0.1:5222", "PARLEY_SERVICE_HOST": "10.0.0.1", "PARLEY_PORT_5222_TCP_ADDR": "10.0.0.1",
    ]
    #expect(try load(environment: environment).xmpp.port == 5222)
  }

  @Test func theDerivedURLFollowsThePorts() throws {
    #expect(try load("domain: chat.example\nhttps.port: 443").publicURL == "https://chat.example")
    #expect(try load("domain: chat.example\nhttps.port: 0").publicURL == "http://chat.example:8080")
    #expect(try load("http.url: https://x.example/parley/").publicURL == "https://x.example/parley")
  }

  @Test func theTermsMayHaveAPageForPeople() throws {
    #expect(try load().termsURL == nil)
    let settings = try load("terms: {version: 2, url: https://www.example.org/terms}")
    #expect(settings.terms == "2" && settings.termsURL == "https://www.example.org/terms")
    #expect(try errors("terms.version: 2") == ["terms.version = 2 (FILE:1): terms.url must be set as well"])
    #expect(try load("terms.url: https://www.example.org/terms").terms == nil)
  }

  @Test func pagesOfAllOriginsAreAllowedOrOfThoseListed() throws {
    #expect(try load().origins == nil)
    #expect(
      try load("http.origins: https://a.example, http://localhost:3000").origins == [
        "https://a.example", "http://localhost:3000",
      ])
  }

  @Test func proxiesAreTrustedWhereTheyAreListed() throws {
    #expect(try load().trustedProxies == [])
    #expect(
      try load("http.trusted_proxies: 10.0.0.2, fd00::/64").trustedProxies
        == [Network("10.0.0.2"), Network("fd00::/64")].compactMap { $0 })
  }

  @Test func headersOfProxiesAreReadBySetting() throws {
    #expect(try !load().readsProxyHeaders)
    #expect(try load("xmpp.proxy_protocol: true").readsProxyHeaders)
  }

  @Test func boundsByNetworkAreOffBySetting() throws {
    #expect(try load().boundsByNetwork)
    #expect(try !load("limits.by_network: false").boundsByNetwork)
  }

  @Test func registrationHasItsBoundsAndItsPage() throws {
    let standard = try load("registration: true")
    #expect(standard.registrationProofBits == 18 && standard.networkAccountsPerHour == 10)
    let other = try load("signup.proof: false\nsignup.network_hour_max: 100")
    #expect(other.registrationProofBits == nil && other.networkAccountsPerHour == 100)
    #expect(throws: StartupError.self) { try load("signup.network_hour_max: 0") }
    func pages(_ text: String) throws -> [String?] {
      let settings = try load("domain: a.example\ndomains:\n  - name: b.example\nregistration: true\n" + text)
      return settings.domains.map { settings.signUpPage(of: $0) }
    }
    #expect(try pages("") == ["https://a.example:8443/#/register", "https://b.example:8443/#/register"])
    #expect(
      try pages("http.url: https://chat.a.example\n")
        == ["https://chat.a.example/#/register", "https://b.example:8443/#/register"])
    #expect(try pages("web.client: false\n") == [nil, nil])
    let closed = try load("")
    #expect(closed.domains.map { closed.signUpPage(of: $0) } == [nil])
  }

  @Test func aSocketPathThatIsTooLongIsToldWithItsLength() throws {
    let folder = "/" + String(repeating: "d", count: 100)
    #expect(
      try errors(environment: ["PARLEY_DATA": folder]) == [
        "admin.socket = \(folder)/admin.sock (PARLEY_DATA): a socket's path has at most 107 bytes, this one has 112; "
          + "set admin.socket to a shorter one"
      ])
  }

  @Test func everyPortOffIsNothingToServe() throws {
    let ports = ["PARLEY_XMPP_PORT", "PARLEY_XMPP_TLS_PORT", "PARLEY_HTTP_PORT", "PARLEY_HTTPS_PORT"]
    let lines = try errors(environment: Dictionary(uniqueKeysWithValues: ports.map { ($0, "0") }))
    #expect(lines == ["xmpp.port = 0 (PARLEY_XMPP_PORT): every port is turned off: the server could not be reached"])
  }

  @Test(arguments: [
    ("Cpus_allowed:\t3\n", 2), ("Name:\tparley\nCpus_allowed:\tffffffff,00000001\nMems_allowed:\t1\n", 33),
  ])
  func coresOfTheAffinity(status: String, count: Int) {
    #expect(Threads.allowed(inStatus: status) == count)
  }

  @Test func noCoresMeansUnknown() {
    #expect(Threads.allowed(inStatus: "Name:\tparley\n") == nil)
    #expect(Threads.allowed(inStatus: "Cpus_allowed:\t0\n") == nil)
  }

  @Test(arguments: [
    ("tls_prot", "tls_port"), ("Domain", "domain"), ("domian", "domain"), ("zzzzzz", nil), ("x", nil),
  ])
  func theNearestName(wrong: String, expected: String?) {
    #expect(Nearest.name(to: wrong, among: ["domain", "tls_port", "registration"]) == expected)
  }
}
