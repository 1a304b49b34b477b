import Addresses
import Basics
import Testing

@testable import Dialogs

/// Credentials for TURN servers that share a secret.
@Suite struct ExternalServicesTests {
  private let relay = ExternalService(kind: .turn, host: "relay.example.org", port: 3478, transport: .udp)
  private let romeo = Party(id: UserID(1), realm: RealmID(1), address: BareJID(parsing: "romeo@localhost")!)

  /// The password was made with `openssl dgst -sha1 -hmac prospero -binary | base64`.
  @Test func passwordsAreWhatTheRelayWorksOut() throws {
    let services = ExternalServices([relay], secret: "prospero", lifetime: .seconds(3_600))
    let now = Timestamp(milliseconds: 1_784_021_400_999)
    let credentials = try #require(services.credentials(for: romeo, at: relay, now: now))
    #expect(credentials.username == "1784025000:romeo@localhost")
    #expect(credentials.password == "725ckXPT/o2a5Dvfpd7gs6q9PzM=")
    #expect(credentials.expires == Timestamp(milliseconds: 1_784_025_000_000))
  }

  @Test func onlyRelaysWantCredentials() {
    let stun = ExternalService(kind: .stun, host: "2001:db8::1", port: 3478, transport: .udp)
    let services = ExternalServices([stun, relay], secret: "prospero", lifetime: .seconds(3_600))
    #expect(services.credentials(for: romeo, at: stun, now: Timestamp(milliseconds: 0)) == nil)
    #expect(stun.uri == "stun:[2001:db8::1]:3478")
    #expect(relay.uri == "turn:relay.example.org:3478?transport=udp")
  }
}
