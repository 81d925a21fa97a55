import { describe, expect, it } from 'vitest'
import { BegunVersions } from '../../../src/models/topic/begun-versions.ts'
import { OperatorStateMemory } from '../../../src/runtime/subtask/operator-state-memory.ts'

function restoredFrom(state: OperatorStateMemory): BegunVersions {
  const entries = state.entries().map(({ name, entries }) => [name, entries] as const)
  return new BegunVersions(new OperatorStateMemory(new Map(entries)))
}

describe('the versions that a job has begun to learn on', () => {
  it('are in its checkpoints', () => {
    const state = new OperatorStateMemory()
    const begun = new BegunVersions(state)
    expect(begun.begin(3)).toBe(true)
    expect(begun.begin(3)).toBe(false)
    begun.snapshot()
    const restored = restoredFrom(state)
    expect(restored.has(3)).toBe(true)
    expect(restored.has(4)).toBe(false)
    expect(restored.begin(3)).toBe(false)
  })

  it('are the newest 32', () => {
    const begun = new BegunVersions(new OperatorStateMemory())
    for (let version = 1; version <= 40; version++) begun.begin(version)
    expect(begun.size).toBe(32)
    expect(begun.has(8)).toBe(false)
    expect(begun.has(9)).toBe(true)
  })
})
