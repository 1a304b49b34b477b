/// The namespaces of the protocol layer, sorted by constant, with the documents that define them.
public enum NS {
  /// XEP-0033.
  public static let address: StaticString = "http://jabber.org/protocol/address"
  /// XEP-0133.
  public static let admin: StaticString = "http://jabber.org/protocol/admin"
  /// XEP-0398.
  public static let avatarConversion: StaticString = "urn:xmpp:pep-vcard-conversion:0"
  /// XEP-0084.
  public static let avatarData: StaticString = "urn:xmpp:avatar:data"
  /// XEP-0084.
  public static let avatarMetadata: StaticString = "urn:xmpp:avatar:metadata"
  /// RFC 6120 7.
  public static let bind: StaticString = "urn:ietf:params:xml:ns:xmpp-bind"
  /// XEP-0386.
  public static let bind2: StaticString = "urn:xmpp:bind:0"
  /// XEP-0288.
  public static let bidi: StaticString = "urn:xmpp:bidi"
  /// XEP-0288 2.1: the stream feature.
  public static let bidiFeature: StaticString = "urn:xmpp:features:bidi"
  /// XEP-0191.
  public static let blocking: StaticString = "urn:xmpp:blocking"
  /// XEP-0231.
  public static let bob: StaticString = "urn:xmpp:bob"
  /// XEP-0402.
  public static let bookmarks: StaticString = "urn:xmpp:bookmarks:1"
  /// XEP-0402, as old bookmark storage (XEP-0048) sees it.
  public static let bookmarksCompatibility: StaticString = "urn:xmpp:bookmarks:1#compat"
  /// XEP-0402, as the PEP node of XEP-0048 sees it.
  public static let bookmarksPEPCompatibility: StaticString = "urn:xmpp:bookmarks:1#compat-pep"
  /// XEP-0411.
  public static let bookmarksConversion: StaticString = "urn:xmpp:bookmarks-conversion:0"
  /// Whether the bookmark is pinned (XEP-0469).
  public static let bookmarksPinning: StaticString = "urn:xmpp:bookmarks-pinning:0"
  /// XEP-0048.
  public static let bookmarkStorage: StaticString = "storage:bookmarks"
  /// XEP-0065.
  public static let bytestreams: StaticString = "http://jabber.org/protocol/bytestreams"
  /// XEP-0482.
  public static let callInvites: StaticString = "urn:xmpp:call-invites:0"
  /// XEP-0115.
  public static let caps: StaticString = "http://jabber.org/protocol/caps"
  /// XEP-0280.
  public static let carbons: StaticString = "urn:xmpp:carbons:2"
  /// XEP-0440.
  public static let channelBinding: StaticString = "urn:xmpp:sasl-cb:0"
  /// XEP-0433.
  public static let channelSearch: StaticString = "urn:xmpp:channel-search:0:search"
  /// XEP-0433 4.2: its error conditions.
  public static let channelSearchError: StaticString = "urn:xmpp:channel-search:0:error"
  /// XEP-0433 4.2: a type of form.
  public static let channelSearchParameters: StaticString = "urn:xmpp:channel-search:0:search-params"
  /// XEP-0085.
  public static let chatStates: StaticString = "http://jabber.org/protocol/chatstates"
  /// RFC 6120 4.8.2: content of client-to-server streams.
  public static let client: StaticString = "jabber:client"
  /// XEP-0050.
  public static let commands: StaticString = "http://jabber.org/protocol/commands"
  /// XEP-0114.
  public static let component: StaticString = "jabber:component:accept"
  /// XEP-0249.
  public static let conference: StaticString = "jabber:x:conference"
  /// XEP-0308.
  public static let correction: StaticString = "urn:xmpp:message-correct:0"
  /// XEP-0352.
  public static let csi: StaticString = "urn:xmpp:csi:0"
  /// XEP-0004.
  public static let dataForm: StaticString = "jabber:x:data"
  /// XEP-0122.
  public static let dataFormValidation: StaticString = "http://jabber.org/protocol/xdata-validate"
  /// XEP-0203.
  public static let delay: StaticString = "urn:xmpp:delay"
  /// XEP-0355.
  public static let delegation: StaticString = "urn:xmpp:delegation:2"
  /// XEP-0220.
  public static let dialback: StaticString = "jabber:server:dialback"
  /// XEP-0220 2.4.2: the stream feature.
  public static let dialbackFeature: StaticString = "urn:xmpp:features:dialback"
  /// XEP-0030.
  public static let discoInfo: StaticString = "http://jabber.org/protocol/disco#info"
  /// XEP-0030.
  public static let discoItems: StaticString = "http://jabber.org/protocol/disco#items"
  /// XEP-0205: application conditions of errors.
  public static let errors: StaticString = "urn:xmpp:errors"
  /// XEP-0380.
  public static let encryption: StaticString = "urn:xmpp:eme:0"
  /// XEP-0215.
  public static let externalServices: StaticString = "urn:xmpp:extdisco:2"
  /// XEP-0428.
  public static let fallback: StaticString = "urn:xmpp:fallback:0"
  /// XEP-0484.
  public static let fast: StaticString = "urn:xmpp:fast:0"
  /// XEP-0422.
  public static let fastening: StaticString = "urn:xmpp:fasten:0"
  /// XEP-0446.
  public static let fileMetadata: StaticString = "urn:xmpp:file:metadata:0"
  public static let thumbnails: StaticString = "urn:xmpp:thumbs:1"
  /// XEP-0297.
  public static let forward: StaticString = "urn:xmpp:forward:0"
  /// RFC 7395 3.3.2.
  public static let framing: StaticString = "urn:ietf:params:xml:ns:xmpp-framing"
  /// XEP-0300.
  public static let hashes: StaticString = "urn:xmpp:hashes:2"
  /// XEP-0317.
  public static let hats: StaticString = "urn:xmpp:hats:0"
  /// XEP-0334.
  public static let hints: StaticString = "urn:xmpp:hints"
  /// XEP-0124.
  public static let httpBind: StaticString = "http://jabber.org/protocol/httpbind"
  /// XEP-0319.
  public static let idle: StaticString = "urn:xmpp:idle:1"
  /// XEP-0445: the stream feature.
  public static let ibrToken: StaticString = "urn:xmpp:ibr-token:0"
  /// XEP-0430.
  public static let inbox: StaticString = "urn:xmpp:inbox:1"
  /// XEP-0166.
  public static let jingle: StaticString = "urn:xmpp:jingle:1"
  /// XEP-0353.
  public static let jingleMessage: StaticString = "urn:xmpp:jingle-message:0"
  /// XEP-0012.
  public static let lastActivity: StaticString = "jabber:iq:last"
  /// XEP-0478.
  public static let limits: StaticString = "urn:xmpp:stream-limits:0"
  /// XEP-0313.
  public static let mam: StaticString = "urn:xmpp:mam:2"
  /// XEP-0313 4.1.5.
  public static let mamExtended: StaticString = "urn:xmpp:mam:2#extended"
  /// XEP-0333.
  public static let markers: StaticString = "urn:xmpp:chat-markers:0"
  /// XEP-0490.
  public static let mds: StaticString = "urn:xmpp:mds:displayed:0"
  /// XEP-0490.
  public static let mdsAssist: StaticString = "urn:xmpp:mds:server-assist:0"
  /// XEP-0425.
  public static let moderation: StaticString = "urn:xmpp:message-moderate:1"
  /// XEP-0045.
  public static let muc: StaticString = "http://jabber.org/protocol/muc"
  /// XEP-0045.
  public static let mucAdmin: StaticString = "http://jabber.org/protocol/muc#admin"
  /// XEP-0463.
  public static let mucAffiliations: StaticString = "urn:xmpp:muc:affiliations:1"
  /// XEP-0045.
  public static let mucOwner: StaticString = "http://jabber.org/protocol/muc#owner"
  /// XEP-0045 16.5.1: a type of form, and the feature of that name.
  public static let mucRegister: StaticString = "http://jabber.org/protocol/muc#register"
  /// XEP-0045 16.5.2: a type of form.
  public static let mucRequest: StaticString = "http://jabber.org/protocol/muc#request"
  /// XEP-0045 16.5.3: a type of form.
  public static let mucRoomConfig: StaticString = "http://jabber.org/protocol/muc#roomconfig"
  /// XEP-0045 16.5.4: a type of form.
  public static let mucRoomInfo: StaticString = "http://jabber.org/protocol/muc#roominfo"
  /// XEP-0045 16.3: a feature.
  public static let mucStableID: StaticString = "http://jabber.org/protocol/muc#stable_id"
  /// XEP-0045 before version 1.25: unique room names, which old clients still request.
  public static let mucUnique: StaticString = "http://jabber.org/protocol/muc#unique"
  /// XEP-0045.
  public static let mucUser: StaticString = "http://jabber.org/protocol/muc#user"
  /// XEP-0172.
  public static let nick: StaticString = "http://jabber.org/protocol/nick"
  /// XEP-0492.
  public static let notificationSettings: StaticString = "urn:xmpp:notification-settings:1"
  /// XEP-0421.
  public static let occupantID: StaticString = "urn:xmpp:occupant-id:0"
  /// XEP-0384.
  public static let omemo: StaticString = "urn:xmpp:omemo:2"
  /// XEP-0384 before version 0.4, which most clients still use.
  public static let omemoLegacy: StaticString = "eu.siacs.conversations.axolotl"
  /// XEP-0066.
  public static let oob: StaticString = "jabber:x:oob"
  /// XEP-0379.
  public static let parting: StaticString = "urn:xmpp:pars:0"
  /// XEP-0199.
  public static let ping: StaticString = "urn:xmpp:ping"
  /// RFC 6121 3.4.
  public static let preApproval: StaticString = "urn:xmpp:features:pre-approval"
  /// XEP-0049.
  public static let privateStorage: StaticString = "jabber:iq:private"
  /// XEP-0356.
  public static let privilege: StaticString = "urn:xmpp:privilege:2"
  /// XEP-0060.
  public static let pubsub: StaticString = "http://jabber.org/protocol/pubsub"
  /// XEP-0060.
  public static let pubsubErrors: StaticString = "http://jabber.org/protocol/pubsub#errors"
  /// XEP-0060.
  public static let pubsubEvent: StaticString = "http://jabber.org/protocol/pubsub#event"
  /// XEP-0060.
  public static let pubsubOwner: StaticString = "http://jabber.org/protocol/pubsub#owner"
  /// XEP-0060 7.1.5.
  public static let pubsubPublishOptions: StaticString = "http://jabber.org/protocol/pubsub#publish-options"
  /// XEP-0357.
  public static let push: StaticString = "urn:xmpp:push:0"
  /// XEP-0444.
  public static let reactions: StaticString = "urn:xmpp:reactions:0"
  /// XEP-0372.
  public static let references: StaticString = "urn:xmpp:reference:0"
  /// XEP-0184.
  public static let receipts: StaticString = "urn:xmpp:receipts"
  /// XEP-0372.
  public static let reference: StaticString = "urn:xmpp:reference:0"
  /// XEP-0077.
  public static let register: StaticString = "jabber:iq:register"
  /// XEP-0077 8: the stream feature.
  public static let registerFeature: StaticString = "http://jabber.org/features/iq-register"
  /// XEP-0461.
  public static let reply: StaticString = "urn:xmpp:reply:0"
  /// XEP-0377.
  public static let reporting: StaticString = "urn:xmpp:reporting:1"
  /// XEP-0059.
  public static let resultSet: StaticString = "http://jabber.org/protocol/rsm"
  /// XEP-0424.
  public static let retraction: StaticString = "urn:xmpp:message-retract:1"
  /// XEP-0424 before version 0.4.
  public static let retractionFastened: StaticString = "urn:xmpp:message-retract:0"
  /// RFC 6121 2.
  public static let roster: StaticString = "jabber:iq:roster"
  /// RFC 6121 2.6.
  public static let rosterVersioning: StaticString = "urn:xmpp:features:rosterver"
  /// RFC 6120 6.
  public static let sasl: StaticString = "urn:ietf:params:xml:ns:xmpp-sasl"
  /// XEP-0388.
  public static let sasl2: StaticString = "urn:xmpp:sasl:2"
  /// XEP-0480.
  public static let saslUpgrade: StaticString = "urn:xmpp:sasl:upgrade:0"
  /// XEP-0480 3.
  public static let scramUpgrade: StaticString = "urn:xmpp:scram-upgrade:0"
  /// XEP-0494.
  public static let clientAccess: StaticString = "urn:xmpp:cam:0"
  /// XEP-0055.
  public static let search: StaticString = "jabber:iq:search"
  /// RFC 6120 4.8.2: content of server-to-server streams.
  public static let server: StaticString = "jabber:server"
  /// RFC 3921 3: the session request that modern servers answer and ignore.
  public static let session: StaticString = "urn:ietf:params:xml:ns:xmpp-session"
  /// XEP-0447.
  public static let sfs: StaticString = "urn:xmpp:sfs:0"
  /// XEP-0359.
  public static let stanzaID: StaticString = "urn:xmpp:sid:0"
  /// RFC 6120 8.3.
  public static let stanzas: StaticString = "urn:ietf:params:xml:ns:xmpp-stanzas"
  /// RFC 6120 4.9.
  public static let streamErrors: StaticString = "urn:ietf:params:xml:ns:xmpp-streams"
  /// XEP-0198.
  public static let streamManagement: StaticString = "urn:xmpp:sm:3"
  /// RFC 6120 4.8.1.
  public static let streams: StaticString = "http://etherx.jabber.org/streams"
  /// XEP-0202.
  public static let time: StaticString = "urn:xmpp:time"
  /// RFC 6120 5.
  public static let tls: StaticString = "urn:ietf:params:xml:ns:xmpp-tls"
  /// XEP-0363.
  public static let upload: StaticString = "urn:xmpp:http:upload:0"
  /// XEP-0363 6.
  public static let uploadPurpose: StaticString = "urn:xmpp:http:upload:purpose:0"
  /// XEP-0054.
  public static let vCard: StaticString = "vcard-temp"
  /// XEP-0292.
  public static let vCard4: StaticString = "urn:ietf:params:xml:ns:vcard-4.0"
  /// XEP-0153.
  public static let vCardUpdate: StaticString = "vcard-temp:x:update"
  public static let accountAffiliations: StaticString = "urn:xmpp:raa:0"
  /// XEP-0092.
  public static let version: StaticString = "jabber:iq:version"
  /// XEP-0206.
  public static let xbosh: StaticString = "urn:xmpp:xbosh"
  /// The prefix `xml` of XML itself.
  public static let xml: StaticString = "http://www.w3.org/XML/1998/namespace"
}
