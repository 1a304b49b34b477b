package import JSON

/// A POST (RFC 8555 6.2), which `AccountKey` signs.
package struct SignedRequest: Hashable, Sendable {
  package enum Payload: Hashable, Sendable {
    /// Nothing: the resource is fetched (6.3).
    case none
    case json(JSONValue)
    /// A request for a certificate with these names (7.4).
    case request(names: [String])
  }

  package let url: String
  /// The account's URL; nil for the request that makes it.
  package let account: String?
  package let nonce: String
  package let payload: Payload
  /// Whether this begins an order, and is no repetition.
  package let isOrder: Bool
}

/// The answer of an authority to a request.
package struct Answer: Hashable, Sendable {
  package let status: Int
  package let nonce: String?
  package let location: String?
  package let retryAfter: Int?
  package let body: [UInt8]

  package init(status: Int, nonce: String? = nil, location: String? = nil, retryAfter: Int? = nil, body: [UInt8] = []) {
    self.status = status
    self.nonce = nonce
    self.location = location
    self.retryAfter = retryAfter
    self.body = body
  }
}

/// The plan of an attempt: the names that are ordered, and how their control is proved.
package struct IssuancePlan: Hashable, Sendable {
  /// The URL of the authority's directory.
  package var directory: String
  /// Mail addresses for the account.
  package var contacts: [String]
  /// The names, in A-labels and lower case, of which the first is the most important.
  package var names: [String]
  /// The names of a certificate that is good for a while: one with these alone is not ordered again.
  package var held: Set<String>
  /// The way to prove the control of a name.
  package var challenge: ChallengeKind
  /// The fingerprint of the account's key.
  package var thumbprint: String
  /// The account with the authority's operator; nil if it wants none.
  package var external: ExternalAccount?
  /// The name of the certificate that the new one replaces (RFC 9773 5); nil for none.
  package var replaces: String?
  /// The orders that may be made.
  package var ordersMax: Int

  package init(
    directory: String, contacts: [String], names: [String], held: Set<String>, challenge: ChallengeKind,
    thumbprint: String, external: ExternalAccount? = nil, replaces: String? = nil, ordersMax: Int
  ) {
    self.directory = directory
    self.contacts = contacts
    self.names = names
    self.held = held
    self.challenge = challenge
    self.thumbprint = thumbprint
    self.external = external
    self.replaces = replaces
    self.ordersMax = min(ordersMax, ACMELimits.ordersPerAttemptMax)
  }
}

/// One attempt to get a certificate: account, order, authorizations, challenges, finalization, download (RFC 8555 7). A
/// value without IO, which says what to do next and is told what came of it.
///
/// A name that the authority refuses or cannot validate does not stop the others: a further order leaves it out.
package struct Issuance: Hashable, Sendable {
  package enum Command: Hashable, Sendable {
    case get(String)
    case head(String)
    case post(SignedRequest)
    /// Show these, then call `proceed`.
    case publish([ChallengeResponse])
    /// Call `proceed` after so many seconds.
    case wait(seconds: Int)
    case finish(Outcome)
  }

  package enum Outcome: Hashable, Sendable {
    /// A chain as PEM, for the names of the last order; the others with what is wrong with each.
    case issued(chain: String, names: [String], missing: [NameFailure])
    case failed(ACMEFailure)
  }

  /// A name whose control is to be proved.
  private struct Pending: Hashable {
    let url: String
    let name: String
    let challenge: Authorization.Challenge
  }

  private enum State: Hashable {
    case directory
    case account
    case ordering
    /// The authorizations that are still to be read, and what is to be proved of those that were.
    case reading(Order, left: [String], found: [Pending])
    case publishing(Order, [Pending])
    /// The challenges that the authority is still to be told of, the first of them being under way.
    case responding(Order, left: [Pending], told: [Pending])
    /// The undecided authorizations, of which these are still to be read in this round.
    case settling(Order, undecided: [Pending], round: [Pending])
    case finalizing(Order)
    case issuing(Order)
    case downloading
    case over
  }

  /// A POST without its nonce.
  private struct Request: Hashable {
    let url: String
    let payload: SignedRequest.Payload
    var isOrder = false
  }

  private var plan: IssuancePlan
  private var state = State.directory
  private var directory: Directory?
  private var account: String?
  private var nonce: String?
  private var isAwaitingNonce = false
  private var request: Request?
  private var nonceRetries = 0
  private var orders = 0
  /// The names of the present order.
  private var names: [String] = []
  private var failures: [NameFailure] = []
  private var waits = 0
  private var waited = 0

  package init(_ plan: IssuancePlan) { self.plan = plan }

  // MARK: What happens

  package func begin() -> Command { .get(plan.directory) }

  package mutating func received(_ answer: Answer) -> Command {
    // Clients ignore what is no nonce (6.5.1).
    if let fresh = answer.nonce, Authorization.isToken(fresh) { nonce = fresh }
    do throws(ACMEFailure) {
      if isAwaitingNonce {
        isAwaitingNonce = false
        guard answer.status < 400, nonce != nil else {
          throw failure("the authority gives no nonce", ACMEProblem(nil, status: answer.status), answer)
        }
        return try post()
      }
      if answer.status >= 400 {
        let problem = ACMEProblem(try? JSONValue(parsing: answer.body), status: answer.status)
        if problem.type == "badNonce", nonceRetries < ACMELimits.nonceRetriesMax {
          nonceRetries += 1
          // The nonce of the error is the one to use (6.5).
          nonce = answer.nonce.flatMap { Authorization.isToken($0) ? $0 : nil }
          request?.isOrder = false
          return try post()
        }
        return try refused(problem, answer)
      }
      return try accepted(answer)
    } catch {
      return end(.failed(error))
    }
  }

  /// Goes on after a `publish` or a `wait`.
  package mutating func proceed() -> Command {
    do throws(ACMEFailure) {
      switch state {
      case .publishing(let order, let pending): return try respond(order, pending, told: [])
      case .settling(let order, let undecided, _): return try settle(order, undecided, round: undecided, nil)
      case .issuing(let order): return try fetch(order.url)
      case .directory, .account, .ordering, .reading, .responding, .finalizing, .downloading, .over:
        throw ACMEFailure("the attempt went on where it had ended")
      }
    } catch {
      return end(.failed(error))
    }
  }

  /// Ends the attempt because of something on this side: the network, a file.
  package mutating func failed(_ failure: ACMEFailure) -> Command { end(.failed(failure)) }

  private mutating func end(_ outcome: Outcome) -> Command {
    state = .over
    return .finish(outcome)
  }

  // MARK: Requests

  private mutating func ask(
    _ url: String, _ payload: SignedRequest.Payload, isOrder: Bool = false
  ) throws(ACMEFailure) -> Command {
    request = Request(url: url, payload: payload, isOrder: isOrder)
    nonceRetries = 0
    return try post()
  }

  private mutating func fetch(_ url: String) throws(ACMEFailure) -> Command { try ask(url, .none) }

  private mutating func post() throws(ACMEFailure) -> Command {
    guard let request, let directory else { throw ACMEFailure("there is nothing to ask for") }
    guard let nonce else {
      isAwaitingNonce = true
      return .head(directory.newNonce)
    }
    // Each is good for one request.
    self.nonce = nil
    return .post(
      SignedRequest(
        url: request.url, account: account, nonce: nonce, payload: request.payload, isOrder: request.isOrder))
  }

  // MARK: Answers

  private mutating func accepted(_ answer: Answer) throws(ACMEFailure) -> Command {
    switch state {
    case .directory:
      let directory = try Directory(try json(answer))
      if directory.wantsExternalAccount, plan.external == nil {
        throw ACMEFailure(
          "the authority wants a binding to an account with its operator (tls.acme.eab_key_id, tls.acme.eab_key)")
      }
      self.directory = directory
      if directory.renewalInfo == nil { plan.replaces = nil }
      state = .account
      // With a known key this finds the account (7.3.1), so its URL needs no place of its own.
      var members = [JSONValue.Member("termsOfServiceAgreed", .bool(true))]
      if !plan.contacts.isEmpty {
        members.append(.init("contact", .array(plan.contacts.map { .string("mailto:\($0)") })))
      }
      if let external = plan.external {
        members.append(.init("externalAccountBinding", external.binding(at: directory.newAccount)))
      }
      return try ask(directory.newAccount, .json(.object(members)))
    case .account:
      guard let location = answer.location else { throw ACMEFailure("the authority's account has no URL") }
      if let status = try json(answer)["status"]?.string, status != "valid" {
        throw ACMEFailure("the account with the authority is \(status)")
      }
      account = location
      return try order(plan.names)
    case .ordering:
      guard let location = answer.location else { throw ACMEFailure("the authority's order has no URL") }
      return try follow(try Order(try json(answer), url: location), answer)
    case .reading(let order, let left, let found): return try read(answer, order, left, found)
    case .responding(let order, let left, let told):
      return try respond(order, Array(left.dropFirst()), told: told + left.prefix(1))
    case .settling(let order, let undecided, let round): return try settle(order, undecided, round: round, answer)
    case .finalizing(let order), .issuing(let order):
      return try follow(try Order(try json(answer), url: order.url), answer)
    case .downloading:
      let chain = String(decoding: answer.body, as: UTF8.self)
      guard chain.contains("-----BEGIN CERTIFICATE-----") else {
        throw ACMEFailure("the authority's certificate is no PEM")
      }
      return end(.issued(chain: chain, names: names, missing: failures))
    case .publishing, .over: throw ACMEFailure("an answer came that nobody asked for")
    }
  }

  private mutating func refused(_ problem: ACMEProblem, _ answer: Answer) throws(ACMEFailure) -> Command {
    switch state {
    case .ordering:
      // RFC 9773 5: another order has replaced the certificate.
      if plan.replaces != nil, problem.type == "alreadyReplaced" {
        plan.replaces = nil
        return try order(names)
      }
      // An authority that names what is wrong in its text alone is understood as well.
      var wrong = problem.names.filter { names.contains($0.name) }
      if wrong.isEmpty {
        wrong = names.filter { problem.text.contains("\"\($0)\"") }.map { .init(name: $0, text: problem.text) }
      }
      guard !wrong.isEmpty, problem.type != "rateLimited" else {
        throw failure("the authority refuses the order", problem, answer)
      }
      failures += wrong
      return try orderWithoutFailed(answer)
    case .responding(let order, let left, let told):
      if let name = left.first?.name { failures.append(NameFailure(name: name, text: problem.text)) }
      return try respond(order, Array(left.dropFirst()), told: told)
    case .finalizing(let order) where problem.type == "orderNotReady":
      return try wait(.issuing(order), answer)
    case .directory: throw failure("the authority has no directory there", problem, answer)
    case .account: throw failure("the authority refuses the account", problem, answer)
    case .finalizing: throw failure("the authority refuses the certificate", problem, answer)
    case .reading, .publishing, .settling, .issuing, .downloading, .over:
      throw failure("the authority refuses a request", problem, answer)
    }
  }

  // MARK: Orders

  private mutating func order(_ names: [String]) throws(ACMEFailure) -> Command {
    guard let directory else { throw ACMEFailure("there is no directory") }
    guard orders < plan.ordersMax else {
      throw ACMEFailure(
        failures.isEmpty ? "no order may be made now" : "names remain that fail, and no further order may be made now")
    }
    orders += 1
    self.names = names
    state = .ordering
    let identifiers = names.map { JSONValue.object([.init("type", .string("dns")), .init("value", .string($0))]) }
    var members = [JSONValue.Member("identifiers", .array(identifiers))]
    if let replaces = plan.replaces { members.append(.init("replaces", .string(replaces))) }
    return try ask(directory.newOrder, .json(.object(members)), isOrder: true)
  }

  private mutating func orderWithoutFailed(_ answer: Answer) throws(ACMEFailure) -> Command {
    let wrong = Set(failures.map(\.name))
    let left = names.filter { !wrong.contains($0) }
    if left.isEmpty || left.allSatisfy(plan.held.contains) {
      throw ACMEFailure(
        failures.map { "\($0.name): \($0.text)" }.joined(separator: "; "), retryAfter: answer.retryAfter)
    }
    return try order(left)
  }

  private mutating func follow(_ order: Order, _ answer: Answer) throws(ACMEFailure) -> Command {
    switch order.status {
    case .pending:
      if case .ordering = state {
        guard let first = order.authorizations.first else {
          throw ACMEFailure("the authority's order has no authorizations")
        }
        state = .reading(order, left: order.authorizations, found: [])
        return try fetch(first)
      }
      return try wait(.issuing(order), answer)
    case .ready:
      // Told to finalize it, an authority may take a moment to begin.
      if case .finalizing = state { return try wait(.issuing(order), answer) }
      return try finalize(order)
    case .processing: return try wait(.issuing(order), answer)
    case .valid:
      guard let url = order.certificate else { throw ACMEFailure("the authority's order has no certificate") }
      state = .downloading
      return try fetch(url)
    case .invalid:
      throw failure("the order failed", order.problem ?? ACMEProblem(nil, status: nil), answer)
    }
  }

  private mutating func finalize(_ order: Order) throws(ACMEFailure) -> Command {
    state = .finalizing(order)
    return try ask(order.finalize, .request(names: names))
  }

  // MARK: Authorizations

  private mutating func read(
    _ answer: Answer, _ order: Order, _ left: [String], _ found: [Pending]
  ) throws(ACMEFailure) -> Command {
    let authorization = try Authorization(try json(answer))
    var (left, found) = (left, found)
    let url = left.removeFirst()
    switch authorization.status {
    case "valid": break
    case "pending":
      if let challenge = authorization.challenges.first(where: { $0.kind == plan.challenge }) {
        found.append(Pending(url: url, name: authorization.name, challenge: challenge))
      } else {
        failures.append(
          NameFailure(name: authorization.name, text: "the authority does not offer \(plan.challenge.rawValue)"))
      }
    default: fail(authorization)
    }
    if let next = left.first {
      state = .reading(order, left: left, found: found)
      return try fetch(next)
    }
    // Names that have failed already make the order futile, but what is proved now counts for the next one.
    if found.isEmpty { return try settled(order, answer) }
    state = .publishing(order, found)
    return .publish(found.map { ChallengeResponse(name: $0.name, $0.challenge, thumbprint: plan.thumbprint) })
  }

  /// Tells the authority of the challenges one by one (7.5.1).
  private mutating func respond(_ order: Order, _ left: [Pending], told: [Pending]) throws(ACMEFailure) -> Command {
    if let next = left.first {
      state = .responding(order, left: left, told: told)
      return try ask(next.challenge.url, .json(.object([])))
    }
    (waits, waited) = (0, 0)
    return try wait(.settling(order, undecided: told, round: []), nil)
  }

  /// Reads the undecided authorizations one by one, and waits between two rounds.
  private mutating func settle(
    _ order: Order, _ undecided: [Pending], round: [Pending], _ answer: Answer?
  ) throws(ACMEFailure) -> Command {
    var (undecided, round) = (undecided, round)
    if let answer {
      let authorization = try Authorization(try json(answer))
      if !round.isEmpty {
        let asked = round.removeFirst()
        if authorization.status != "pending" {
          undecided.removeAll { $0 == asked }
          if authorization.status != "valid" { fail(authorization) }
        }
      }
    }
    if undecided.isEmpty { return try settled(order, answer) }
    if let next = round.first {
      state = .settling(order, undecided: undecided, round: round)
      return try fetch(next.url)
    }
    return try wait(.settling(order, undecided: undecided, round: []), answer)
  }

  private mutating func settled(_ order: Order, _ answer: Answer?) throws(ACMEFailure) -> Command {
    let wrong = Set(failures.map(\.name))
    if names.contains(where: wrong.contains) { return try orderWithoutFailed(answer ?? Answer(status: 200)) }
    return try finalize(order)
  }

  private mutating func fail(_ authorization: Authorization) {
    failures.append(
      NameFailure(
        name: authorization.name,
        text: authorization.problem?.text ?? "its authorization is \(authorization.status)"))
  }

  private mutating func wait(_ next: State, _ answer: Answer?) throws(ACMEFailure) -> Command {
    let bounds = ACMELimits.pollSeconds
    let seconds = min(max(answer?.retryAfter ?? 1 << min(waits, 4), bounds.lowerBound), bounds.upperBound)
    waits += 1
    waited += seconds
    guard waited <= ACMELimits.pollSecondsMax else {
      throw ACMEFailure("the authority has not decided within \(ACMELimits.pollSecondsMax) seconds")
    }
    state = next
    return .wait(seconds: seconds)
  }

  // MARK: Texts

  private func json(_ answer: Answer) throws(ACMEFailure) -> JSONValue {
    do { return try JSONValue(parsing: answer.body) } catch { throw ACMEFailure("the authority's answer is no JSON") }
  }

  private func failure(_ what: String, _ problem: ACMEProblem, _ answer: Answer) -> ACMEFailure {
    ACMEFailure("\(what): \(problem.text)", retryAfter: answer.retryAfter)
  }
}
