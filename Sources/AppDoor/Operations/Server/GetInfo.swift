import Accounts
import Dialogs
import HTTPPort

/// Returns the features of this server, for anyone.
enum GetInfo: ServedOperation {
  typealias Input = NoInput
  typealias Output = InfoBody
  static let name = "info.get"
  static let method = Method.get
  static let path = "/v1/info"
  static let needsCaller = false

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<InfoBody> {
    let settings = call.door.settings
    let base = call.publicURL
    let verifier = call.accounts.options.signIn.verifier
    // http becomes ws, https becomes wss.
    let address = base.hasPrefix("http") ? "ws" + base.dropFirst(4) : base
    return .ok(
      InfoBody(
        server: "parley", version: settings.version, protocols: ["v1"], domain: call.realm.domain,
        features: call.door.features + (settings.registration ? ["registration"] : [])
          + (call.parley.options.allowsInvitations ? ["invitations"] : []),
        grants: SignIns.all.filter { $0.isOffered(call) }.map { $0.grant },
        providers: verifier?.providers(of: call.realm.domain) ?? [],
        authorizationEndpoints: (verifier?.authorizationEndpoints(of: call.realm.domain) ?? []).map {
          InfoBody.Authorization(
            provider: $0.provider, url: $0.url, clientId: $0.clientID, scope: $0.scope, redirectUris: $0.redirectURIs)
        },
        registration: settings.registration,
        webSocketUrl: (address.hasSuffix("/") ? String(address.dropLast()) : address) + webSocketPath,
        limits: InfoBody.Bounds(
          textCharacters: Limits.textCharactersMax, messageBytes: Limits.appMessageBytesMax,
          metadataBytes: Limits.metadataBytesMax, pageItems: Limits.pageMax, syncEvents: Limits.feedPageMax,
          syncWaitSeconds: AppLimits.syncWaitSecondsMax,
          attachmentBytes: call.parley.blobs?.policy.bytesMax ?? 0),
        pushProviders: call.parley.options.pushes.providers.map(\.rawValue).sorted(),
        webPushKey: call.parley.options.pushes.webPushKey, termsUrl: settings.termsURL))
  }
}
