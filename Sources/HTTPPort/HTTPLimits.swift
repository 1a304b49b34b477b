import NIOCore

/// The bounds of the port, each with its reason and the behaviour when it is reached. The sites bound bodies and
/// messages.
package enum HTTPLimits {
  /// The maximum number of open connections without a login, of all ports of clients together: a browser keeps some for a
  /// minute, and each costs some kilobytes; a quarter of the limit of open files, if that is less. At the bound the network
  /// with the most of them loses its oldest to each new connection. WebSockets of logged-in users do not count, nor do
  /// connections while a request of a logged-in user is under way whose body is complete or arrives at `bodyBytesPerSecond`.
  static let unauthenticatedMax = 65_536
  /// The time for which a port stops accepting when there are no descriptors for a connection: short for a waiting client,
  /// and ten attempts a second cost nothing.
  static let acceptPause: TimeAmount = .milliseconds(100)
  /// The interval in which the log has one line for each reason of such pauses.
  static let acceptPauseLog: Duration = .seconds(60)
  /// The TLS handshakes that one network may begin at once at all ports of XMPP together, and then per second; further ones
  /// are queued. 2,000 people behind one address can reconnect at once after a restart, with three connections each within 40 s;
  /// an attacker takes a second of a core at first, then a twentieth of it. Connections without TLS have separate limits of the
  /// same numbers, as they cost about as much: each has 64 elements before a login
  /// (`DoorLimits.elementsBeforeSessionMax`), and short ones take three to ten microseconds each. The longest ones have 10 KiB,
  /// for which the attacker sends 65 MB a second.
  static let handshakesAtOnce = 2_000
  static let handshakesPerSecond = 100
  /// The HTTP connections that one network may begin at once at all ports together, and beyond them in a second, as connections
  /// that a client keeps are few; further ones wait for their turn. 2,000 people behind one address are back within 10 s of a restart,
  /// with three connections each within 30 s; and an attacker, whose connections cost half a millisecond of a core with a request,
  /// takes a twentieth of a second of it at first, then a tenth of it. Three times as many at once would take a seventh of a second.
  static let connectionsAtOnce = 100
  static let connectionsPerSecond = 200
  /// The HTTP requests that one network may make at once at all ports together, and beyond them in a second; further ones wait for
  /// their turn, and their connections are not read meanwhile. Those of logged-in users and of keys that are not refused for their
  /// rates do not count once they are answered. 2,000 people behind one address begin the connections that they need within 30 s
  /// (`connectionsPerSecond`), and may make five requests by each of them in that time; and if they all make one at the same moment, on
  /// connections that they have kept, the last one waits for two seconds. An attacker, whose requests cost a tenth of a millisecond of a
  /// core, takes 30 ms of it at first, then a tenth of it in pieces of a request: 2,000 at the same moment would delay others by 100 ms to
  /// 300 ms, as often as they may come again. One that would wait longer than `idle` has its connection closed.
  static let requestsAtOnce = 300
  static let requestsPerSecond = 1_000
  /// The bytes that are kept of a connection while its request is not answered or is queued: two reads of a socket, since reading
  /// pauses after the first one and TLS may add a partial record. More arrives only from a client that has closed its half, whose input
  /// is read to its end: its connection is closed. Bytes beyond `headerBytesMax`, which any connection may have sent of a head, count
  /// in the memory without a login.
  static let keptBytesMax = 131_072
  /// The minimum bytes of a chunked body that are decoded at once, so that a body that looks like its end at every byte costs
  /// little. If the body ends earlier, these bytes may contain up to 14 requests, which are decoded with it.
  static let chunkedBytesLeast = 256
  /// The interval in which the log has one line for each network that waits.
  static let paceLog: Duration = .seconds(60)
  /// The maximum bytes that TLS encrypts at once on all ports, and the maximum overhead of a record. NIOSSL keeps a buffer of the size
  /// of the longest output for the life of a connection: with these bytes, which fit into one record with its overhead, the buffer keeps
  /// its initial 16 KiB. With 60 KiB at once the sessions of a flooded room kept 64 KiB each. Longer output is flushed in parts, each
  /// with a system call: the kernel takes 128 KiB at once (`UnsentBytes`).
  static let tlsPartBytes = 15_360
  static let tlsRecordBytes = 64
  /// The maximum bytes of a header of the PROXY protocol at the XMPP ports: the specification requires 536 (section 2), and extensions
  /// with the name in a client's certificate may need more; `proxy-header-too-long` beyond it.
  static let proxyHeaderBytesMax = 2_048
  /// The time for this header, in addition to the time until the login: a proxy sends it with its connection, and the specification
  /// requires at least three seconds for one TCP retransmission. Then the connection is closed (`proxy-header-late`).
  static let proxyHeader: TimeAmount = .seconds(5)
  /// The connections of trusted proxies whose header has not arrived yet: as many as people who reconnect at once after a restart, and
  /// fewer if the limit of open files is low. At the bound the oldest of the proxy with the most is closed for a new one.
  static let proxyHeadersMax = 2_000
  /// The time without a complete request after which a connection is closed.
  static let idle: TimeAmount = .seconds(60)
  /// The minimum rate of a body in bytes per second and its allowance: slower than any mobile network, so that 64 KiB
  /// of JSON have 46 s. A slower body is answered with 408 and the connection is closed; a resumable upload can
  /// continue.
  static let bodyBytesPerSecond: Int64 = 4_096
  static let bodyGrace: TimeAmount = .seconds(30)
  /// The values of a JSON text, of a body or of a frame of a WebSocket: eight times the 500 hashes of the longest list that a user's
  /// client sends. A text of 64 KiB could have 30,000, or 9,000 objects with a member each, which take 2 MB and milliseconds. A text
  /// with more values is refused like a text that is not JSON.
  package static let jsonValuesMax = 4_096
  /// The requests of one logged-in user that are under way at all HTTP ports, including long polls and streams of events: these are
  /// at most 32 (`Limits.sessionsPerUserMax`), and only a program that sends thousands in a second has as many others at once. The
  /// next request is refused with 429 `requests-too-many`. Uploads have a lower bound (`Limits.uploadsPerUserMax`), sessions of BOSH
  /// that of all sessions, and keys of backends have none.
  static let requestsPerUserMax = 64
  /// The memory of incomplete bodies: those without a login share an eighth of the memory that the server may use, at most 256 MiB,
  /// with streams before their login; those of logged-in users have another sixteenth. Each counts from the head of its request on,
  /// even if it is refused, with `requestBytes` for the connection, the work on the request and a buffer of the socket, measured as
  /// 94 KiB. So requests whose bodies never arrive are bounded as well. A body that is written to the disk does not count. At the bound
  /// the network with the most loses its oldest body, which is answered with 503 and this value of `Retry-After`, in seconds: the time
  /// that most bodies take.
  static let bodyRetrySeconds = 5
  static let requestBytes = 98_304
  /// The bytes up to which a logged-in user's incomplete message over a WebSocket does not count, as for stanzas over TCP
  /// (`DoorLimits.unfinishedUncounted`). It takes twice the bytes that have arrived, and few honest messages reach this. All that count
  /// have, with those stanzas, a sixty-fourth of the memory that the server may use; at that bound the user with the most loses the
  /// oldest socket or stream (close code 1013, `resource-constraint`).
  static let unfinishedUncounted = 40 * 1024
  /// The time within which a message over a WebSocket must be complete, not counting pauses of the server's reading, as for stanzas
  /// over TCP (`DoorLimits.stanzaTime`): enough for the longest message at 900 bytes a second. Then the socket is closed (1013
  /// `frame-late`, `policy-violation`).
  static let messageTime: TimeAmount = .seconds(300)
  /// The maximum missing bytes of a body that are read and dropped when its request is answered early: enough for most requests without
  /// a file or picture, for clients that send head and body in two packets. If more is missing, or the body is chunked, the response
  /// ends the connection.
  static let drainedBytesMax: Int64 = 65_536
  /// The bytes of a body that are read and dropped after such a response, for a client that sends its whole body before it reads: a
  /// large picture or several photos. Beyond them, or below the minimum rate of bodies, or after `idle`, the connection is closed.
  static let lingerBytesMax: Int64 = 8 << 20
  /// The minimum rate at which a client must read responses, in bytes per second, and its allowance: as for bodies, and a minute for
  /// a phone that loses its network. The connection of a slower client is closed; a download can continue with a range.
  static let responseBytesPerSecond: Int64 = 4_096
  static let responseGrace: TimeAmount = .seconds(60)
  /// The interval in which unread output is checked: short against the allowance, and no work for clients that read.
  static let responseCheck: TimeAmount = .seconds(2)
  /// The length in bytes from which a response, to any method, is a download. The kernel takes about as much at once, so a shorter
  /// response takes little memory of this process even if nobody reads it.
  static let downloadBytesLeast = 65_536
  /// The memory of a download whose client reads nothing: the kernel's buffer, a few pieces, and the connection. A response that is
  /// in memory as a whole counts as one download for each such amount.
  static let downloadMemoryBytes = 327_680
  /// The number of downloads at a time: as many as fit into an eighth of the memory that the server may use, and into a quarter of
  /// its file descriptors, since a download takes one for the connection and one for the file; at least 64, which take 20 MiB, and
  /// at most 4,096. At the bound the network with most downloads loses its oldest one to a network that has fewer: the connection is
  /// closed, and the client can continue with a range. A request of the network with most is answered with 503; the response to another
  /// method than GET is sent nevertheless, and the oldest downloads of the same network end for it.
  static let downloadsMemoryShare = 8
  static let downloadsDescriptorShare = 8
  static let downloadsLeast = 64
  static let downloadsMost = 4_096
  /// The share of downloads that one network may have, as a divisor. A half is hundreds of downloads for a school or an office
  /// behind one address, and leaves the other half to all others; 429 beyond it.
  static let downloadsNetworkShare = 2
  /// The value of `Retry-After` in these answers, in seconds: most downloads have ended by then.
  static let downloadRetrySeconds = 5
  /// The interval of the log's lines about downloads that were cut off; further ones are counted.
  static let cutLogInterval: Duration = .seconds(60)
  static let cutLinesMax = 20
  /// The bytes that are read from a WebSocket at once: NIO decodes all frames of a read before it serves others, 680 pings or 150
  /// commands of the smallest size, which take one or two milliseconds. A record of TLS can add 16 KiB. A longer message takes
  /// several reads.
  static let socketReadBytes = 4_096
  /// The time for a WebSocket's closing handshake when the port stops; then it is closed.
  static let farewell: TimeAmount = .seconds(1)
  /// The maximum size of the header fields of a request in bytes, and their number: enough for any proxy; 400 or 431
  /// beyond it.
  static let headerBytesMax = 16_384
  static let headersMax = 100
  /// The maximum number of keys per rate limiter; beyond it full buckets are removed, then all.
  static let bucketsMax = 100_000
}
