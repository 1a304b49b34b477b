import Basics
import Dialogs
import Glibc
import NIOCore
import NIOPosix
import Peers

/// Asks a STUN or TURN server over UDP, as a client does in a call: for the address that it sees (RFC 8489), and for an
/// allocation with credentials like those that clients get (RFC 8656), which is given back.
struct RelayCheck: Sendable {
  typealias Step = ReachabilityCheck.Step

  let service: ExternalService
  let address: IPAddress
  /// nil for a server without credentials.
  let credentials: ExternalService.Credentials?

  /// Returns the findings.
  func steps() async -> [Step] {
    (try? await NIOSingletons.posixBlockingThreadPool.runIfActive { ask() }) ?? []
  }

  private var place: String { "\(service.host):\(service.port)" }
  private static let reachAdvice =
    "does the relay run there (turn.servers), and does its firewall let the port through for UDP?"

  private func ask() -> [Step] {
    var steps: [Step] = []
    do throws(Failure) {
      let socket = try Socket(address, port: service.port)
      let seen = try socket.exchange(STUNMessage(.bindingRequest)) { $0.bytes }
      guard seen.kind == .bindingSuccess, let mapped = seen.address(.mappedAddress) else {
        throw Failure("\(address): it answers no request for a binding: \(Self.reason(seen))", "see the relay's log")
      }
      steps.append(Step("stun \(place)", .pass, "\(address) answers, and sees this machine as \(mapped.address)"))
      if service.kind.isRelay, let credentials { steps.append(try allocation(on: socket, credentials)) }
    } catch {
      let name = steps.isEmpty ? "stun \(place)" : "allocation \(place)"
      steps.append(Step(name, error.isHere ? .warn : .fail, error.text, advice: error.advice))
    }
    return steps
  }

  /// RFC 8656 7: the first request gets the realm and a nonce, the second has credentials.
  private func allocation(on socket: Socket, _ credentials: ExternalService.Credentials) throws(Failure) -> Step {
    let secretAdvice = "is turn.secret the relay's static-auth-secret, and is the clock of both right?"
    func request(_ kind: STUNMessage.Kind, lifetime: UInt8?, _ challenge: STUNMessage?) -> STUNMessage {
      var request = STUNMessage(kind)
      // 17 is UDP (18.8).
      if kind == .allocateRequest { request.add(.requestedTransport, [17, 0, 0, 0]) }
      if let lifetime { request.add(.lifetime, [0, 0, 0, lifetime]) }
      guard let challenge, let realm = challenge[.realm], let nonce = challenge[.nonce] else { return request }
      request.add(.username, Array(credentials.username.utf8))
      request.add(.realm, realm)
      request.add(.nonce, nonce)
      return request
    }
    let first = try socket.exchange(request(.allocateRequest, lifetime: nil, nil)) { $0.bytes }
    guard first.kind == .allocateError, first.error?.code == 401, let realm = first.text(.realm), first[.nonce] != nil
    else {
      if first.kind == .allocateSuccess {
        return Step(
          "allocation \(place)", .warn, "the relay serves everybody, without credentials",
          advice: "let it ask for them (use-auth-secret and static-auth-secret of coturn)")
      }
      throw Failure("\(address): it gives no allocation: \(Self.reason(first))", "see the relay's log")
    }
    func sign(_ message: STUNMessage) -> [UInt8] {
      message.bytes(signedBy: credentials.username, password: credentials.password, realm: realm)
    }
    let second = try socket.exchange(request(.allocateRequest, lifetime: nil, first), sign)
    guard second.kind == .allocateSuccess, let relayed = second.address(.relayedAddress) else {
      throw Failure("\(address): it refuses the credentials that clients get: \(Self.reason(second))", secretAdvice)
    }
    // Given back; one that is not ends by itself after some minutes.
    _ = try? socket.exchange(request(.refreshRequest, lifetime: 0, first), sign)
    if !PublicAddresses().allows(relayed.address) {
      return Step(
        "allocation \(place)", .warn,
        "the relay takes the credentials that clients get, and relays at \(relayed.address), which is not public",
        advice: "clients elsewhere do not reach that (external-ip of coturn)")
    }
    return Step(
      "allocation \(place)", .pass, "the relay takes the credentials that clients get, and relays at \(relayed.address)"
    )
  }

  private static func reason(_ message: STUNMessage) -> String {
    message.error.map { "error \($0.code) \($0.reason)" } ?? "an answer that cannot be understood"
  }

  private struct Failure: Error {
    let text: String
    let advice: String?
    /// Whether this machine is the reason.
    var isHere = false

    init(_ text: String, _ advice: String?) { (self.text, self.advice) = (text, advice) }
  }

  /// A socket to one address, used by one thread.
  private final class Socket {
    private let file: Int32
    private let address: IPAddress

    init(_ address: IPAddress, port: Int) throws(Failure) {
      self.address = address
      file = socket(address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      let isConnected =
        (try? SocketAddress(ipAddress: "\(address)", port: port).withSockAddr { connect(file, $0, socklen_t($1)) == 0 })
        ?? false
      guard file >= 0, isConnected else {
        if file >= 0 { close(file) }
        var failure = Failure("\(address) cannot be tried: this machine has no way to such addresses", nil)
        failure.isHere = true
        throw failure
      }
    }

    deinit { close(file) }

    /// Sends a request until its answer comes (RFC 8489 6.2.1).
    func exchange(_ request: STUNMessage, _ encode: (STUNMessage) -> [UInt8]) throws(Failure) -> STUNMessage {
      let bytes = encode(request)
      var buffer = [UInt8](repeating: 0, count: ServerLimits.datagramBytesMax)
      for wait in ServerLimits.relayWaits {
        _ = send(file, bytes, bytes.count, 0)
        let end = ContinuousClock.now + wait
        while true {
          let left = max(0, (end - ContinuousClock.now).milliseconds)
          var events = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
          guard poll(&events, 1, left) > 0 else { break }
          let count = recv(file, &buffer, buffer.count, 0)
          if count < 0, errno == ECONNREFUSED { throw Failure("\(address): nobody listens", RelayCheck.reachAdvice) }
          guard count > 0, let answer = STUNMessage(Array(buffer.prefix(count))),
            answer.transaction == request.transaction
          else { continue }
          return answer
        }
      }
      throw Failure("\(address): no answer", RelayCheck.reachAdvice)
    }
  }
}

extension Duration {
  fileprivate var milliseconds: Int32 {
    Int32(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
  }
}
