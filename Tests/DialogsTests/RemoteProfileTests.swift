import Addresses
import Basics
import DialogsFixtures
import Testing

@testable import Dialogs

/// What users elsewhere say about themselves to an app's client here.
@Suite struct RemoteProfileTests {
  private struct Scene {
    let stage: Stage
    let romeo: Party
    let desk: RecordingSession
    let phone: RecordingSession
    let client: FullJID
    /// Elsewhere.
    let juliet: Party

    func says(_ draft: RemoteProfileDraft) async throws {
      try await stage.parley.post(.remoteProfile(draft, to: client), by: juliet)
    }
    var row: User? {
      get async throws { try await stage.parley.read { try $0.user(juliet.address, seenFrom: juliet.realm) } }
    }
  }

  private func scene(subscribed: Bool = true) async throws -> Scene {
    let stage = try Stage()
    stage.parley.hub.setFederation(FederationTests.Service(refusing: []))
    let romeo = try await stage.user("romeo")
    let federated = stage.parley.federatedRealm(of: stage.parley.realms[0].id).id
    let juliet = Party(remote: try BareJID("juliet@capulet.example"), realm: federated)
    if subscribed {
      try await stage.parley.post(.subscription(.subscribe, to: juliet.address, stanza: nil), by: romeo)
      try await stage.parley.post(.subscription(.subscribed, to: romeo.address, stanza: nil), by: juliet)
    }
    let (desk, phone) = (
      try await stage.session(romeo, "desk", door: .app), try await stage.session(romeo, "phone", door: .app)
    )
    _ = (desk.taken(), phone.taken())
    return Scene(
      stage: stage, romeo: romeo, desk: desk, phone: phone, client: try FullJID("romeo@localhost/desk"), juliet: juliet)
  }

  @Test func theLastNameAndPictureAreKeptAndTheClientIsToldThem() async throws {
    let scene = try await scene()
    try await scene.says(RemoteProfileDraft(displayName: .some("Jule")))
    #expect(try await scene.row?.profile.displayName == "Jule")
    let picture = Avatar([0xFF, 0xD8, 0xFF, 1])
    try await scene.says(RemoteProfileDraft(avatar: .some(picture)))
    let row = try #require(try await scene.row)
    #expect(row.profile.avatarHash == picture.hash && row.profile.displayName == "Jule")
    #expect(try await scene.stage.parley.read { try $0.avatar(of: row, for: scene.romeo) } == picture)
    #expect(scene.desk.taken() == [.profileOf("juliet@capulet.example"), .profileOf("juliet@capulet.example")])
    // A client that is told what is stored already learns it all the same. The other client has its own notification.
    try await scene.says(RemoteProfileDraft())
    #expect(scene.desk.taken() == [.profileOf("juliet@capulet.example")])
    #expect(scene.phone.taken() == [])
    try await scene.says(RemoteProfileDraft(displayName: .some(nil), avatar: .some(nil)))
    let bare = try #require(try await scene.row)
    #expect(bare.profile == Profile())
    #expect(try await scene.stage.parley.read { try $0.avatar(of: bare) } == nil)
  }

  @Test func onlyThoseWhosePresenceTheUserSeesAreHeard() async throws {
    let scene = try await scene(subscribed: false)
    #expect(scene.stage.parley.hub.appSession(scene.client, subscribedTo: scene.juliet.address) == nil)
    await #expect(throws: Problem.unreachable) { try await scene.says(RemoteProfileDraft(displayName: .some("Jule"))) }
    #expect(try await scene.row == nil)
    #expect(scene.desk.taken() == [])
  }

  @Test func nobodyHearsWhomTheyBlock() async throws {
    let scene = try await scene()
    #expect(scene.stage.parley.hub.appSession(scene.client, subscribedTo: scene.juliet.address) != nil)
    try await scene.stage.parley.post(.block([BlockPattern(JID("capulet.example"))]), by: scene.romeo)
    #expect(scene.stage.parley.hub.appSession(scene.client, subscribedTo: scene.juliet.address) == nil)
    await #expect(throws: Problem.unreachable) { try await scene.says(RemoteProfileDraft(displayName: .some("Jule"))) }
  }

  @Test func whatIsTooLargeChangesNothing() async throws {
    let scene = try await scene()
    let long = String(repeating: "x", count: Limits.displayNameBytesMax + 1)
    for draft in [
      RemoteProfileDraft(displayName: .some(long)),
      RemoteProfileDraft(avatar: .some(Avatar([UInt8](repeating: 1, count: Limits.avatarBytesMax + 1)))),
    ] {
      await #expect(throws: Problem.self) { try await scene.says(draft) }
    }
    #expect(try await scene.row?.profile ?? Profile() == Profile())
  }

  /// A user elsewhere has a picture for those who see their presence, as it was sent to such ones.
  @Test func onlySubscribersGetThePicture() async throws {
    let scene = try await scene()
    try await scene.says(RemoteProfileDraft(avatar: .some(Avatar([0xFF, 0xD8, 0xFF, 1]))))
    let row = try #require(try await scene.row)
    let paris = try await scene.stage.user("paris")
    #expect(try await scene.stage.parley.read { try $0.avatar(of: row, for: paris) } == nil)
  }
}
