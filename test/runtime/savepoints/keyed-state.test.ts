import { describe, expect, it } from 'vitest'
import type { CheckpointManifest } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { partsOf } from '../../../src/runtime/savepoints/keyed-state.ts'

const MIB = 1024 * 1024

function manifestOf(bytes: number, maxParallelism: number): CheckpointManifest {
  const segment = {
    path: 'a/shared/1-1-counts-0-1',
    bytes,
    checksum: 0,
    entries: 1,
    keyGroups: { first: 0, last: maxParallelism - 1 },
    checkpointId: 1,
    sequence: 0,
    full: true,
  }
  const operator = {
    uid: 'counts',
    parallelism: 1,
    maxParallelism,
    declarations: [],
    segments: [segment],
    operatorState: [[]],
  }
  return {
    jobId: 'a',
    jobName: 'job',
    attempt: 1,
    generation: 1,
    checkpointId: 1,
    kind: 'savepoint',
    triggeredAtMs: 0,
    completedAtMs: 0,
    operators: [operator],
  }
}

describe('partsOf', () => {
  it.each([
    [1, 128, 1],
    [200 * MIB, 128, 4],
    [200 * MIB, 2, 2],
  ])('divides %i bytes in %i key groups into %i parts without a gap', (bytes, groups, parts) => {
    const manifest = manifestOf(bytes, groups)
    const ranges = partsOf(manifest, manifest.operators[0]!).map(({ keyGroups }) => keyGroups)
    expect(ranges).toHaveLength(parts)
    expect(ranges[0]!.first).toBe(0)
    expect(ranges.at(-1)!.last).toBe(groups - 1)
    for (let i = 1; i < parts; i++) expect(ranges[i]!.first).toBe(ranges[i - 1]!.last + 1)
  })
})
