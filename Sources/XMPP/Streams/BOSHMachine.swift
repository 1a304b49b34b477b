// A stream over HTTP requests (XEP-0124 1.11.2, XEP-0206 1.4), the connection manager's side of one session.
//
// Theory. Every request has a number and is responded to once, in the order of the numbers. Up to `hold` requests are
// kept until there is something to send or their time is up; output is sent with the oldest. Responses are kept until
// the client cannot ask for them again, so that a request whose response was lost is answered with the same bytes.
//
// A request is an *exchange* here: a number that the caller gives each HTTP request, and gets back with its response.
// Each exchange is answered exactly once, whatever happens. The caller carries out the outputs in order. `received`
// takes a request in; `answer` then says which responses to send, so that the immediate effects of the payloads are
// sent with them.
//
// The machine holds no clock: times are milliseconds of any monotonic clock, and `deadline` says when to call `passed`.

import Basics
import Crypto
public import NIOCore
public import XMLStream

public enum BOSHOutput: Sendable, Equatable {
  /// Respond to this exchange.
  case answer(Int, BOSHResponse)
  /// Open the client's stream, or open it anew.
  case open(StreamHeader)
  /// Process this element from the client.
  case deliver(Element)
  /// Close the client's stream.
  case close
  /// The session is over, and so is the connection. Comes once, last.
  case over
}

public struct BOSHMachine: Sendable {
  private struct Held: Sendable {
    let rid: Int64
    var exchange: Int
    /// The time at which it is responded to in any case.
    let until: Int
  }

  private let policy: BOSHPolicy
  private let session: BOSHSession
  /// The number of the highest request taken in; all before it were taken in, too.
  private var last: Int64
  /// The requests that came before one of a lower number.
  private var early: [Int64: (request: BOSHRequest, exchange: Int, isAbandoned: Bool)] = [:]
  /// The requests taken in and not responded to, by number.
  private var held: [Held] = []
  /// The latest responses, for clients that ask again.
  private var sent: [(rid: Int64, response: BOSHResponse)] = []
  private var queue: [ByteBuffer] = []
  /// The bytes that wait for a request to respond to.
  public private(set) var queuedBytes = 0
  private var isTold = false
  /// The time of the last response.
  private var responded: Int
  /// The milliseconds for which the client may be away.
  private var patience: Int
  /// The time of the last request, and whether it and its response were empty.
  private var previous: (time: Int, rid: Int64, isEmpty: Bool, gotNothing: Bool)?
  /// The hash of the next key (15).
  private var expectedKey: String?
  /// The requests that brought nothing since the client was last not in debt.
  private var broughtNothing = 0
  /// The server's end of the session, which the next request is told.
  private var farewell: BOSHResponse.Kind?
  private var isOver = false

  ///
  /// - Parameters:
  ///   - request: the request without `sid`; the caller also passes it to `received`.
  ///   - sid: an unpredictable id, never used before.
  public init(_ request: BOSHRequest, sid: String, policy: BOSHPolicy, now: Int) {
    self.policy = policy
    let wait = min(request.wait ?? policy.waitMax, policy.waitMax)
    // Without waiting there is no holding: the client polls (12).
    let hold = wait == 0 ? 0 : min(request.hold ?? 1, policy.holdMax)
    session = BOSHSession(
      sid: sid, rid: request.rid, wait: wait, hold: hold, requests: hold + 1, inactivity: policy.inactivity,
      polling: policy.polling, pauseMax: policy.pauseMax, version: Self.version(request.version),
      from: request.header.to)
    last = request.rid - 1
    responded = now
    patience = policy.inactivity * 1_000
  }

  // MARK: The client's requests

  /// Takes a request in.
  ///
  /// - Parameter isInDebt: whether the client has sent as much as it may. It has then only so many requests that bring nothing
  ///   (`BOSHPolicy.nothingInDebtMax`), since these are answered at once; one more ends the session (14.3).
  public mutating func received(
    _ request: BOSHRequest, as exchange: Int, now: Int, isInDebt: Bool = false
  ) -> [BOSHOutput] {
    if isOver { return [.answer(exchange, BOSHResponse(.terminated(.itemNotFound)))] }
    if !isInDebt { broughtNothing = 0 }
    if nothingBytes(request) != nil {
      broughtNothing += 1
      if broughtNothing > policy.nothingInDebtMax, isInDebt { return end(.policyViolation, exchange) }
    }
    if request.rid <= last { return repeated(request.rid, as: exchange) }
    // 14.2. The error is the same for all wrong numbers.
    guard request.rid <= last + Int64(session.requests) else { return end(.itemNotFound, exchange) }
    var outputs: [BOSHOutput] = []
    if let former = early[request.rid] { outputs.append(.answer(former.exchange, BOSHResponse(.repeated))) }
    early[request.rid] = (request, exchange, false)
    while !isOver, let next = early.removeValue(forKey: last + 1) {
      outputs += take(next.request, next.exchange, now)
      if next.isAbandoned { outputs += abandoned(next.exchange, now: now) }
    }
    return outputs
  }

  /// Returns the bytes that a request causes to be sent once more, if it brings no element that has not come before and is answered at
  /// once all the same: it is repeated (14.3), or begins a pause (10). `nil` for every other request.
  public func nothingBytes(_ request: BOSHRequest) -> Int? {
    if request.rid <= last || early[request.rid] != nil {
      let former = sent.first { $0.rid == request.rid }
      return former?.response.payloads.reduce(0) { $0 + $1.readableBytes } ?? 0
    }
    return request.pause == nil ? nil : 0
  }

  /// Handles the end of the connection of a request that is not responded to. It no longer counts as held (11, 12), and
  /// pending output waits for the next request. Its response is empty, and kept in case the client repeats it (14.3).
  public mutating func abandoned(_ exchange: Int, now: Int) -> [BOSHOutput] {
    if let index = held.firstIndex(where: { $0.exchange == exchange }) { return [respond(now, at: index, with: [])] }
    if let rid = early.first(where: { $0.value.exchange == exchange })?.key { early[rid]?.isAbandoned = true }
    return []
  }

  /// Answers a repeated request (14.3): the client did not get the response, or will not.
  private mutating func repeated(_ rid: Int64, as exchange: Int) -> [BOSHOutput] {
    if let index = held.firstIndex(where: { $0.rid == rid }) {
      let former = held[index].exchange
      held[index].exchange = exchange
      return [.answer(former, BOSHResponse(.repeated))]
    }
    guard let former = sent.first(where: { $0.rid == rid }) else { return end(.itemNotFound, exchange) }
    return [.answer(exchange, former.response)]
  }

  private mutating func take(_ request: BOSHRequest, _ exchange: Int, _ now: Int) -> [BOSHOutput] {
    guard isKeyRight(request) else { return end(.itemNotFound, exchange) }
    // 11: the caller answers requests beyond `hold`, unless it cannot keep up.
    let isFull = held.count >= session.requests
    if isFull, request.pause == nil, !request.isTermination { return end(.policyViolation, exchange) }
    if request.isEmpty, isTooSoon(now) { return end(.policyViolation, exchange) }
    // The request for the session is none of those.
    previous = (now, request.rid, request.isEmpty && request.rid != session.rid, true)
    last = request.rid
    if let ack = request.ack { sent.removeAll { $0.rid <= ack } }
    held.append(Held(rid: request.rid, exchange: exchange, until: now + session.wait * 1_000))
    patience = session.inactivity * 1_000
    if let farewell { return leave(farewell) }
    if request.rid == session.rid || request.isRestart { return [.open(request.header)] }
    let payloads = request.payloads.map { BOSHOutput.deliver($0) }
    if let pause = request.pause, pause <= session.pauseMax, !request.isTermination {
      patience = pause * 1_000
      var outputs = payloads
      while !held.isEmpty { outputs.append(respond(now, with: [])) }
      return outputs
    }
    // The caller closes the stream, and the session ends with it.
    return request.isTermination ? payloads + [.close] + leave(.terminated(nil)) : payloads
  }

  /// Returns whether a request comes too early (11, 12).
  private func isTooSoon(_ now: Int) -> Bool {
    guard let previous, now - previous.time < session.polling * 1_000 else { return false }
    return session.hold == 0
      ? previous.isEmpty && previous.gotNothing : held.count + 1 >= session.requests
  }

  /// Returns whether the key is right (15): a client that began with keys continues with them.
  private mutating func isKeyRight(_ request: BOSHRequest) -> Bool {
    if let expectedKey {
      guard let key = request.key, Self.hash(key) == expectedKey else { return false }
      self.expectedKey = key.lowercased()
    }
    if let newKey = request.newKey, expectedKey != nil || request.rid == session.rid {
      expectedKey = newKey.lowercased()
    }
    return true
  }

  private static func hash(_ key: String) -> String { Hex.string(Insecure.SHA1.hash(data: Array(key.utf8))) }

  // MARK: Output to the client

  /// Queues a stand-alone element for the client; `answer` sends it.
  public mutating func say(_ element: ByteBuffer) {
    guard !isOver else { return }
    queue.append(element)
    queuedBytes += element.readableBytes
  }

  /// Returns the due responses.
  ///
  /// - Parameter isBusy: whether the stream takes no more for now: requests without an answer are kept, even beyond
  ///   `hold`, so that the client sends no more than it may have open.
  public mutating func answer(now: Int, isBusy: Bool = false) -> [BOSHOutput] {
    var outputs: [BOSHOutput] = []
    while let first = held.first,
      !queue.isEmpty || (!isBusy && held.count > session.hold) || (!isBusy && !isTold)
        || (session.wait > 0 && first.until <= now)
    {
      outputs.append(respond(now, with: takeQueue()))
    }
    return outputs
  }

  private mutating func takeQueue() -> [ByteBuffer] {
    var count = 0
    var bytes = 0
    while count < queue.count, count == 0 || bytes + queue[count].readableBytes <= policy.responseBytesMax {
      bytes += queue[count].readableBytes
      count += 1
    }
    let payloads = Array(queue[..<count])
    queue.removeFirst(count)
    queuedBytes -= bytes
    return payloads
  }

  private mutating func respond(
    _ now: Int, _ kind: BOSHResponse.Kind = .plain, at index: Int = 0, with payloads: [ByteBuffer]
  ) -> BOSHOutput {
    let request = held.remove(at: index)
    let response = BOSHResponse(
      kind, ack: isTold && last > request.rid ? last : nil, session: isTold ? nil : session, payloads: payloads)
    isTold = true
    responded = now
    if !payloads.isEmpty, previous?.rid == request.rid { previous?.gotNothing = false }
    sent.append((request.rid, response))
    if sent.count > session.requests { sent.removeFirst() }
    return .answer(request.exchange, response)
  }

  // MARK: Time

  /// The time at which to call `passed`; `nil` if there is none.
  public var deadline: Int? {
    if isOver { return nil }
    if session.wait > 0, let first = held.first { return first.until }
    return held.isEmpty ? responded + patience : nil
  }

  /// Handles a deadline that may have passed.
  public mutating func passed(now: Int) -> [BOSHOutput] {
    guard let deadline, now >= deadline else { return [] }
    // 10: without telling the client.
    return held.isEmpty ? end(.itemNotFound, nil) : answer(now: now)
  }

  // MARK: Destroying

  /// Ends the session for the server: queued elements are sent with it. If no request is held, the next one is told.
  public mutating func close(_ condition: BOSHCondition?) -> [BOSHOutput] {
    guard !isOver, farewell == nil else { return [] }
    if held.isEmpty {
      farewell = .terminated(condition)
      return []
    }
    return leave(.terminated(condition))
  }

  /// Ends the session (13, 17.2): the oldest request is told, the others get empty responses.
  private mutating func leave(_ kind: BOSHResponse.Kind) -> [BOSHOutput] {
    var payloads = queue
    var outputs: [BOSHOutput] = []
    var kind = kind
    while !held.isEmpty {
      outputs.append(respond(responded, kind, with: payloads))
      payloads = []
      kind = .plain
    }
    return outputs + over(.plain)
  }

  /// Ends the session with an error, which all requests are told.
  private mutating func end(_ condition: BOSHCondition, _ exchange: Int?) -> [BOSHOutput] {
    let response = BOSHResponse(.terminated(condition))
    var outputs = held.map { BOSHOutput.answer($0.exchange, response) }
    if let exchange { outputs.append(.answer(exchange, response)) }
    held = []
    return outputs + over(response.kind)
  }

  private mutating func over(_ kind: BOSHResponse.Kind) -> [BOSHOutput] {
    let outputs = early.sorted { $0.key < $1.key }.map { BOSHOutput.answer($0.value.exchange, BOSHResponse(kind)) }
    early = [:]
    queue = []
    queuedBytes = 0
    isOver = true
    return outputs + [.over]
  }

  /// Returns the lower version (7.2); minor numbers may have several digits.
  private static func version(_ asked: String?) -> String {
    let own = (major: 1, minor: 11)
    let parts = (asked ?? "").split(separator: ".").map { Int($0) ?? 0 }
    guard parts.count == 2, (parts[0], parts[1]) < (own.major, own.minor) else { return "\(own.major).\(own.minor)" }
    return "\(parts[0]).\(parts[1])"
  }
}
