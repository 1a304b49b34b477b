public import Foundation

/// A login: its tokens, and whose they are.
struct Session: Codable, Equatable, Sendable {
  var accessToken, refreshToken: String
  var user: User
  var deviceId: String
}

/// How somebody signs in: what `POST /v1/sessions` takes.
public struct SignIn: Sendable {
  let grant: String
  let members: JSONObject
  var identity: (@Sendable (_ nonce: String) async throws -> String)?
  /// Of the login; that of the former login here by default.
  public var deviceId: String?

  init(_ grant: String, _ members: [(String, JSONValue?)] = []) {
    (self.grant, self.members) = (grant, JSONObject(members))
  }

  public static func password(username: String, password: String) -> Self {
    Self("password", [("username", .string(username)), ("password", .string(password))])
  }
  public static func password(email: String, password: String) -> Self {
    Self("password", [("email", .string(email)), ("password", .string(password))])
  }
  public static func password(phone: String, password: String) -> Self {
    Self("password", [("phone", .string(phone)), ("password", .string(password))])
  }
  /// The one-time code of ``Parley/sendCode(email:phone:challenge:)``. `name` is that of a new account.
  public static func code(email: String? = nil, phone: String? = nil, code: String, name: String? = nil) -> Self {
    Self(
      "code",
      [("email", JSONValue(email)), ("phone", JSONValue(phone)), ("code", .string(code)), ("name", JSONValue(name))])
  }
  public static let guest = Self("guest")
  /// After the error `second-factor-required`, with its challenge.
  public static func secondFactor(challenge: String, code: String) -> Self {
    Self("second-factor", [("challenge", .string(challenge)), ("code", .string(code))])
  }
  public static func secondFactor(challenge: String, recoveryCode: String) -> Self {
    Self("second-factor", [("challenge", .string(challenge)), ("recoveryCode", .string(recoveryCode))])
  }
  /// The identity token of the app's own backend.
  public static func identityToken(_ token: String) -> Self { Self("jwt", [("identityToken", .string(token))]) }
  /// The same, with a closure that is given a fresh nonce and returns the token.
  public static func identity(_ token: @escaping @Sendable (_ nonce: String) async throws -> String) -> Self {
    var signIn = Self("jwt")
    signIn.identity = token
    return signIn
  }
  public static func provider(_ provider: String, idToken: String) -> Self {
    Self("provider", [("provider", .string(provider)), ("idToken", .string(idToken))])
  }
  public static func provider(_ provider: String, code: String, codeVerifier: String, redirectUri: String) -> Self {
    Self(
      "provider",
      [
        ("provider", .string(provider)), ("code", .string(code)), ("codeVerifier", .string(codeVerifier)),
        ("redirectUri", .string(redirectUri)),
      ])
  }
}

extension Parley {
  /// Reads what is stored. Returns whether somebody is signed in. Everything else waits for it.
  @discardableResult public func open() async throws -> Bool {
    try await opened()
    return signedIn
  }

  func opened() async throws {
    if let opening { return try await opening.value }
    let task = Task {
      do {
        let cursor = try await stored("cursor", String.self)
        let entries = try await storage.all("outbox").compactMap { try? JSON.decode(Outbox.Entry.self, from: $0) }
        session = try await stored("session", Session.self)
        store.cursor = cursor
        trail.reset(to: cursor)
        outboxState = Outbox(entries)
      } catch { throw ParleyError.storage(error) }
    }
    opening = task
    do { try await task.value } catch {
      opening = nil
      throw error
    }
    drainAll()
  }

  private func stored<T: Decodable>(_ key: String, _ type: T.Type) async throws -> T? {
    do { return try await storage.get("state", key).map { try JSON.decode(type, from: $0) } } catch {
      throw ParleyError.storage(error)
    }
  }

  func keep(_ session: Session) async throws {
    try await write([StorageChange("state", "session", JSON.encode(session))])
    self.session = session
  }

  func write(_ changes: [StorageChange]) async throws {
    do { try await storage.write(changes) } catch { throw ParleyError.storage(error) }
  }

  public func info() async throws -> Info { try await ask("GET", "/info", token: false) }

  /// Signs in. Throws `second-factor-required` with a ``ParleyError/challenge``, if the user has one: then sign in with
  /// ``SignIn/secondFactor(challenge:code:)``. What is stored of another user is removed first.
  @discardableResult public func signIn(_ input: SignIn) async throws -> User {
    try await opened()
    var body = input.members
    body["grant"] = .string(input.grant)
    body["client"] = .string(client)
    if let identity = input.identity {
      struct Nonce: Decodable { var nonce: String }
      let nonce: Nonce = try await ask("POST", "/nonces", token: false)
      body["identityToken"] = .string(try await identity(nonce.nonce))
    }
    let former = try await stored("deviceId", String.self)
    body["deviceId"] = .string(input.deviceId ?? former ?? UUID().uuidString.lowercased())
    let next: Session = try await ask("POST", "/sessions", body: .object(body), token: false)
    await disconnect()
    if let owner = try await stored("owner", String.self), owner != next.user.id { try await forget() }
    try await write([
      StorageChange("state", "deviceId", JSON.encode(next.deviceId)),
      StorageChange("state", "owner", JSON.encode(next.user.id)),
    ])
    try await keep(next)
    emit(.session(signedIn: true, error: nil))
    drainAll()
    return next.user
  }

  /// Creates an account and signs in. Computes the proof of work that a server may ask for, within seconds.
  @discardableResult public func signUp(
    username: String, password: String, name: String? = nil, email: String? = nil, phone: String? = nil,
    code: String? = nil, invitation: String? = nil
  ) async throws -> User {
    var body = JSONObject([
      ("username", .string(username)), ("password", .string(password)), ("name", JSONValue(name)),
      ("email", JSONValue(email)), ("phone", JSONValue(phone)), ("code", JSONValue(code)),
      ("invitation", JSONValue(invitation)),
    ])
    // Other proofs are for a network that changes meanwhile, or a server that restarts.
    var proofs = 3
    while true {
      do {
        let user: User = try await ask("POST", "/users", body: .object(body), token: false)
        return try await signIn(.password(username: user.id, password: password))
      } catch let error as ParleyError where error.code == "registration-proof-required" && proofs > 0 {
        guard let challenge = error.challenge, let target = error.target,
          let proof = Proof(challenge: challenge, target: target)
        else { throw error }
        body["proof"] = .string(try await proof.compute())
        proofs -= 1
      }
    }
  }

  /// Makes a link for one person without an account, who becomes a contact. Throws `invitations-off` where the server's
  /// features have no `invitations`.
  public func createInvitation() async throws -> NewInvitation { try await ask("POST", path("invitations")) }

  /// Who invites, by the token of an invitation's link. Throws `invitation-unknown` if it is used up or expired.
  public func invitation(_ token: String) async throws -> Invitation {
    try await ask("GET", path("invitations", token), token: false)
  }

  /// Ends the login, here and at the server, and removes what is stored, unsent messages too.
  public func signOut() async throws {
    try await opened()
    do { try await tell("DELETE", "/sessions/current") } catch { failed(error) }
    await disconnect()
    session = nil
    try await forget()
    emit(.session(signedIn: false, error: nil))
  }

  struct Expiry: Decodable { var expiresAt: Date }

  /// Sends a one-time code for signing in; with a challenge one for the second factor. Returns when it expires.
  @discardableResult public func sendCode(
    email: String? = nil, phone: String? = nil, challenge: String? = nil
  ) async throws -> Date {
    let body = JSONObject([
      ("email", JSONValue(email)), ("phone", JSONValue(phone)), ("challenge", JSONValue(challenge)),
    ])
    return try await (ask("POST", "/codes", body: .object(body), token: false) as Expiry).expiresAt
  }

  @discardableResult public func sendPasswordReset(email: String? = nil, phone: String? = nil) async throws -> Date {
    let body = JSONObject([("email", JSONValue(email)), ("phone", JSONValue(phone))])
    return try await (ask("POST", "/password-resets", body: .object(body), token: false) as Expiry).expiresAt
  }

  public func resetPassword(_ token: String, password: String) async throws {
    try await tell("PUT", path("password-resets", token), body: ["password": .string(password)], token: false)
  }

  /// Nothing of the former user is left, in memory or stored.
  func forget() async throws {
    for task in uploading.values { task.cancel() }
    for entry in outboxState.entries { gone(entry, nil) }
    (outboxState, progress) = (Outbox(), [:])
    tellIfDrained()
    reset()
    trail.reset(to: nil)
    do { try await storage.clear() } catch { throw ParleyError.storage(error) }
  }

  /// The dialogs and views of the former user are gone, in memory.
  private func reset() {
    for number in Array(views.keys) { close(number) }
    for draft in drafts.values { draft.cancel() }
    (store, drafts, delivered, typed) = (Store(), [:], [:], [:])
    calls = Recent(Limits.calls)
    (wish, acked) = (nil, nil)
  }

  /// The login has ended: what was not sent and the place in the log stay until somebody else signs in.
  func ended(_ error: ParleyError) async {
    guard session != nil else { return }
    session = nil
    let cursor = store.cursor
    reset()
    store.cursor = cursor
    endWaiting(error)
    do { try await write([StorageChange("state", "session", nil)]) } catch { failed(error) }
    stop(error)
    emit(.session(signedIn: false, error: error))
  }

  /// Disconnects, closes the views and the storage. The login stays. Events end.
  public func close() async {
    guard !isClosed else { return }
    await disconnect()
    isClosed = true
    for number in Array(views.keys) { close(number) }
    endWaiting(.closed)
    for task in sending.values { task.cancel() }
    for task in uploading.values { task.cancel() }
    for draft in drafts.values { draft.cancel() }
    endPauses()
    endEvents()
    do { try await storage.close() } catch {}
  }
}
