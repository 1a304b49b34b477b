import Crypto
import NIOCore
public import NIOSSL
import Synchronization

/// The `tls-exporter` channel bindings (RFC 9266) of the connections of one listener.
///
/// NIOSSL has no call for exported keying material, but it can log the secrets of TLS 1.3 as it derives them (the key
/// log of NSS), among them the exporter secret. A line names its connection by the random of the ClientHello. So
/// `ClientRandom` reads that random off the wire in front of TLS and announces it here; `log` keeps the exporter secret
/// of an announced random and drops every other line; and when the handshake is complete the connection takes its 32
/// bytes of binding, and the secret is erased. Nothing is ever written anywhere. There is one entry for each handshake
/// under way, and these are bounded by the connections that have not authenticated.
///
/// Resumed sessions have a new random, a new exporter secret and thus a binding of their own. TLS 1.2 logs no such line
/// and gives no binding. There is no renegotiation in TLS 1.3 and no early data here, so a connection has one binding.
public final class TLSExporters: Sendable {
  private enum Entry {
    case awaited
    case known(SymmetricKey)
    /// Two connections used one random at the same moment, so the secret cannot be assigned to either. No honest client
    /// does that; an attacker who copies another's ClientHello only takes the binding from both.
    case ambiguous(connections: Int)
  }
  private let entries = Mutex<[ClientRandom.Value: Entry]>([:])

  public init() {}

  /// The `keyLogCallback` for the listener's TLS.
  public var log: NIOSSLKeyLogCallback { { [self] line in keep(line.readableBytesView) } }

  func announce(_ random: ClientRandom.Value) {
    entries.withLock { entries in
      switch entries[random] {
      case nil: entries[random] = .awaited
      case .awaited, .known: entries[random] = .ambiguous(connections: 2)
      case .ambiguous(let count): entries[random] = .ambiguous(connections: count + 1)
      }
    }
  }

  /// Ends what `announce` began. Returns the binding; `nil` if the handshake gave none.
  func take(_ random: ClientRandom.Value) -> [UInt8]? {
    let secret: SymmetricKey? = entries.withLock { entries in
      switch entries[random] {
      case .known(let secret):
        entries[random] = nil
        return secret
      case .ambiguous(let count) where count > 1: entries[random] = .ambiguous(connections: count - 1)
      case .ambiguous, .awaited, nil: entries[random] = nil
      }
      return nil
    }
    return secret.flatMap(Self.binding)
  }

  /// Keeps a line `EXPORTER_SECRET <random> <secret>`, both in hexadecimal.
  private func keep(_ line: ByteBufferView) {
    guard line.starts(with: Self.label) else { return }
    let parts = line.dropFirst(Self.label.count).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    guard parts.count == 2, let random = Self.bytes(parts[0]).flatMap(ClientRandom.Value.init),
      let secret = Self.bytes(parts[1])
    else { return }
    let key = SymmetricKey(data: secret)
    entries.withLock { if case .awaited? = $0[random] { $0[random] = .known(key) } }
  }

  private static let label = Array("EXPORTER_SECRET ".utf8)

  private static func bytes(_ hexadecimal: ByteBufferView) -> [UInt8]? {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 0x30...0x39: byte - 0x30
      case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x61 + 10
      default: nil
      }
    }
    guard hexadecimal.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(hexadecimal.count / 2)
    var index = hexadecimal.startIndex
    while index < hexadecimal.endIndex {
      guard let high = digit(hexadecimal[index]), let low = digit(hexadecimal[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
      index += 2
    }
    return bytes
  }

  // MARK: The exporter

  /// Returns TLS-Exporter("EXPORTER-Channel-Binding", "", 32) (RFC 9266 2, RFC 8446 7.5). The length of the secret
  /// tells the hash of the connection.
  static func binding(_ secret: SymmetricKey) -> [UInt8]? {
    switch secret.bitCount {
    case 256: exported(SHA256.self, secret)
    case 384: exported(SHA384.self, secret)
    default: nil
    }
  }

  private static func exported<H: HashFunction>(_: H.Type, _ secret: SymmetricKey) -> [UInt8] {
    let nothing = Array(H.hash(data: [UInt8]()))
    let derived = expand(H.self, secret, "EXPORTER-Channel-Binding", nothing, H.Digest.byteCount)
    return expand(H.self, derived, "exporter", nothing, 32).withUnsafeBytes { Array($0) }
  }

  /// HKDF-Expand-Label (RFC 8446 7.1).
  private static func expand<H: HashFunction>(
    _: H.Type, _ secret: SymmetricKey, _ label: String, _ context: [UInt8], _ count: Int
  ) -> SymmetricKey {
    let label = Array("tls13 \(label)".utf8)
    let info =
      [UInt8(count >> 8), UInt8(count & 0xFF), UInt8(label.count)] + label + [UInt8(context.count)] + context
    return HKDF<H>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count)
  }
}

/// Reads the random of the ClientHello on its way to TLS, unchanged. It stands in front of the TLS handler, and ignores
/// everything behind the first record.
final class ClientRandom: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// The 32 bytes of a random, without an allocation.
  struct Value: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    init?(_ bytes: some Collection<UInt8>) {
      guard bytes.count == 32 else { return nil }
      var words = SIMD4<UInt64>()
      for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
      self.words = words
    }
  }

  private let exporters: TLSExporters
  /// The beginning of the first record, until it is long enough.
  private var beginning: [UInt8] = []
  private var isDone = false
  private var announced: Value?

  init(_ exporters: TLSExporters) { self.exporters = exporters }

  /// Returns the binding once the handshake is complete, and forgets it.
  func takeBinding() -> [UInt8]? {
    defer { announced = nil }
    return announced.flatMap(exporters.take)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    look(unwrapInboundIn(data).readableBytesView)
    context.fireChannelRead(data)
  }

  func handlerRemoved(context: ChannelHandlerContext) { _ = takeBinding() }

  /// Reads a record of the handshake (RFC 8446 5.1): type 22, version, length; in it a ClientHello (4.1.2): type 1,
  /// length, version, random. A ClientHello may be split into records before its random ends, but no client does so: it
  /// gets no binding. A second ClientHello, behind a retry, has the same random.
  func look(_ bytes: ByteBufferView) {
    if isDone { return }
    beginning += bytes.prefix(Self.randomEnd - beginning.count)
    guard beginning.count == Self.randomEnd else { return }
    isDone = true
    defer { beginning = [] }
    let length = Int(beginning[3]) << 8 | Int(beginning[4])
    guard beginning[0] == 22, beginning[5] == 1, length >= Self.randomEnd - 5,
      let random = Value(beginning[(Self.randomEnd - 32)...])
    else { return }
    announced = random
    exporters.announce(random)
  }

  private static let randomEnd = 5 + 4 + 2 + 32
}
