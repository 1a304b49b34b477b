import Accounts
import Basics
import Dialogs
import Logging
import PushServices
public import ServerConfiguration

/// The keys for push providers, read from their files.
public struct PushKeys: Sendable {
  let apns: APNs.Key?
  let fcm: FCM.Account?

  /// Reads the keys; throws an error with a line for each that cannot be read or used.
  init(_ settings: Settings.Pushes) throws(StartupError) {
    var wrong: [String] = []
    func read<Value>(
      _ key: Key<String>, _ path: String, _ make: ([UInt8]) throws(PushKeyProblem) -> Value
    ) -> Value? {
      let reason: String
      do throws(Files.Failure) {
        let bytes = try Files.read(path, bytesMax: ServerLimits.pushKeyBytesMax)
        do throws(PushKeyProblem) { return try make(bytes) } catch { reason = error.description }
      } catch { reason = error.reasonWithRemedy }
      wrong.append("\(key.name): \(path) cannot be used: \(reason)")
      return nil
    }
    apns = settings.apns.flatMap { apns in
      read(Keys.shared.pushAPNsKey, apns.path) { bytes throws(PushKeyProblem) in
        try APNs.Key(pem: String(decoding: bytes, as: UTF8.self), id: apns.keyID, team: apns.teamID)
      }
    }
    fcm = settings.fcm.flatMap { fcm in
      read(Keys.shared.pushFCMAccount, fcm.path) { bytes throws(PushKeyProblem) in try FCM.Account(json: bytes) }
    }
    guard wrong.isEmpty else { throw StartupError(lines: wrong, .usage) }
  }

  /// Returns a line for each unusable key, for `parley check`.
  public static func check(_ settings: Settings) -> [String] {
    do throws(StartupError) {
      _ = try PushKeys(settings.pushes)
      return []
    } catch { return error.lines }
  }
}

extension Settings.Pushes {
  /// Returns the policy.
  ///
  /// - Parameter webPush: The server's own key.
  func policy(_ webPush: WebPush.Key) -> PushPolicy {
    var providers: Set<PushDevice.Provider> = []
    if apns != nil { providers.insert(.apns) }
    if fcm != nil { providers.insert(.fcm) }
    if webPushContact != nil { providers.formUnion([.webpush, .unifiedpush]) }
    if webhook != nil { providers.insert(.webhook) }
    return PushPolicy(
      providers: providers, topics: apns?.topics ?? [], webPushKey: webPushContact == nil ? nil : webPush.publicKey)
  }

  func services(
    _ keys: PushKeys, _ webPush: WebPush.Key, xmpp: any PushRoute, content: PushContent, _ outgoing: Outgoing,
    clock: any Clock, _ logger: Logger
  ) -> PushServices {
    var senders: [PushDevice.Provider: any PushSender] = [:]
    if let apns, let key = keys.apns {
      senders[.apns] = APNs(
        key: key, production: apns.url, sandbox: apns.sandboxURL, client: outgoing.named, clock: clock, logger: logger)
    }
    if let fcm, let account = keys.fcm {
      senders[.fcm] = FCM(account: account, url: fcm.url, client: outgoing.named, clock: clock, logger: logger)
    }
    if let webPushContact {
      let sender = WebPush(key: webPush, contact: webPushContact, client: outgoing.given, clock: clock, logger: logger)
      senders[.webpush] = sender
      senders[.unifiedpush] = sender
    }
    if let webhook {
      senders[.webhook] = Gateway(
        url: webhook.url, signer: webhook.signer, client: outgoing.named, clock: clock, logger: logger)
    }
    return PushServices(senders, xmpp: xmpp, content: content, logger: logger)
  }
}
