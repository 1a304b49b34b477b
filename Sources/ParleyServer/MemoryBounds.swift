import Basics
import Dialogs
import Logging
import ServerMetrics

/// The memory that clients and other servers can make a server hold, as a value: bounds of the memory that the process may use.
struct MemoryBounds: Hashable, Sendable {
  /// The bytes that the process may use.
  let memory: Int

  /// What is not logged in: streams before their login, streams of servers that are not verified, WebSockets and bodies of requests.
  var withoutLogin: Int { min(memory / ServerLimits.heldShare, ServerLimits.withoutLoginBytesMost) }
  /// The bodies of requests of logged-in users.
  var bodies: Int { min(memory / ServerLimits.heldShare, ServerLimits.bodyBytesMost) }
  /// The number of HTTP connections without a login.
  var httpConnections: Int { max(memory / ServerLimits.heldShare / ServerLimits.httpConnectionBytes, 1) }
}

/// The bounds of a running server.
struct BoundedMemory: Sendable {
  let withoutLogin: MemoryBound
  let bodies: MemoryBound

  init(_ bounds: MemoryBounds, isByNetwork: Bool, metrics: Metrics, logger: Logger) {
    let refusals = RefusalLog(logger)
    func bound(_ bytes: Int, _ code: String) -> MemoryBound {
      MemoryBound(bytesMax: bytes, isByNetwork: isByNetwork) { network in
        metrics.refusals.add(.memory)
        refusals.note("a connection", code, isFault: false, ["network": network])
      }
    }
    withoutLogin = bound(bounds.withoutLogin, "memory-before-login")
    bodies = bound(bounds.bodies, "memory-of-bodies")
  }

  var all: [MemoryBound] { [withoutLogin, bodies] }
  /// The bytes that are held now.
  var bytes: [HeldMemory: Int] { [.beforeLogin: withoutLogin.bytes, .bodies: bodies.bytes] }
}
