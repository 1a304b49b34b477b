/// The bounds of what the server knows and asks of other servers beside the streams to them. Each states its number, its reason and
/// what happens at it.
package enum PeerLimits {
  /// The block lists that are followed, each of which takes up to 10 MB of memory; more are an error of the configuration.
  package static let blocklistsMax = 8
}
