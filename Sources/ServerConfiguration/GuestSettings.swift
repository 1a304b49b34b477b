import Basics
import Dialogs

extension SettingsReader {
  mutating func guests(among domains: [Settings.Domain]) -> GuestPolicy {
    let names = list(.guestDomains).compactMap { written -> String? in
      guard let name = Host.domain(written), domains.contains(where: { $0.name == name }) else {
        mistake(.guestDomains, "\(Line.safe(written)) is not served here")
        return nil
      }
      return name
    }
    let most = number(.guestsMax, 1...ConfigurationLimits.guestsMax, "guests")
    let ofAddress = number(.guestsPerAddress, 1...ConfigurationLimits.guestsMax, "guests")
    let seconds = number(.guestSeconds, 0...ConfigurationLimits.guestSecondsMax, "seconds")
    let rights = list(.guestRights).compactMap { written -> GuestPolicy.Right? in
      let right = GuestPolicy.Right(rawValue: written.lowercased())
      if right == nil {
        let all = GuestPolicy.Right.allCases.map(\.rawValue).joined(separator: ", ")
        mistake(.guestRights, "\(Line.safe(written)) is none of \(all)")
      }
      return right
    }
    return GuestPolicy(
      domains: Set(names), guestsMax: most, perNetworkMax: ofAddress, grace: .seconds(seconds), rights: Set(rights))
  }
}
