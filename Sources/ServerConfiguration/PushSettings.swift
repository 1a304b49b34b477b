import Basics
import Dialogs
import PushServices
public import WebClient

extension Settings {
  /// The push providers of app devices.
  public struct Pushes: Hashable, Sendable {
    public struct Apple: Hashable, Sendable {
      /// The path of the key file.
      public let path: String
      public let keyID: String
      public let teamID: String
      /// At least one.
      public let topics: [String]
      public let url: String
      public let sandboxURL: String
    }
    public struct Google: Hashable, Sendable {
      /// The path of the service account's file.
      public let path: String
      public let url: String
    }
    public struct Webhook: Hashable, Sendable {
      public let url: String
      public let signer: WebhookSigner
    }

    /// nil if APNs is off; likewise for the others.
    public let apns: Apple?
    public let fcm: Google?
    /// The contact for push services; nil if browsers get no pushes.
    public let webPushContact: String?
    public let webhook: Webhook?
  }
}

extension SettingsReader {
  mutating func pushes(domain: String, publicURL: String) -> Settings.Pushes {
    Settings.Pushes(
      apns: apns(), fcm: fcm(), webPushContact: webPushContact(domain: domain, publicURL: publicURL), webhook: webhook()
    )
  }

  private mutating func apns() -> Settings.Pushes.Apple? {
    let path = read(keys.pushAPNsKey)
    let keyID = read(keys.pushAPNsKeyID)
    let teamID = read(keys.pushAPNsTeamID)
    let topics = read(keys.pushAPNsTopics)
    let urls = (read(keys.pushAPNsURL), read(keys.pushAPNsSandboxURL))
    if path.isEmpty {
      let others: [(any AnyKey, isSet: Bool)] = [
        (keys.pushAPNsKeyID, !keyID.isEmpty), (keys.pushAPNsTeamID, !teamID.isEmpty),
        (keys.pushAPNsTopics, !topics.isEmpty),
      ]
      for (key, isSet) in others where isSet { reject(key, "push.apns.key must be set as well") }
      return nil
    }
    for (key, text) in [(keys.pushAPNsKeyID, keyID), (keys.pushAPNsTeamID, teamID)]
    where text.utf8.count != 10 || !text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) {
      reject(key, "ten letters and digits are expected, as Apple's developer account shows them")
    }
    if topics.isEmpty { reject(keys.pushAPNsTopics, "at least one bundle id of an app is expected") }
    for topic in topics
    where topic.utf8.count > Limits.deviceFieldBytesMax
      || !topic.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") })
    {
      reject(keys.pushAPNsTopics, "\(Line.safe(topic)) is not a bundle id such as org.example.chat")
    }
    return Settings.Pushes.Apple(
      path: path, keyID: keyID, teamID: teamID, topics: topics, url: urls.0, sandboxURL: urls.1)
  }

  private mutating func fcm() -> Settings.Pushes.Google? {
    let path = read(keys.pushFCMAccount)
    let url = read(keys.pushFCMURL)
    return path.isEmpty ? nil : Settings.Pushes.Google(path: path, url: url)
  }

  private mutating func webPushContact(domain: String, publicURL: String) -> String? {
    let isOn = read(keys.pushWebPush)
    var contact = read(keys.pushWebPushContact)
    if contact.isEmpty {
      contact = publicURL.hasPrefix("https://") ? publicURL : "mailto:postmaster@\(domain)"
      note(keys.pushWebPushContact, contact, .derived)
    } else if !contact.hasPrefix("mailto:") && !contact.hasPrefix("https://")
      || !contact.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    {
      reject(keys.pushWebPushContact, "a URI that begins with mailto: or https: is expected")
    }
    return isOn ? contact : nil
  }

  private mutating func webhook() -> Settings.Pushes.Webhook? {
    let url = read(keys.pushWebhookURL)
    let secret = read(keys.pushWebhookSecret)
    if url.isEmpty {
      if !secret.isEmpty { reject(keys.pushWebhookSecret, "push.webhook.url must be set as well") }
      return nil
    }
    guard let signer = WebhookSigner(secret: secret) else {
      rejectSecret(keys.pushWebhookSecret, of: keys.pushWebhookURL)
      return nil
    }
    return Settings.Pushes.Webhook(url: url, signer: signer)
  }
}
