import Testing

@testable import Addresses

private func scalars(_ values: [UInt32]) -> [Unicode.Scalar] { values.compactMap { Unicode.Scalar($0) } }

@Suite struct NormalizationForms {
  /// Lines of NormalizationTest.txt of Unicode 15.0: source, NFC, NFKC. Parts 0 to 3 are represented.
  @Test(
    arguments: [
      ([0x1E0A], [0x1E0A], [0x1E0A]),
      ([0x1E0A, 0x323], [0x1E0C, 0x307], [0x1E0C, 0x307]),
      ([0x44, 0x307, 0x323], [0x1E0C, 0x307], [0x1E0C, 0x307]),
      ([0x1E14, 0x304], [0x1E14, 0x304], [0x1E14, 0x304]),
      (
        [0x5B8, 0x5B9, 0x5B1, 0x591, 0x5C3, 0x5B0, 0x5AC, 0x59F],
        [0x5B1, 0x5B8, 0x5B9, 0x591, 0x5C3, 0x5B0, 0x5AC, 0x59F],
        [0x5B1, 0x5B8, 0x5B9, 0x591, 0x5C3, 0x5B0, 0x5AC, 0x59F]
      ),
      ([0x1100, 0xAC00, 0x11A8], [0x1100, 0xAC01], [0x1100, 0xAC01]),
      ([0xA0], [0xA0], [0x20]),
      ([0xA8], [0xA8], [0x20, 0x308]),
      ([0x1C4], [0x1C4], [0x44, 0x17D]),
      ([0x340], [0x300], [0x300]),
      ([0x344], [0x308, 0x301], [0x308, 0x301]),
      ([0x958], [0x915, 0x93C], [0x915, 0x93C]),
      ([0x2126], [0x3A9], [0x3A9]),
      ([0x2ADC], [0x2ADD, 0x338], [0x2ADD, 0x338]),
      ([0xFB01], [0xFB01], [0x66, 0x69]),
      (
        [0xFDFA], [0xFDFA],
        [
          0x635, 0x644, 0x649, 0x20, 0x627, 0x644, 0x644, 0x647, 0x20, 0x639, 0x644, 0x64A, 0x647, 0x20, 0x648,
          0x633, 0x644, 0x645,
        ]
      ),
      ([0xFF9E], [0xFF9E], [0x3099]),
      ([0x1D15E], [0x1D157, 0x1D165], [0x1D157, 0x1D165]),
      ([0x1D400], [0x1D400], [0x41]),
      ([0x2F800], [0x4E3D], [0x4E3D]),
      (
        [0x61, 0x315, 0x300, 0x5AE, 0x1CF9, 0x62], [0xE0, 0x5AE, 0x1CF9, 0x315, 0x62],
        [0xE0, 0x5AE, 0x1CF9, 0x315, 0x62]
      ),
      ([0x9C7, 0x334, 0x9BE], [0x9C7, 0x334, 0x9BE], [0x9C7, 0x334, 0x9BE]),
      ([0x1100, 0x334, 0x1161], [0x1100, 0x334, 0x1161], [0x1100, 0x334, 0x1161]),
    ] as [([UInt32], [UInt32], [UInt32])])
  func conformance(source: [UInt32], formC: [UInt32], formKC: [UInt32]) {
    #expect(Normalization.formC(scalars(source)) == scalars(formC))
    #expect(Normalization.formKC(scalars(source)) == scalars(formKC))
  }

  /// Every change by form C yields a canonically equivalent string, by the comparison of the standard library.
  @Test func formCIsCanonicallyEqual() {
    var changed = 0
    for value in UInt32(0)...0x2FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let normal = Normalization.formC([scalar])
      if normal == [scalar] { continue }
      changed += 1
      #expect(Precis.makeString(normal) == String(scalar))
    }
    #expect(changed == 1120)  // scalars of Unicode 15.0 that are not their own form C
  }

  /// A hostile run of marks is sorted, not compared each with each.
  @Test func longRunOfMarks() {
    let marks: [Unicode.Scalar] = (0..<2000).map { $0 % 2 == 0 ? "\u{301}" : "\u{323}" }
    let normal = Normalization.formC(["x"] + marks)
    #expect(normal.count == 2001)
    #expect(normal[1...1000].allSatisfy { $0 == "\u{323}" } && normal[1001...].allSatisfy { $0 == "\u{301}" })
  }

  /// Lower case agrees with the standard library wherever a simple mapping exists in both.
  @Test func lowercaseAgrees() {
    var mapped = 0
    for value in UInt32(0)...0x1FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      var lower: [Unicode.Scalar] = []
      scalar.appendLowercase(to: &lower)
      if lower == [scalar] { continue }
      mapped += 1
      #expect(Precis.makeString(lower) == scalar.properties.lowercaseMapping)
    }
    #expect(mapped == 1433)
  }
}
