public import NIOCore

/// The bound of unsent bytes that the kernel keeps for a connection, the same on all ports.
public enum UnsentBytes {
  /// The maximum number of bytes that the kernel keeps before it has sent them: enough that the network never waits for the
  /// server. Otherwise the kernel would take megabytes for a client that reads nothing.
  public static let most = 131_072
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
  /// TCP_NOTSENT_LOWAT, tcp(7) of Linux.
  public static var unsentBytes: Self { .init(level: .tcp, name: .init(rawValue: 25)) }
}
