import Addresses
import Basics
public import Dialogs
import Logging

/// Logins by external tokens.
extension Accounts {
  /// Logs in by a token. A user without account gets one if the issuer may admit newcomers.
  ///
  /// - Parameter device: as in `logIn(_:password:device:client:)`.
  /// - Throws: the errors of `IdentityVerifier.verify`; `.unauthenticated` `nonce-invalid`; `.missing`
  ///   `identity-unknown`; `.forbidden` `account-disabled`.
  public func logIn(
    by token: IdentityToken, in realm: RealmID, device: String?, client: String?
  ) async throws(Problem) -> Login {
    let (proof, nonce) = try await prove(token, in: realm)
    let newcomer = Newcomer(name: proof.localpart, displayName: proof.displayName)
    let now = parley.clock.now
    let login = try await logIn(
      by: proof.identity, in: realm, newcomer: proof.admitsNewcomers ? newcomer : nil, device: device, client: client
    ) { user, isNew, writer in
      if let nonce { try Self.use(nonce, in: realm, now: now, writer) }
      if isNew { try Self.bindFree(proof.contacts, to: user, now: now, writer) }
    }
    return Login(
      grant: login.grant, accessToken: login.accessToken, refreshToken: login.refreshToken,
      user: await adopt(proof, login.user))
  }

  /// Verifies a token. Returns its proof with its nonce, which is still to be used up.
  func prove(
    _ token: IdentityToken, in realm: RealmID
  ) async throws(Problem) -> (proof: IdentityProof, nonce: Nonce?) {
    guard let verifier = options.signIn.verifier, let domain = parley.realmTable.realm(realm)?.domain else {
      throw Problem(.forbidden, "grant-off", "This server takes no tokens of others.", field: "grant")
    }
    let proof = try await verifier.verify(token, for: domain)
    // Each login stores a nonce for a while.
    try pace(.tokenLogin(proof.identity, realm))
    switch proof.nonce.map({ read(nonce: $0, in: realm) }) {
    case .good(let nonce): return (proof, nonce)
    case .expired: throw Problem.nonceInvalid
    // The client's own nonce, for a token that needs none of this server.
    case .foreign, nil:
      if proof.needsNonce { throw Problem.nonceInvalid }
      return (proof, nil)
    }
  }

  /// Binds the addresses that the issuer has verified to the user, if no other user has them.
  static func bindFree(_ contacts: [Identity], to user: User, now: Timestamp, _ writer: any StoreWriter) throws {
    for contact in contacts where try writer.user(of: contact, in: user.realm) == nil {
      try writer.put(UserIdentity(contact, of: user.id, since: now), in: user.realm)
    }
  }

  /// Updates the profile by the proof. The user is logged in already: nothing here can fail the login.
  ///
  /// - Returns: the updated user.
  func adopt(_ proof: IdentityProof, _ user: User) async -> User {
    let party = Party(id: user.id, realm: user.realm, address: user.address)
    if let url = proof.pictureURL { fetchPicture(url, of: party) }
    guard let name = proof.displayName, name != user.profile.displayName,
      proof.renames || user.profile.displayName == nil
    else { return user }
    do throws(Problem) {
      try await parley.post(.profile(ProfileDraft(displayName: .some(name), fullName: .some(nil))), by: party)
      return try await parley.read { try $0.user(user.id) } ?? user
    } catch {
      parley.logger.warning(
        "a name was not taken from a token", metadata: ["user": "\(user.address)", "reason": "\(error.text)"])
      return user
    }
  }

  /// Fetches the picture, once for each URL: the user's later choice remains until the issuer names another picture.
  private func fetchPicture(_ url: String, of user: Party) {
    guard let pictures = options.signIn.pictures else { return }
    let (node, item) = ("parley:picture", "url")
    Task { [self] in
      do throws(Problem) {
        let last = try await parley.read { try $0.value(of: user.id, node: node, item: item) }
        guard last != Array(url.utf8), let bytes = await pictures.picture(at: url) else { return }
        let avatar = Avatar(bytes)
        guard avatar.isKnown, bytes.count <= Limits.avatarBytesMax else { return }
        try await parley.post(.profile(ProfileDraft(avatar: avatar)), by: user)
        try await parley.work { writer in
          guard try writer.user(user.id)?.state == .active else { return }
          try writer.setValue(of: user.id, node: node, item: item, Array(url.utf8))
        }
      } catch {
        parley.logger.warning(
          "a picture was not taken from a token", metadata: ["user": "\(user.address)", "reason": "\(error.text)"])
      }
    }
  }

  /// Logs in as a new guest. The login allows them to return as long as the guest exists.
  public func logInAsGuest(
    in domain: String, from network: String, device: String?, client: String?
  ) async throws(Problem) -> Login {
    try await logIn(try await makeGuest(in: domain, from: network), device: device, client: client)
  }
}
