/// The description by one side of a call of its media, as both protocols can say it: a browser's SDP (RFC 8829, 8866),
/// or the contents of a Jingle session (XEP-0167, XEP-0176).
///
/// Whatever only one protocol can say, and a call does without, is left out: simulcast, bandwidth, reduced RTCP, packet
/// times, TCP candidates, and hosts that are known only to the browser (`.local`). What a call needs is required: DTLS,
/// ICE, and audio or video.
///
///     let offer = try SessionDescription(sdp: text)
///     try offer.sdp(origin: 46117, answers: nil)
public struct SessionDescription: Hashable, Sendable {
  /// The groups of media that share one transport (RFC 8843, XEP-0338).
  public var bundles: [[String]] = []
  public var media: [Media] = []

  public init(bundles: [[String]] = [], media: [Media] = []) {
    self.bundles = bundles
    self.media = media
  }

  /// Returns the description, complete and within its bounds.
  func checked() throws(MediaProblem) -> SessionDescription {
    guard !media.isEmpty else {
      throw MediaProblem("media-missing", "The description has neither audio nor video.", .application)
    }
    guard media.count <= JingleLimits.mediaMax else {
      throw MediaProblem("too-many-media", "The description has more than \(JingleLimits.mediaMax) media.")
    }
    guard Set(media.map(\.name)).count == media.count else {
      throw MediaProblem("value-invalid", "Two media have the same name.")
    }
    for each in media { try each.check() }
    return self
  }

  subscript(name: String) -> Media? { media.first { $0.name == name } }

  /// Returns the description as the answer to an offer: its media in the offer's order, and nothing that was not
  /// offered.
  func answering(_ offer: SessionDescription) throws(MediaProblem) -> SessionDescription {
    if let other = media.first(where: { offer[$0.name]?.kind != $0.kind }) {
      throw MediaProblem("media-not-offered", "The answer has the medium \(other.name), which was not offered.")
    }
    if let open = media.first(where: { $0.transport.fingerprint.setup == .actpass }) {
      throw MediaProblem(
        "setup-invalid", "The answer leaves open who begins DTLS in the medium \(open.name).", .security)
    }
    return SessionDescription(bundles: bundles, media: offer.media.compactMap { self[$0.name] })
  }
}

/// One medium of a call: an `m=` section, or a `<content/>`.
public struct Media: Hashable, Sendable {
  public enum Kind: String, Sendable, CaseIterable { case audio, video }

  /// The sides that send, as seen from the side that describes.
  public enum Direction: String, Sendable, CaseIterable {
    case both = "sendrecv"
    case sends = "sendonly"
    case receives = "recvonly"
    case none = "inactive"
  }

  public struct Parameter: Hashable, Sendable {
    public var name: String
    public var value: String
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Feedback by RTCP (RFC 4585, XEP-0293), such as `nack pli`.
  public struct Feedback: Hashable, Sendable {
    public var type: String
    public var subtype: String?
  }

  /// A payload type: `a=rtpmap` with its `a=fmtp`, or `<payload-type/>`.
  public struct Payload: Hashable, Sendable {
    public var id: UInt8
    /// The name of the codec; `nil` for a static type that is not named (RFC 3551).
    public var name: String?
    public var clockRate: UInt32?
    public var channels: UInt8?
    public var parameters: [Parameter] = []
    public var feedback: [Feedback] = []
  }

  /// A header extension (RFC 8285, XEP-0294).
  public struct Extension: Hashable, Sendable {
    public var id: UInt16
    public var uri: String
    public var direction: Direction?
  }

  /// A source of RTP (RFC 5576, XEP-0339).
  public struct Source: Hashable, Sendable {
    public var ssrc: UInt32
    public var parameters: [Parameter] = []
  }

  /// Sources that belong together (RFC 5576 4.2), such as a stream and its retransmissions: `FID`.
  public struct SourceGroup: Hashable, Sendable {
    public var semantics: String
    public var sources: [UInt32]
  }

  /// The name: `a=mid` (RFC 5888), or the content's `name`.
  public var name: String
  public var kind: Kind
  public var direction = Direction.both
  public var payloads: [Payload] = []
  /// The feedback of all payload types.
  public var feedback: [Feedback] = []
  public var extensions: [Extension] = []
  /// Whether extensions of one and two bytes may be mixed (RFC 8285 6).
  public var mixesExtensions = false
  public var sources: [Source] = []
  public var sourceGroups: [SourceGroup] = []
  /// Whether RTCP shares the port of RTP (RFC 5761).
  public var isMultiplexed = false
  public var transport: Transport

  fileprivate func check() throws(MediaProblem) {
    guard !payloads.isEmpty else {
      throw MediaProblem("payload-missing", "The medium \(name) has no payload type.", .application)
    }
    guard isMultiplexed else {
      throw MediaProblem(
        "mux-missing", "The medium \(name) has a port of its own for RTCP: browsers want it with RTP (RFC 8858).",
        .transport)
    }
    _ = try payloads.bounded("payload types")
    _ = try extensions.bounded("header extensions")
    _ = try sources.bounded("sources")
    _ = try sourceGroups.bounded("groups of sources")
    _ = try transport.candidates.bounded("candidates")
    for payload in payloads { _ = try payload.parameters.bounded("parameters of a payload type") }
  }
}

/// The transport of a medium: ICE (RFC 8445, XEP-0176), and DTLS (RFC 8842, XEP-0320).
public struct Transport: Hashable, Sendable {
  public struct Fingerprint: Hashable, Sendable {
    /// The side that begins DTLS (RFC 4145 4).
    public enum Setup: String, Sendable { case active, passive, actpass }
    /// The hash function, such as `sha-256`.
    public var hash: String
    public var value: String
    public var setup: Setup
  }
  public var ufrag: String
  public var password: String
  public var fingerprint: Fingerprint
  public var candidates: [Candidate] = []
}
