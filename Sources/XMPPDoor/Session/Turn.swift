import Accounts
import Addresses
import Dialogs
import NIOCore
import ServerMetrics
import XMLStream
import XMPP

/// The processing of one stanza by its session. Handlers request; the session carries out, in order. A handler may keep
/// a turn until its fetch comes back; it never leaves its lane.
final class Turn {
  let session: XMPPSession
  let stanza: Stanza
  /// The addressee; `nil` if there is no `to` (the account).
  let to: JID?
  /// Whether the addressed account must look to the requester as one that does not exist. What it shows to everybody, such
  /// as an open node, is still shown.
  private(set) var hidesAccount = false
  /// The account of which an error first has to find out whether it is hidden.
  private var unchecked: BareJID?

  init(session: XMPPSession, stanza: Stanza, to: JID?) {
    self.session = session
    self.stanza = stanza
    self.to = to
  }

  var parley: Parley { session.door.parley }
  var accounts: Accounts { session.door.accounts }
  var party: Party { session.party }
  var jid: FullJID { session.jid }

  /// Answers an IQ request with a result; `content` writes inside `<iq/>`. The user is charged for its bytes.
  func reply(_ content: (inout ElementWriter) -> Void = { _ in }) {
    session.answering {
      session.answer { writer in
        stanza.openReply(type: IQType.result.text, into: &writer, to: session.answered)
        content(&writer)
        writer.close()
      }
    }
  }

  /// Answers with an error; does nothing where errors must not be answered.
  ///
  /// - Parameter code: The code of the problem behind it; nil for the error's condition.
  func fail(_ error: StanzaError, code: String? = nil) {
    log(error, code: code)
    guard stanza.mayBeAnswered else { return }
    guard let address = unchecked, error.type != .wait else { return answer(error) }
    unchecked = nil
    let (viewer, jid) = (party, self.jid.jid)
    fetch {
      try $0.isNoticed(address, by: viewer, at: jid)
    } then: { [self] (result: Result<Bool, Problem>) in
      hidesAccount = (try? result.get()) != true
      answer(error)
    }
  }

  private func answer(_ error: StanzaError) {
    // RFC 6121 8.5.1. An error that is for now says nothing about the account.
    let error = hidesAccount && error.type != .wait ? StanzaError(.serviceUnavailable) : error
    session.answer(error) { writer in
      error.writeReply(to: stanza, into: &writer, to: session.answered)
    }
  }

  /// Answers with a problem's error.
  func fail(_ problem: Problem) { fail(StanzaError(problem), code: problem.code) }

  /// Logs an error that this stanza is answered with.
  func log(_ error: StanzaError, code: String?) {
    session.door.log(error, of: stanza, code: code, ["session": "\(jid)"])
  }

  /// Posts, and runs `then` once the outcome is known. Without `then`, errors go back to the sender and success is
  /// silent. Stanzas behind this one do not wait.
  func post(_ intent: Intent, then: ((Result<Receipt, Problem>) -> Void)? = nil) {
    session.post(intent) { [self] result in
      if let then { return then(result) }
      if case .failure(let problem) = result { fail(problem) }
    }
  }

  /// Reads from the store off the lane, after everything this session has posted before, and comes back to the lane.
  /// Stanzas to the same address that follow wait, so that answers keep their order (RFC 6120 10.1).
  func fetch<Value: Sendable>(
    _ body: @escaping @Sendable (any StoreReader) throws -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    session.fetch(body, then: then)
  }

  /// Runs an asynchronous task, after everything this session has posted before, and comes back to the lane. Stanzas
  /// that follow do not wait.
  func `await`<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(Problem) -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    session.await(body, then: then)
  }

  /// Reads from the store; failures are answered as errors. The user is charged for all bytes that `reply` writes, such as a page of an
  /// archive.
  func fetch<Value: Sendable>(
    as kind: ReadKind = .other, _ body: @escaping @Sendable (any StoreReader) throws -> Value,
    reply: @escaping (Value) throws(StanzaError) -> Void
  ) {
    session.fetch(as: kind, body) { [self] (result: Result<Value, Problem>) in
      switch result {
      case .success(let value):
        do throws(StanzaError) {
          try session.answering { () throws(StanzaError) in try reply(value) }
        } catch { fail(error) }
      case .failure(let problem): fail(problem)
      }
    }
  }
}

extension Turn {
  /// Runs the handler of a request to another user's account. Ordinary users of the server may look each other up; people
  /// elsewhere and guests get the same answers from an account that they may not notice as from one that does not exist.
  /// Components are part of the installation, so their errors say what is wrong; their users are people elsewhere.
  func handleForUser(_ payload: Element, _ handler: @escaping FeatureTable.IQHandler) throws(StanzaError) {
    guard let address = to?.bare, party.realm.isRemote || parley.isGuest(party.id),
      session.impersonated?.component == nil
    else { return try handler(self, payload) }
    // What changes something takes effect in its place between other requests (RFC 6120 10.1), and shows the account by an
    // error alone.
    if session.impersonated != nil, stanza.iqType == .set {
      unchecked = address
      return try handler(self, payload)
    }
    let (viewer, jid) = (party, self.jid.jid)
    fetch {
      try $0.isNoticed(address, by: viewer, at: jid)
    } reply: { [self] (isNoticed) throws(StanzaError) in
      hidesAccount = !isNoticed
      try handler(self, payload)
    }
  }

  /// Checks a request to an app's session, which the server answers: only users who may see its presence learn that it
  /// exists.
  func checkPresenceAccess() throws(StanzaError) {
    guard let to, parley.hub.sessions(of: to.bare, seenBy: jid.jid) != nil else {
      throw StanzaError(.serviceUnavailable)
    }
  }
}

extension StanzaError {
  /// Creates the default stanza error of a problem; features throw the exact condition that their XEP names.
  init(_ problem: Problem) {
    switch problem.kind {
    case .malformed: self.init(.badRequest, problem.text)
    case .unauthenticated: self.init(.notAuthorized, problem.text)
    // RFC 6120 8.3.3.12: "words that are prohibited by the service" is its own example.
    case .refused: self.init(.policyViolation, problem.text, type: .modify)
    // The roster's owner may not, whoever they are (RFC 6120 8.3.3.10).
    case .forbidden where problem.code == Problem.contactSharedCode: self.init(.notAllowed, problem.text)
    case .forbidden: self.init(.forbidden, problem.text)
    case .missing: self.init(.itemNotFound, problem.text)
    case .conflict: self.init(.conflict, problem.text)
    case .tooLarge: self.init(.policyViolation, problem.text, type: .modify)
    case .unsupported: self.init(.featureNotImplemented, problem.text)
    case .unreachable: self.init(.serviceUnavailable)
    case .blocked:
      // XEP-0191 3.3.
      self.init(.notAcceptable, type: .cancel, application: Element(Name("blocked", "urn:xmpp:blocking:errors")))
    case .foreign: self.init(.remoteServerNotFound, problem.text)
    // What is full is full until the next day, as a disk would be.
    case .tooFast where problem.code == Problem.dayBytesCode: self.init(.resourceConstraint, problem.text, type: .wait)
    case .tooFast: self.init(.policyViolation, problem.text, type: .wait)
    case .overloaded: self.init(.resourceConstraint, problem.text, type: .wait)
    case .internal: self.init(.internalServerError, problem.text)
    }
  }
}
