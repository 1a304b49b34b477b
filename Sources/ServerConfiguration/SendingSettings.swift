import Addresses
import Basics
import Dialogs

extension SettingsReader {
  /// Reads what one user may send, and one network.
  mutating func sending(among domains: [Settings.Domain]) -> SendingPolicy {
    var policy = SendingPolicy()
    policy.stanzasPerSecond = read(keys.sendingStanzas)
    policy.bytesPerSecond = read(keys.sendingBytes)
    policy.networkStanzasPerSecond = read(keys.sendingNetworkStanzas)
    policy.networkBytesPerSecond = read(keys.sendingNetworkBytes)
    policy.dayBytes = Int64(read(keys.sendingDayBytes))
    for written in read(keys.sendingUnlimited) {
      if let network = Network(written) {
        if network.hasWholeNetworks {
          policy.unlimited.networks.append(network)
        } else {
          reject(
            keys.sendingUnlimited, "\(Line.safe(written)) is only part of a network: in IPv6 one has at most 64 bits")
        }
      } else if let domain = Host.domain(written) {
        policy.unlimited.domains.insert(domain)
      } else if let user = BareJID(parsing: written), domains.contains(where: { $0.name == user.domain }) {
        policy.unlimited.users.insert(user)
      } else {
        reject(
          keys.sendingUnlimited,
          "\(Line.safe(written)) is neither a user of this server, nor a domain, nor a network such as 10.0.0.0/8")
      }
    }
    return policy
  }
}
