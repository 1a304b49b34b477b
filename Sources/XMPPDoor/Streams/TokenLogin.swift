import Accounts
import Addresses
import Basics
import Dialogs
import NIOCore
import XMPP

/// Logins by a token: a client's own (XEP-0484), or an access token of the app (RFC 7628).
extension XMPPConnection {
  func verify(_ proof: TokenProof, _ attempt: Int) {
    guard let address = account(proof.username) else { return }
    let use = Client.Use(
      mechanism: "\(proof.mechanism.name)", count: proof.use.count, invalidates: proof.use.invalidates,
      wanted: proof.wanted, fits: { proof.fits($0) })
    // The client's software and device come with the request, which counts when this has succeeded.
    let agent = ClientAgent(id: proof.agent, software: nil, device: nil)
    pause(.machine)
    let me = NIOLoopBound(self, eventLoop: loop)
    door.accounts.redeem(of: address, agent: agent, use, for: .network(peer), on: loopContext.lane) { result in
      let connection = me.value
      guard !connection.isOver else { return }
      let answer: TokenAnswer
      switch result {
      case .failure: answer = .unavailable
      case .success(.refused): answer = connection.isTooFast() ? .unavailable : .wrong
      case .success(.expired): answer = .expired
      case .success(.accepted(let user, let access, let token, let issued)):
        connection.know(user, access)
        // For a disabled user nothing was written.
        connection.issued = user.state == .active ? issued : nil
        answer = .right(proof.answer(token), user.state == .active ? .active : .disabled)
      }
      connection.perform(connection.machine.answered(.token(answer), attempt: attempt))
      connection.unpause(.machine)
      connection.flush()
    }
  }

  func verify(bearer token: Password, _ attempt: Int) {
    let now = door.parley.clock.now
    answerLater({ try Accounts.bearer(token.text, now: now, $0) }) { connection, result in
      let answer: BearerAnswer
      switch result {
      case .failure: answer = .unavailable
      case .success(let (grant, user)?) where user.address.domain == connection.machine.domain:
        connection.know(user, Access(.grant(grant), since: now))
        answer = .right(username: user.localpart, user.state == .active ? .active : .disabled)
      // A token of another realm is worth nothing in this one.
      case .success: answer = connection.isTooFast() ? .unavailable : .wrong
      }
      connection.perform(connection.machine.answered(.bearer(answer), attempt: attempt))
    }
  }

  private func know(_ user: User, _ access: Access) {
    known = Party(id: user.id, realm: user.realm, address: user.address)
    self.access = access
    door.accounts.rightToken(LoginAttempt(of: user.address, from: peer, device: access.agent?.id))
  }

  /// Counts a wrong token. Returns whether this network has tried too often.
  private func isTooFast() -> Bool {
    door.accounts.wrongToken(Problem(.unauthenticated, "token-invalid", "There is no such token."), from: peer).kind
      == .tooFast
  }

  /// Issues the token that the client asks for (XEP-0484 3.3), unless it logged in with one and has it already.
  func issueToken(_ request: AuthenticateRequest, _ then: @escaping (XMPPConnection) -> Void) {
    let wanted = door.streams.authentication.token(for: request.wantedToken, in: machine.conditions)
    guard request.fast == nil, let wanted, let access, access.agent?.id != nil, let user = machine.user else {
      return then(self)
    }
    answerLater({ try $0.user(user) }) { connection, result in
      guard case .success(let user?) = result else { return then(connection) }
      connection.pause(.machine)
      let me = NIOLoopBound((connection: connection, then: then), eventLoop: connection.loop)
      connection.door.accounts.issueToken(to: user.id, access, for: wanted, on: connection.loopContext.lane) { result in
        let (connection, then) = me.value
        guard !connection.isOver else { return }
        switch result {
        case .success((let issued, let access)):
          connection.issued = issued
          connection.access = access
          then(connection)
        case .failure(let problem) where problem.kind == .unauthenticated:
          connection.fail(StreamError(.notAuthorized, problem.text))
        // The client logs in as before the next time.
        case .failure: then(connection)
        }
        connection.unpause(.machine)
        connection.flush()
      }
    }
  }
}
