import Basics
import Dialogs

extension SettingsReader {
  mutating func guests(among domains: [Settings.Domain]) -> GuestPolicy {
    let names = read(keys.guestDomains).compactMap { written -> String? in
      guard let name = Host.domain(written), domains.contains(where: { $0.name == name }) else {
        reject(keys.guestDomains, "\(Line.safe(written)) is not served here")
        return nil
      }
      return name
    }
    let most = read(keys.guestsMax)
    let ofAddress = read(keys.guestsPerAddress)
    let grace = read(keys.guestSeconds)
    let rights = read(keys.guestRights).compactMap { written -> GuestPolicy.Right? in
      let right = GuestPolicy.Right(rawValue: written.lowercased())
      if right == nil {
        let all = GuestPolicy.Right.allCases.map(\.rawValue).joined(separator: ", ")
        reject(keys.guestRights, "\(Line.safe(written)) is not one of \(all)")
      }
      return right
    }
    return GuestPolicy(
      domains: Set(names), guestsMax: most, perNetworkMax: ofAddress, grace: grace, rights: Set(rights))
  }
}
