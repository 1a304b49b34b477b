import Testing

@testable import ParleyClient

private let id = "0000018bcfee8fc00123456789abcdefd8a1e61a58218816c424017ef28c0524"

@Suite struct ProofTests {
  /// The JavaScript SDK finds the same.
  @Test(
    "A proof begins with its challenge, and the bits of its hash end in the target",
    arguments: [
      ("localhost" + id, "de", 55, "0000000911"), ("bücher.example" + id, "2743", 49, "0000005978"),
      (String(repeating: "x", count: 64), "1", 0, "0000000000"), ("", "8c", 0, "0000000111"),
    ])
  func found(challenge: String, target: String, hyphens: Int, number: String) async throws {
    let proof = try #require(Proof(challenge: challenge, target: target))
    #expect(try await proof.compute() == challenge + String(repeating: "-", count: hyphens) + number)
  }

  @Test(
    "Nothing is computed for a target that would keep a telephone busy, or that is none",
    arguments: ["1000000", "x", "", "0"])
  func refused(target: String) {
    #expect(Proof(challenge: "localhost", target: target) == nil)
  }

  @Test("SHA-256 of abc, in one block (FIPS 180-4)")
  func block() {
    var hash = SHA256Block()
    var bytes = [UInt8](repeating: 0, count: 64)
    bytes.replaceSubrange(0..<4, with: Array("abc".utf8) + [0x80])
    bytes[63] = 24
    hash.compress(bytes[...])
    #expect(
      hash.state == [
        0xba78_16bf, 0x8f01_cfea, 0x4141_40de, 0x5dae_2223, 0xb003_61a3, 0x9617_7a9c, 0xb410_ff61, 0xf200_15ad,
      ])
  }

  @Test("A computation ends with its task")
  func cancelled() async throws {
    let proof = try #require(Proof(challenge: "localhost" + id, target: "ffffff"))
    let task = Task { try await proof.compute() }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }
}
