import Testing

@testable import Basics

@Suite struct AllowedMemoryTests {
  private func least(_ groups: String?, _ limits: [String: String]) -> Int {
    AllowedMemory.least(machine: 1_000, groups: groups) { limits[$0] }
  }

  /// A group has no more than the groups above it; one without a limit says `max`, and the root has no file.
  @Test func theLeastLimitOfAllGroupsCounts() {
    let groups = "0::/system.slice/parley.service\n"
    #expect(least(groups, [:]) == 1_000)
    #expect(least(groups, ["/system.slice/parley.service": "max\n"]) == 1_000)
    #expect(least(groups, ["/system.slice/parley.service": "700\n", "/system.slice": "800\n"]) == 700)
    #expect(least(groups, ["/system.slice/parley.service": "700\n", "/system.slice": "600\n"]) == 600)
    #expect(least(groups, ["/system.slice/parley.service": "2000\n"]) == 1_000)
  }

  /// In a container the group is the root of what is mounted, under whatever name the process has it.
  @Test(arguments: ["0::/\n", "0::/docker/0123\n", "12:cpu:/a\n0::/docker/0123\n", ""])
  func aContainerHasItsLimitAtTheRoot(groups: String) {
    #expect(least(groups, ["": "500\n"]) == 500)
  }

  @Test func aMachineWithoutGroupsHasItsMemory() {
    #expect(least(nil, [:]) == 1_000)
    #expect(least("3:memory:/a\n", ["/a": "500\n"]) == 1_000)
  }

  @Test func thisMachineHasSome() { #expect(AllowedMemory.bytes > 16 << 20) }
}
