import Accounts
import Addresses
import Dialogs
import Logging
import NIOCore
import XMLStream
import XMPP

/// Registration before authentication: carries out the outputs of `RegistrationMachine`.
extension XMPPConnection {
  func register(_ stanza: Stanza) {
    perform(registration.received(stanza, domain: machine.domain), stanza)
  }

  /// - Parameters:
  ///   - code: the code of the problem behind a refusal; nil for the condition of the error.
  ///   - form: the form that goes with the refusal.
  private func perform(
    _ output: RegistrationMachine.Output, _ stanza: Stanza, code: String? = nil, form: RegistrationChallengeForm? = nil
  ) {
    // A person types a name and a password meanwhile.
    if registration.isLetIn, !isRegistering {
      isRegistering = true
      deadline = .now() + DoorLimits.registration
    }
    switch output {
    case .done: write { Self.reply(to: stanza, into: &$0) { _ in } }
    case .fields(let name):
      write { writer in
        Self.reply(to: stanza, into: &writer) { writer in
          writer.element(.register) { writer in
            writer.element("instructions") { writer in
              writer.text("Choose a username and a password for \(machine.domain ?? "this server").")
            }
            writer.element("username") { writer in
              if let name { writer.text(name) }
            }
            writer.element("password")
          }
        }
      }
    case .challenge:
      guard let domain = machine.domain else { return closeConnection() }
      let form = challengeForm(domain)
      write { writer in
        Self.reply(to: stanza, into: &writer) { form.writeAnswer(asked: stanza.id, into: &$0) }
      }
    case .refuse(let error):
      door.log(error, of: stanza, code: code, ["peer": peer])
      guard let form else { return write { error.writeReply(to: stanza, into: &$0) } }
      write { writer in
        stanza.openReply(type: IQType.error.text, into: &writer)
        form.writeForm(asked: stanza.id, into: &writer)
        error.write(into: &writer)
        writer.close()
      }
    case .find(let token): find(token, stanza)
    case .register(let name, let password, let invite, let proof): register(name, password, invite, proof, stanza)
    }
  }

  private func challengeForm(_ domain: String) -> RegistrationChallengeForm {
    RegistrationChallengeForm(
      door.accounts.registrationChallenge(domain, for: peer), domain: domain, page: door.options.signUpPages[domain])
  }

  private static func reply(
    to stanza: Stanza, into writer: inout ElementWriter, _ content: (inout ElementWriter) -> Void
  ) {
    stanza.openReply(type: IQType.result.text, into: &writer)
    content(&writer)
    writer.close()
  }

  private func find(_ token: String, _ stanza: Stanza) {
    let (accounts, peer, domain) = (door.accounts, peer, machine.domain)
    later { () throws(Problem) in
      try accounts.pace(.invite(network: peer))
      return try await Invites(accounts.parley).find(token: token)
    } then: { (connection, result: Result<Invites.Open?, Problem>) in
      switch result {
      case .failure(let problem): connection.perform(.refuse(StanzaError(problem)), stanza)
      case .success(let open):
        let isGood = open.map { $0.state == .open && $0.makesAccount && $0.realm.domain == domain } ?? false
        connection.perform(connection.registration.found(isGood ? open?.invite : nil), stanza)
      }
    }
  }

  private func register(
    _ name: String, _ password: String, _ invite: Invite?, _ proof: String?, _ stanza: Stanza
  ) {
    guard let domain = machine.domain else { return closeConnection() }
    let (accounts, peer) = (door.accounts, peer)
    later { () throws(Problem) in
      let address: BareJID
      do { address = try BareJID(local: name, domain: domain) } catch {
        throw Problem(.malformed, "username-malformed", "This username cannot be used: \(error).", field: "username")
      }
      guard let invite else {
        return try await accounts.registerStranger(
          address, password: password, displayName: nil, proof: proof, from: peer)
      }
      try accounts.pace(.registration(network: peer))
      return try await accounts.register(address, password: password, displayName: nil, invite: invite)
    } then: { (connection, result: Result<User, Problem>) in
      var problem: Problem?
      var form: RegistrationChallengeForm?
      if case .failure(let found) = result {
        problem = found
        if found.challenge != nil {
          let missing = connection.challengeForm(domain)
          form = missing
          problem = Problem(.malformed, found.code, missing.advice)
        }
      }
      if case .success(let user) = result {
        connection.door.logger.info(
          "registered",
          metadata: ["user": "\(user.address)", "peer": "\(connection.peer)", "invited": "\(invite != nil)"])
      }
      connection.perform(connection.registration.registered(problem), stanza, code: problem?.code, form: form)
    }
  }

  /// Runs an asynchronous task while the stream waits.
  func later<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(Problem) -> Value,
    then: @escaping (XMPPConnection, Result<Value, Problem>) -> Void
  ) {
    pause(.machine)
    let me = NIOLoopBound((connection: self, then: then), eventLoop: loop)
    let (loop, owner) = (loop, ReadOwner.network(peer))
    Task {
      let result = await ReadOwner.$current.withValue(owner) { () async -> Result<Value, Problem> in
        do throws(Problem) { return .success(try await body()) } catch { return .failure(error) }
      }
      loop.execute {
        let (connection, then) = me.value
        guard !connection.isOver else { return }
        then(connection, result)
        connection.unpause(.machine)
        connection.flush()
      }
    }
  }
}
