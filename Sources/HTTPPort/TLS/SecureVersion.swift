public import NIOCore
import NIOSSL
public import ServerMetrics

extension SecureVersion {
  /// Creates the version of a completed handshake.
  public init(_ pipeline: ChannelPipeline.SynchronousOperations) {
    switch (try? pipeline.handler(type: NIOSSLServerHandler.self))?.tlsVersion
      ?? (try? pipeline.handler(type: NIOSSLClientHandler.self))?.tlsVersion
    {
    case .tlsv12?: self = .v12
    case .tlsv13?: self = .v13
    default: self = .other
    }
  }
}
