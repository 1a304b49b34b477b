import Basics
import Glibc
import NIOCore
package import ServerConfiguration

extension Settings {
  /// Returns the warnings of `parley check` about ports that the server cannot open at present, as another process has them.
  /// There are none if a server runs on the data folder, which has them itself, and if this user may not see whether one does.
  package func occupiedPorts() async -> [String] {
    let lock = data + "/lock"
    let isVisible = (try? Files.isMissing(lock)) == true || access(lock, R_OK) == 0
    guard isVisible, DataFolder.server(of: data) == nil else { return [] }
    // A server whose program has another name, or whose process is in another namespace, is known by its socket only.
    if await AdminConnection.server(self) != nil { return [] }
    return listeners.compactMap { endpoint, key -> String? in
      // Other checks have said what EACCES and EAFNOSUPPORT mean.
      guard let code = endpoint.obstacle, code == EADDRINUSE || code == EADDRNOTAVAIL else { return nil }
      let text = HTTPPorts.refusal(IOError(errnoCode: code, reason: "bind"), endpoint, key).description
      return "\(text.prefix(1).uppercased())\(text.dropFirst())."
    }
  }
}

extension Settings.Endpoint {
  /// The error of binding a socket to the endpoint as the server does; nil if there is none. The socket does not listen, so
  /// that a server which starts meanwhile is not kept from the port.
  fileprivate var obstacle: Int32? {
    guard let address = try? SocketAddress.makeAddressResolvingHost(Host.bound(host), port: port) else { return nil }
    let file = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard file >= 0 else { return errno }
    defer { close(file) }
    var isOn: Int32 = 1
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    return address.withSockAddr { bind(file, $0, socklen_t($1)) == 0 ? nil : errno }
  }
}
