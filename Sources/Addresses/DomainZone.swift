import Basics

/// The zone of a domain: its last two labels. Domains of one zone are mostly one owner's, who creates as many subdomains as they want,
/// so what is divided among domains is first divided among zones.
///
/// Only the list of public suffixes says where the names of one owner begin, and it changes every week. The last two labels suffice,
/// since a zone decides who gives way first at a bound, or has a bound that is far above what the domains of many owners need. Below a
/// public suffix of two labels, such as `co.uk`, many owners have one zone, and are compared by their domains there; the domains
/// with acquaintances here have bounds together that are higher, and apart from those of the zone's other domains.
package enum DomainZone {
  /// Returns the zone of a domain in normal form. A name of one label is its own zone, as is an IP literal.
  package static func of(_ domain: String) -> String {
    if domain.utf8.first == UInt8(ascii: "[") || IPAddress(domain) != nil { return domain }
    return domain.split(separator: ".").suffix(2).joined(separator: ".")
  }
}
