import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The list of all features, in the order in which `docs/xeps.md` shows them. A feature that is not listed here is not
/// served.
enum Features {
  static let all: [any Feature.Type] = [
    SessionEstablishment.self,
    // What the server is
    Disco.self,
    EntityCapabilities.self,
    SoftwareVersion.self,
    EntityTime.self,
    Ping.self,
    LastActivity.self,
    AdHocCommands.self,
    Announcements.self,
    ContactAddresses.self,
    OutageStatus.self,
    ExternalServiceDiscovery.self,
    InBandRegistration.self,
    UserSearch.self,
    NamespaceDelegation.self,
    PrivilegedEntity.self,
    // The user's own
    ClientAccess.self,
    Roster.self,
    Blocking.self,
    Reporting.self,
    AccountAffiliations.self,
    VCard.self,
    AvatarHash.self,
    UserAvatar.self,
    AvatarConversion.self,
    UserNickname.self,
    VCard4.self,
    Archive.self,
    FullTextSearch.self,
    ArchivePreferencesCommand.self,
    ConversationInbox.self,
    Carbons.self,
    ClientState.self,
    PushNotifications.self,
    // What the user publishes
    PubsubService.self,
    PEP.self,
    Bookmarks.self,
    BookmarkPinning.self,
    NotificationSettings.self,
    BookmarkStorage.self,
    BookmarkConversion.self,
    DisplayedSync.self,
    PrivateStorage.self,
    // Messages
    StanzaIDs.self,
    Delay.self,
    Receipts.self,
    Markers.self,
    ChatStates.self,
    Hints.self,
    JSONContainers.self,
    OfflineMessages.self,
    JingleMessages.self,
    JingleSessions.self,
    Corrections.self,
    Reactions.self,
    Replies.self,
    Fallbacks.self,
    Retractions.self,
    Mentions.self,
    // Files
    Uploads.self,
    OutOfBand.self,
    FileSharing.self,
    Geolocation.self,
    // Rooms
    MultiUserChat.self,
    UniqueRoomNames.self,
    DirectInvitations.self,
    Hats.self,
    SelfPing.self,
    OccupantIDs.self,
    MemberListVersions.self,
    RoomVCard.self,
    Moderation.self,
    SlowMode.self,
    RoomActivity.self,
    ExtendedChannelSearch.self,
  ]

  static func table() -> FeatureTable {
    var table = FeatureTable()
    for (index, feature) in all.enumerated() {
      table.registrant = index
      feature.init().register(in: &table)
    }
    return table
  }

  /// Returns the table with the features that the configuration adds.
  static func table(_ parley: Parley, _ options: DoorContext.Options) -> FeatureTable {
    var table = table()
    for (index, feature) in all.enumerated() {
      table.registrant = index
      feature.offer(in: &table, parley, options)
    }
    return table
  }

  /// Returns the stream features that are offered beside TLS, SASL and binding.
  ///
  /// - Parameters:
  ///   - registers: whether anyone may register an account.
  ///   - hasCapabilities: whether the server's disco#info never changes (XEP-0115 6.3).
  static func streamFeatures(
    _ table: FeatureTable, _ authentication: AuthenticationPolicy, registers: Bool = false,
    hasCapabilities: Bool = true
  ) -> [StreamFeature] {
    let needsTLS = !authentication.allowsUnsecured
    let registration: [StreamFeature] = registers ? [.registration(needsTLS: needsTLS)] : []
    // A silent client is asked for a sign of life first, then disconnected (XEP-0478 3.1).
    let idle = Int(DoorLimits.silence.nanoseconds / 1_000_000_000)
    let inline = [
      StreamFeature.inlineBind(table.inlineFeatures + ["\(NS.streamManagement)"]), Element(.streamManagement),
    ]
    let offers = StreamFeature.authentication(authentication, inline: inline)
    return StreamFeature.offeringTokens(offers, authentication) + registration + [
      .invitedRegistration(needsTLS: needsTLS),
      .streamManagement,
      .rosterVersioning,
      .preApproval,
      .clientState,
      .limits(
        maxBytes: ReaderLimits.unauthenticated.stanzaBytes, idleSeconds: nil, needs: [], forbids: .authenticated),
      .limits(maxBytes: ReaderLimits.authenticated.stanzaBytes, idleSeconds: idle, needs: .authenticated),
    ] + (hasCapabilities ? [EntityCapabilities.streamFeature(table)] : [])
  }

  /// The specifications that are implemented in the stream, the protocol library or the core rather than in a feature.
  static let elsewhere: [XEP] = [
    XEP(
      0, "", "RFC 6120: streams, TLS, SASL, stanzas",
      note: """
        With other servers if `federation.enabled` is true, which is not the default. The language of a stanza that asks \
        for a subscription or answers to that is written at its `<status/>` (8.1.5).
        """),
    XEP(
      0, "", "RFC 6121 3, 4, 8: subscriptions with pre-approval, presence, delivery",
      note: """
        Requests for subscriptions are not answered with unavailable presence, presence has no `<delay/>`, and messages \
        without content are not bounced. Probes of accounts that do not exist are not answered.
        """),
    XEP(
      0, "", "RFC 7395: XMPP over WebSocket",
      note: "`/xmpp-websocket` on the HTTP port. No channel binding and no see-other-uri."),
    XEP(0, "", "RFC 7590: TLS"),
    XEP(
      0, "", "RFC 7622: addresses (PRECIS)",
      note: """
        Characters of resources and nicknames that show nothing are removed, not refused \
        ([decision 0030](decisions/0030-own-precis.md)). A room refuses copies of nicks by the skeletons of UTS #39 \
        ([decision 0048](decisions/0048-nicks-that-look-alike.md)).
        """),
    XEP(4, "2.13.2", "Data Forms", note: "A form without `type` counts as submitted."),
    XEP(59, "1.0", "Result Set Management", note: "Counts only for the items of a node. No index attributes."),
    XEP(82, "", "XMPP Date and Time Profiles", note: "DateTime."),
    XEP(86, "1.0", "Error Condition Mappings", note: "Numbers are written, never read."),
    XEP(
      106, "1.1.1", "JID Escaping",
      note: "Escaped addresses are compared and routed as they are (5.1). The server escapes and unescapes none."),
    XEP(
      114, "1.6", "Jabber Component Protocol",
      note: "Only `jabber:component:accept`. Users of components cannot create rooms."),
    XEP(
      124, "1.11.2", "BOSH",
      note: """
        `/http-bind` on the HTTP port. One stream per session, no compression, always `text/xml`, no report (9.2).
        """),
    XEP(
      156, "1.4.0", "Discovering Alternative XMPP Connection Methods", note: "If the HTTP port is reachable over TLS."),
    XEP(
      158, "1.0.1", "CAPTCHA Forms",
      note: """
        In registration (4), with the challenge `SHA-256` (6.2) alone, if `signup.proof` is true. The form is in the error of a \
        registration without a proof (as in XEP-0077 3.3): the reply to `get` is the sign-up page, which Gajim and \
        Conversations show only if there is no form. The proof has the id of the challenge behind the server's address: \
        otherwise a table with one proof for each label would do for all challenges.
        """),
    XEP(167, "1.2.3", "Jingle RTP Sessions", note: "Audio and video, in calls between a client and an app (XEP-0166)."),
    XEP(
      175, "1.2", "Best Practices for Use of SASL ANONYMOUS",
      note: "On the domains in `guests.domains`. A guest's session cannot be resumed."),
    XEP(
      176, "1.1.1", "Jingle ICE-UDP Transport Method",
      note: "With an app (XEP-0166). No restart of the transport, and no candidates over TCP (XEP-0371)."),
    XEP(
      178, "1.2", "Best Practices for Use of SASL EXTERNAL with Certificates",
      note: "Between servers. Clients do not log in by certificate."),
    XEP(185, "1.0", "Dialback Key Generation and Validation"),
    XEP(
      198, "1.6.3", "Stream Management",
      note: """
        Acknowledgement and resumption, also after a graceful restart. Between servers without resumption: what is not \
        acknowledged is sent again.
        """),
    XEP(206, "1.4", "XMPP Over BOSH", note: "Every stanza has its namespace."),
    XEP(
      220, "1.1.1", "Server Dialback",
      note: """
        Over TLS only. Always asked and answered, and believed of domains in `federation.unverified`, or of all with \
        `federation.verify: dialback`.
        """),
    XEP(222, "1.0", "Persistent Storage of Public Data via PubSub"),
    XEP(223, "1.1.1", "Persistent Storage of Private Data via PubSub"),
    XEP(
      227, "1.1", "Portable Import/Export Format for XMPP-IM Servers",
      note: """
        By commands. Not taken: subscriptions of nodes, and privacy lists other than what the default one blocks by \
        address. Written without rooms' private messages. Rooms are out of its scope (2): they come with an import from \
        Prosody or ejabberd.
        """),
    XEP(
      288, "1.0.1", "Bidirectional Server-to-Server Connections",
      note: "Only for the pair of domains for which the stream was opened."),
    XEP(293, "1.0.2", "Jingle RTP Feedback Negotiation", note: "With an app (XEP-0166). No `rtcp-fb-trr-int`."),
    XEP(294, "1.1.2", "Jingle RTP Header Extensions Negotiation", note: "With an app (XEP-0166). No parameters."),
    XEP(297, "1.0", "Stanza Forwarding", note: "In carbons and archive results."),
    XEP(300, "1.0.0", "Use of Cryptographic Hash Functions in XMPP", note: "SHA-256, for files."),
    XEP(320, "1.0.0", "Use of DTLS-SRTP in Jingle Sessions", note: "With an app (XEP-0166), and required there."),
    XEP(338, "1.0.0", "Jingle Grouping Framework", note: "With an app (XEP-0166): BUNDLE."),
    XEP(339, "1.0.1", "Source-Specific Media Attributes in Jingle", note: "With an app (XEP-0166)."),
    XEP(
      344, "0.4", "Impact of TLS and DNSSEC on Dialback",
      note: "A domain that a certificate proves is not called back."),
    XEP(
      368, "1.1.0", "SRV records for XMPP over TLS",
      note: "Direct TLS, with clients and with servers. The operator publishes the records."),
    XEP(
      379, "0.3.3", "Pre-Authenticated Roster Subscription",
      note: "Tokens that the server has created. Others are forwarded unchanged."),
    XEP(386, "1.1.0", "Bind 2", note: "With stream management, carbons and client state."),
    XEP(388, "1.0.4", "Extensible SASL Profile", note: "With the tasks of XEP-0480."),
    XEP(401, "0.6.0", "Ad-hoc Account Invitation Generation"),
    XEP(426, "0.3.0", "Character counting in message bodies", note: "Characters are counted as Unicode code points."),
    XEP(
      440, "1.0.0", "SASL Channel-Binding Type Capability",
      note: """
        tls-server-end-point, and tls-exporter over TLS 1.3. The mechanisms with channel binding (`-PLUS`) are offered in \
        XEP-0388 only: behind them older clients fall back to PLAIN. If somebody in between has a certificate that the \
        client accepts, and hides XEP-0388, XEP-0474 shows it; the flag `y` of SCRAM (RFC 5802 6) does not.
        """),
    XEP(445, "0.2.0", "Pre-Authenticated In-Band Registration"),
    XEP(446, "0.2.0", "File metadata element", note: "In XEP-0447."),
    XEP(474, "0.5.0", "SASL SCRAM Downgrade Protection"),
    XEP(478, "0.2.0", "Stream Limits Advertisement", note: "With clients and with servers."),
    XEP(480, "0.2.0", "SASL Upgrade Tasks", note: "To SCRAM-SHA-256 and SCRAM-SHA-512, after a login by SCRAM."),
    XEP(
      484, "0.2.0", "Fast Authentication Streamlining Tokens",
      note: "With HT-SHA-256-NONE, -ENDP and -EXPR. Not in TLS early data."),
    XEP(
      0, "", "RFC 7628: OAUTHBEARER",
      note: "With the access tokens of the app protocol. Offered in XEP-0388 only, accepted in SASL of RFC 6120 too."),
    XEP(
      487, "0.1.0", "Host Meta 2: One Method To Rule Them All",
      note: "If `http.addresses` is set. No keys and no ECH."),
  ]
}
