import NIOCore
import NIOHTTP1

/// Detects requests with an invalid Host (RFC 9112 3.2): HTTP/1.1 without one, several, or a value that is not a host and
/// port. They are passed on with an empty Host, which `SiteResponder` answers with 400; valid requests never have one, since
/// all served URLs have an authority (RFC 9110 4.2.1).
///
///  Confined to its channel's event loop, like every handler.
final class HostHandler: ChannelInboundHandler, RemovableChannelHandler,
  @unchecked Sendable  // NIO calls it on its loop alone
{
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), Self.isWrong(head) else { return context.fireChannelRead(data) }
    head.headers.replaceOrAdd(name: "host", value: "")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  static func isWrong(_ head: HTTPRequestHead) -> Bool {
    let hosts = head.headers["host"]
    // The field exists since HTTP/1.1.
    if hosts.isEmpty { return head.version.major == 1 && head.version.minor >= 1 }
    return hosts.count > 1 || !isAuthority(hosts[0])
  }

  /// Whether the text consists of the characters of RFC 3986 3.2.2 and 3.2.3: a name or a bracketed address, and an
  /// optional port.
  private static func isAuthority(_ text: String) -> Bool {
    var rest = text.utf8[...]
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")),
        rest[rest.startIndex..<end].dropFirst().allSatisfy({ isName($0) || $0 == UInt8(ascii: ":") })
      else { return false }
      rest = rest[rest.index(after: end)...]
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      guard !name.isEmpty, name.allSatisfy(isName) else { return false }
      rest = rest[name.endIndex...]
    }
    guard let colon = rest.first else { return true }
    return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
  }

  /// Whether the octet is of `unreserved`, `pct-encoded` or `sub-delims`.
  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x30...0x39: true
    default: "-._~%!$&'()*+,;=".utf8.contains(byte)
    }
  }
}
