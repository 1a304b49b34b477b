import Basics
import Crypto
import CryptoExtras
import Dialogs
import Foundation
import JSON
import JWTKit
import Testing
import WebClient

@testable import PushServices

/// The requests to providers, byte for byte where a specification defines them, and the handling of their answers.
@Suite struct PushServicesTests {
  static let now: Int64 = 1_700_000_000

  static func notice(
    _ kind: PushNotice.Kind = .message, content: Content.Kind = .text, text: String = "Parting is such sweet sorrow",
    sender: String = "Romeo", dialog: String? = nil, count: Int = 1
  ) -> PushNotice {
    PushNotice(
      kind: kind, user: "juliet", dialog: PublicID("0000000000000000000000000000000d")!,
      message: PublicID("0000000000000000000000000000000e")!, cursor: "c", position: Position(7), count: count,
      unread: 3,
      content: content, text: text, senderID: "romeo", senderName: sender, dialogName: dialog)
  }

  static func device(
    _ provider: PushDevice.Provider, _ kind: PushDevice.Kind = .alert, token: String = "ab12"
  ) -> PushDevice {
    PushDevice(
      id: "phone", provider: provider, kind: kind, appID: "org.example.chat", token: token,
      registeredAt: Timestamp(milliseconds: Self.now * 1_000))
  }

  static func bytes(_ base64URL: String) -> [UInt8] {
    var text = base64URL.replacing("-", with: "+").replacing("_", with: "/")
    while text.count % 4 != 0 { text += "=" }
    return Array(Data(base64Encoded: text) ?? Data())
  }

  private func json(_ bytes: [UInt8]) throws -> JSONValue { try JSONValue(parsing: bytes) }

  // MARK: Encryption

  /// RFC 8188 3.1.
  @Test func aRecordIsAsInTheSpecification() throws {
    let sealed = try ContentEncoding.aes128gcm(
      Array("I am the walrus".utf8), SymmetricKey(data: Self.bytes("yqdlZ-tYemfogSmv7Ws5PQ")),
      salt: Self.bytes("I1BsxtFttlv3u_Oo94xnmw"), keyID: [])
    #expect(sealed == Self.bytes("I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"))
  }

  /// RFC 8291 5 and appendix A.
  @Test func aPushMessageIsAsInTheSpecification() throws {
    let sender = try P256.KeyAgreement.PrivateKey(
      rawRepresentation: Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
    let keys = PushDevice.Keys(
      agreement: Self.bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
      secret: Self.bytes("BTBZMqHH6r4Tts7J_aSIgg"))
    let sealed = try WebPush.encrypted(
      Array("When I grow up, I want to be a watermelon".utf8), for: keys, by: sender,
      salt: Self.bytes("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(
      sealed
        == Self.bytes(
          "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
            + "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
            + "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"))
  }

  @Test func everyMessageHasASaltAndAKeyOfItsOwn() throws {
    let keys = PushDevice.Keys(
      agreement: Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
      secret: [UInt8](repeating: 1, count: 16))
    let (one, two) = (try WebPush.encrypted([1], for: keys), try WebPush.encrypted([1], for: keys))
    #expect(one[..<16] != two[..<16] && one[21..<86] != two[21..<86])
    #expect(one.count == 86 + 1 + 1 + 16)
  }

  @Test(arguments: [
    ("https://push.example.org/a?b#c", "https://push.example.org"),
    ("https://Push.example.org:443/", "https://push.example.org"),
    ("https://push.example.org:8443", "https://push.example.org:8443"), ("http://push.example.org/", nil),
  ])
  func theOriginIsAllOfAnEndpointThatATokenNames(url: String, origin: String?) {
    #expect(WebPush.origin(of: url) == origin)
  }

  // MARK: Tokens, verified by a library

  struct Claims: JWTPayload {
    var iss: String?
    var iat: Int?
    var exp: Int?
    var aud: String?
    var sub: String?
    var scope: String?
    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  @Test func theTokenOfABrowsersServiceIsGoodByItsKey() async throws {
    let key = WebPush.Key()
    let text = try WebPush.token(key, "https://push.example.org", Self.now + 43_200, "mailto:push@example.org")
    let keys = JWTKeyCollection()
    let point = Self.bytes(key.publicKey)
    await keys.add(
      ecdsa: try ES256PublicKey(backing: try P256.Signing.PublicKey(x963Representation: Data(point))))
    let claims = try await keys.verify(text, as: Claims.self)
    #expect(claims.aud == "https://push.example.org" && claims.sub == "mailto:push@example.org")
    #expect(claims.exp == Int(Self.now) + 43_200)
    #expect(WebPush.Key(raw: key.raw)?.publicKey == key.publicKey && point.count == 65)
    #expect(WebPush.Key(raw: [1, 2, 3]) == nil)
  }

  @Test func theAssertionForGoogleIsGoodByTheAccountsKey() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let account = try FCM.Account(json: Self.account(key.pemRepresentation))
    let text = try #require(FCM.assertion(account, Self.now))
    let keys = JWTKeyCollection()
    await keys.add(rsa: try Insecure.RSA.PublicKey(pem: key.publicKey.pemRepresentation), digestAlgorithm: .sha256)
    let claims = try await keys.verify(text, as: Claims.self)
    #expect(claims.iss == "push@project.iam.gserviceaccount.com" && claims.aud == "https://oauth2.googleapis.com/token")
    #expect(claims.scope == "https://www.googleapis.com/auth/firebase.messaging")
    #expect(claims.exp == Int(Self.now) + 3_600)
  }

  static func account(_ pem: String, _ change: (inout [String: String]) -> Void = { _ in }) throws -> [UInt8] {
    var fields = [
      "type": "service_account", "project_id": "project-1", "private_key_id": "k1", "private_key": pem,
      "client_email": "push@project.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
    ]
    change(&fields)
    return Array(try JSONEncoder().encode(fields))
  }

  @Test func aFileThatIsNoAccountSaysWhatIsWrong() throws {
    let pem = try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation
    for change: (inout [String: String]) -> Void in [
      { $0["type"] = "authorized_user" }, { $0["project_id"] = "../x" }, { $0["client_email"] = nil },
      { $0["private_key"] = "no key" }, { $0["token_uri"] = "" },
    ] {
      #expect(throws: PushKeyProblem.self) { try FCM.Account(json: try Self.account(pem, change)) }
    }
    #expect(throws: PushKeyProblem.self) { try FCM.Account(json: Array("no JSON".utf8)) }
    #expect(throws: PushKeyProblem.self) { try APNs.Key(pem: "no key", id: "ABC123DEFG", team: "DEF123GHIJ") }
    let key = P256.Signing.PrivateKey().pemRepresentation
    #expect(throws: PushKeyProblem.self) { try APNs.Key(pem: key, id: "short", team: "DEF123GHIJ") }
    _ = try APNs.Key(pem: key, id: "ABC123DEFG", team: "DEF123GHIJ")
  }

  // MARK: Words

  struct Said: Sendable, CustomStringConvertible {
    let description: String
    let notice: PushNotice
    let content: PushContent
    let title: PushTexts.Phrase?
    let body: PushTexts.Phrase?
    init(
      _ name: String, _ notice: PushNotice, _ content: PushContent, title: PushTexts.Phrase? = nil,
      _ body: PushTexts.Phrase?
    ) {
      (description, self.notice, self.content, self.title, self.body) = (name, notice, content, title, body)
    }
  }

  @Test(arguments: [
    Said("nothing", notice(), .none, .key("parley_message")),
    Said("nothing, of several", notice(count: 3), .none, .key("parley_messages", ["3"])),
    Said("the sender", notice(), .sender, title: .key("parley_from", ["Romeo"]), .key("parley_message")),
    Said(
      "the sender and the group", notice(dialog: "Verona"), .sender,
      title: .key("parley_from_in", ["Romeo", "Verona"]),
      .key("parley_message")),
    Said(
      "the text", notice(), .body, title: .key("parley_from", ["Romeo"]), .text("Parting is such sweet sorrow")),
    Said("a picture", notice(content: .image), .body, title: .key("parley_from", ["Romeo"]), .key("parley_image")),
    Said(
      "what nobody here can read", notice(content: .encrypted, text: "I sent you an OMEMO encrypted message"), .body,
      title: .key("parley_from", ["Romeo"]), .key("parley_encrypted")),
    Said("a call", notice(.call), .none, .key("parley_call")),
    Said("a call, and whose", notice(.call), .sender, title: .key("parley_from", ["Romeo"]), .key("parley_call")),
    Said(
      "a missed call", notice(content: .call, text: "Missed audio call"), .body,
      title: .key("parley_from", ["Romeo"]), .key("parley_missed_call")),
    Said("what is silent", notice(.silent), .body, nil), Said("the end of a call", notice(.callEnd), .body, nil),
  ])
  func pushesTellAsMuchAsTheOperatorWants(said: Said) {
    let words = PushTexts(said.notice, said.content)
    #expect(words.title == said.title && words.body == said.body)
  }

  @Test func aTextHasNoTowersOfMarks() {
    let notice = Self.notice(text: "a" + String(repeating: "\u{301}", count: 20))
    let shown = "a" + String(repeating: "\u{301}", count: 4)
    #expect(PushTexts(notice, .body).body == PushTexts.Phrase.text(shown))
  }

  @Test func aTextIsCutBetweenCharacters() {
    #expect(PushTexts.prefix("aé👩‍👩‍👧‍👦b", bytes: 3) == "aé")
    #expect(PushTexts.prefix("aé👩‍👩‍👧‍👦b", bytes: 27) == "aé")
    #expect(PushTexts.prefix("aé👩‍👩‍👧‍👦b", bytes: 28) == "aé👩‍👩‍👧‍👦")
  }

  /// Texts that make payloads too large: long, in bytes that are escaped, in names as well.
  @Test(arguments: ["a", "\u{1}", "\"", "👩‍👩‍👧‍👦"])
  func noPayloadIsLargerThanItsProviderTakes(character: String) throws {
    let text = String(repeating: character, count: 10_000)
    for kind in [PushNotice.Kind.message, .silent, .call, .callEnd] {
      let notice = Self.notice(kind, text: text, sender: text, dialog: text)
      let words = PushTexts(notice, .body)
      #expect(APNs.payload(notice, words, for: Self.device(.apns)).count <= 4_096)
      #expect(APNs.payload(notice, words, for: Self.device(.apns, .voip)).count <= 5_120)
      #expect(WebPush.payload(notice, words).count <= 3_993)
      let message = FCM.message(notice, words, to: Self.device(.fcm))
      #expect(message.count <= 4_096)
      _ = try json(message)
    }
  }

  // MARK: Notifications of a backend

  static func notice(_ notification: AppNotification) -> PushNotice {
    PushNotice(
      kind: .notification, user: "juliet", dialog: PublicID("0000000000000000000000000000000d")!,
      message: PublicID("0000000000000000000000000000000e")!, cursor: "c", position: Position(7), count: 1, unread: 3,
      content: .none, text: "", senderID: nil, senderName: "", dialogName: nil, notification: notification)
  }

  @Test func aBackendsNotificationIsSentUnchanged() throws {
    let notice = Self.notice(
      AppNotification(
        id: "order-17", title: .text("The shop"), body: .key("order_sent", ["17"]), data: #"{"order":17}"#))
    // The setting of how much pushes tell of messages makes no difference to notifications.
    let words = PushTexts(notice, .none)
    let payload = try json(APNs.payload(notice, words, for: Self.device(.apns)))
    #expect(payload["aps"]?["alert"]?.text == #"{"title":"The shop","loc-key":"order_sent","loc-args":["17"]}"#)
    #expect(payload["aps"]?["thread-id"]?.string == "notification")
    #expect(payload["type"]?.string == "notification" && payload["notificationId"]?.string == "order-17")
    #expect(payload["data"]?["order"] == .number("17") && payload["dialogId"] == nil && payload["messageId"] == nil)
    let message = try json(FCM.message(notice, words, to: Self.device(.fcm)))["message"]
    #expect(message?["data"]?["data"]?.string == #"{"order":17}"#)
    #expect(message?["android"]?["notification"]?["body_loc_key"]?.string == "order_sent")
    #expect(try json(WebPush.payload(notice, words))["title"]?["text"]?.string == "The shop")
  }

  @Test func withoutWordsTheAppAloneIsWoken() throws {
    let notice = Self.notice(AppNotification(id: "1", body: nil, data: "{}"))
    let words = PushTexts(notice, .body)
    #expect(
      try json(APNs.payload(notice, words, for: Self.device(.apns)))["aps"]?.text == #"{"content-available":1}"#)
    let headers = APNs.headers(notice, Self.device(.apns), "org.example.chat", Self.now)
    #expect(headers.contains { $0 == ("apns-push-type", "background") })
    let android = try json(FCM.message(notice, words, to: Self.device(.fcm)))["message"]?["android"]
    #expect(android?["notification"] == nil && android?["priority"]?.string == "NORMAL")
  }

  /// Two pushes have two ids, and a repeated one keeps its place.
  @Test func eachTakesItsOwnPlace() {
    let one = Self.notice(AppNotification(id: "1", body: .text("x")))
    var other = one
    #expect(one.collapse == other.collapse && one.id(for: Self.device(.apns)) == other.id(for: Self.device(.apns)))
    other = PushNotice(
      kind: .notification, user: one.user, dialog: one.dialog, message: one.dialog, cursor: "d", position: Position(8),
      count: 1, unread: 3, content: .none, text: "", senderID: nil, senderName: "", dialogName: nil,
      notification: AppNotification(id: "2", body: .text("x")))
    #expect(one.collapse != other.collapse && one.id(for: Self.device(.apns)) != other.id(for: Self.device(.apns)))
    #expect(one.collapse != Self.notice().collapse)
  }

  // MARK: Apple

  @Test func thePayloadForApple() throws {
    let device = Self.device(.apns)
    let notice = Self.notice(dialog: "Verona")
    let payload = try json(APNs.payload(notice, PushTexts(notice, .body), for: device))
    let aps = try #require(payload["aps"])
    #expect(
      aps["alert"]?.text
        == #"{"title-loc-key":"parley_from_in","title-loc-args":["Romeo","Verona"],"body":"Parting is such sweet sorrow"}"#
    )
    #expect(aps["badge"] == .number("3") && aps["mutable-content"] == .number("1"))
    #expect(aps["thread-id"]?.string == "\(notice.dialog)" && aps["category"]?.string == "MESSAGE")
    #expect(payload["userId"]?.string == "juliet" && payload["messageId"]?.string == "\(notice.message)")
    #expect(payload["dialogId"]?.string == "\(notice.dialog)" && payload["cursor"]?.string == "c")
    let none = try json(APNs.payload(notice, PushTexts(notice, .none), for: device))
    #expect(none["aps"]?["alert"]?.text == #"{"loc-key":"parley_message"}"#)
    #expect(none["senderId"] == nil && none["senderName"] == nil)
  }

  @Test func theHeadersOfARequestToApple() {
    func headers(_ kind: PushNotice.Kind, _ device: PushDevice.Kind = .alert) -> [String: String] {
      Dictionary(
        APNs.headers(Self.notice(kind), Self.device(.apns, device), "org.example.chat", Self.now).map {
          ($0.name, $0.value)
        },
        uniquingKeysWith: { $1 })
    }
    let message = headers(.message)
    #expect(message["apns-topic"] == "org.example.chat" && message["apns-push-type"] == "alert")
    #expect(message["apns-priority"] == "10" && message["apns-expiration"] == "\(Self.now + 2_419_200)")
    #expect((message["apns-collapse-id"]?.utf8.count ?? 99) <= 64)
    #expect(UUID(uuidString: message["apns-id"] ?? "") != nil)
    let silent = headers(.silent)
    #expect(silent["apns-push-type"] == "background" && silent["apns-priority"] == "5")
    #expect(silent["apns-collapse-id"] == nil)
    let call = headers(.call, .voip)
    #expect(call["apns-topic"] == "org.example.chat.voip" && call["apns-push-type"] == "voip")
    #expect(call["apns-expiration"] == "\(Self.now + 60)")
  }

  @Test(arguments: [
    (200, "", PushOutcome.taken), (400, #"{"reason":"BadDeviceToken"}"#, .refused),
    (400, #"{"reason":"DeviceTokenNotForTopic"}"#, .refused), (400, #"{"reason":"BadPriority"}"#, .failed),
    (410, #"{"reason":"Unregistered","timestamp":1700000000001}"#, .refused),
    // It was nobody's before it was given anew.
    (410, #"{"reason":"Unregistered","timestamp":1699999999999}"#, .failed),
    (403, #"{"reason":"InvalidProviderToken"}"#, .unavailable(seconds: nil)),
    (404, #"{"reason":"BadPath"}"#, .failed), (404, "", .failed),
    (429, #"{"reason":"TooManyRequests"}"#, .unavailable(seconds: nil)),
    (500, "", .unavailable(seconds: 900)), (503, "{", .unavailable(seconds: 900)),
  ])
  func theAnswersOfApple(status: Int, body: String, outcome: PushOutcome) {
    let answer = WebAnswer(status: status, body: Array(body.utf8))
    #expect(APNs.outcome(of: answer, for: Self.device(.apns)).0 == outcome)
  }

  // MARK: Google

  @Test func thePayloadForGoogle() throws {
    let notice = Self.notice()
    let message = try #require(
      try json(FCM.message(notice, PushTexts(notice, .sender), to: Self.device(.fcm, token: "t")))["message"])
    #expect(message["token"]?.string == "t" && message["data"]?["unreadCount"]?.string == "3")
    let android = try #require(message["android"])
    #expect(android["priority"]?.string == "HIGH" && android["ttl"]?.string == "2419200s")
    #expect(android["collapse_key"] == android["notification"]?["tag"])
    #expect(android["notification"]?["title_loc_key"]?.string == "parley_from")
    #expect(android["notification"]?["title_loc_args"]?.text == #"["Romeo"]"#)
    #expect(android["notification"]?["body_loc_key"]?.string == "parley_message")
    let call = Self.notice(.call)
    let ring = try json(FCM.message(call, PushTexts(call, .sender), to: Self.device(.fcm)))["message"]
    #expect(ring?["android"]?["notification"] == nil && ring?["android"]?["ttl"]?.string == "60s")
    #expect(ring?["data"]?["type"]?.string == "call")
    let silent = Self.notice(.silent)
    let quiet = try json(FCM.message(silent, PushTexts(silent, .sender), to: Self.device(.fcm)))["message"]
    #expect(quiet?["android"]?["priority"]?.string == "NORMAL" && quiet?["data"]?["silent"]?.string == "true")
  }

  private static func error(_ status: String, _ code: String? = nil, field: String? = nil) -> String {
    let details = [
      field.map { #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#($0)"}]}"# },
      code.map { #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"# },
    ]
    return #"{"error":{"status":"\#(status)","details":[\#(details.compactMap { $0 }.joined(separator: ","))]}}"#
  }

  @Test(arguments: [
    (200, "{}", PushOutcome.taken), (404, error("NOT_FOUND", "UNREGISTERED"), .refused),
    (400, error("INVALID_ARGUMENT", "INVALID_ARGUMENT"), .refused),
    (400, error("INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.token"), .refused),
    // A field of ours, and not the token.
    (400, error("INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.android.ttl"), .failed),
    (400, error("INVALID_ARGUMENT"), .failed),
    // The operator's account belongs to another project.
    (403, error("PERMISSION_DENIED", "SENDER_ID_MISMATCH"), .failed),
    (403, error("PERMISSION_DENIED"), .unavailable(seconds: nil)),
    (429, error("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), .unavailable(seconds: 60)),
    (503, error("UNAVAILABLE", "UNAVAILABLE"), .unavailable(seconds: nil)), (401, "", .unavailable(seconds: nil)),
    (404, "", .unavailable(seconds: nil)),
  ])
  func theAnswersOfGoogle(status: Int, body: String, outcome: PushOutcome) {
    #expect(FCM.outcome(of: WebAnswer(status: status, body: Array(body.utf8))).0 == outcome)
  }

  @Test(arguments: [
    (201, PushOutcome.taken), (200, .taken), (404, .refused), (410, .refused), (429, .unavailable(seconds: 7)),
    (403, .failed), (413, .failed), (500, .failed),
  ])
  func theAnswersOfABrowsersService(status: Int, outcome: PushOutcome) {
    #expect(WebPush.outcome(of: WebAnswer(status: status, headers: [("retry-after", "7")])) == outcome)
  }

  @Test(arguments: [
    (204, PushOutcome.taken), (410, .refused), (404, .unavailable(seconds: nil)), (401, .unavailable(seconds: nil)),
    (500, .unavailable(seconds: nil)),
  ])
  func theAnswersOfAGateway(status: Int, outcome: PushOutcome) {
    #expect(Gateway.outcome(of: WebAnswer(status: status)) == outcome)
  }

  // MARK: The log
}
