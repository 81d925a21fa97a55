import { describe, expect, it } from 'vitest'
import {
  decodeManifest,
  encodeManifest,
} from '../../../../src/runtime/checkpoint/manifest/format.ts'
import type { CheckpointManifest } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'

const MANIFEST: CheckpointManifest = {
  jobId: 'ab'.repeat(16),
  jobName: 'als-serving',
  attempt: 2,
  generation: 3,
  checkpointId: 41,
  kind: 'savepoint',
  triggeredAtMs: 1_700_000_000_000,
  completedAtMs: 1_700_000_000_250,
  operators: [
    {
      uid: 'model',
      parallelism: 2,
      maxParallelism: 32768,
      declarations: [{ name: 'factors@1', kind: 'vector', format: 'float32[10]' }],
      segments: [
        {
          path: 'ab/shared/3-2-model-0-7',
          bytes: 5_000_000_000,
          checksum: 0xdeadbeef,
          entries: 12,
          keyGroups: { first: 0, last: 32767 },
          checkpointId: 40,
          sequence: 1,
          full: true,
        },
      ],
      operatorState: [
        [{ name: 'offsets', redistribution: 'union', entries: [new Uint8Array([1, 2, 3])] }],
        [],
      ],
    },
  ],
}

describe('manifest format', () => {
  it('decodes what it encoded', () => {
    expect(decodeManifest(encodeManifest(MANIFEST))).toEqual(MANIFEST)
  })

  it('encodes to these bytes', () => {
    expect(Buffer.from(encodeManifest(MANIFEST)).toString('hex')).toMatchInlineSnapshot(
      `"574d414e01000000ce0000000500dbda012061626162616261626162616261626162616261626162616261626162616261620b616c732d73657276696e670200000000000000030000000000000029000000000000000068e5cf8b010000fa68e5cf8b01000001056d6f64656c020000800109666163746f7273403106766563746f720b666c6f617433325b31305d011761622f7368617265642f332d322d6d6f64656c2d302d3700f2052a01000000efbeadde0c000000000000000000ff7f280000000000000001000000010201076f66667365747301010301020300"`,
    )
  })

  it('is version 2 with records in channels, which an older build would lose', () => {
    const entries = [new Uint8Array([7, 8])]
    const overtaken = { name: 'overtaken-records', redistribution: 'channels', entries } as const
    const operator = { ...MANIFEST.operators[0]!, segments: [], operatorState: [[overtaken]] }
    const manifest = { ...MANIFEST, operators: [operator] }
    const bytes = encodeManifest(manifest)
    expect(decodeManifest(bytes)).toEqual(manifest)
    expect(Buffer.from(bytes).toString('hex')).toMatchInlineSnapshot(
      `"574d414e020000009900000050937c0b012061626162616261626162616261626162616261626162616261626162616261620b616c732d73657276696e670200000000000000030000000000000029000000000000000068e5cf8b010000fa68e5cf8b01000001056d6f64656c020000800109666163746f7273403106766563746f720b666c6f617433325b31305d000101116f76657274616b656e2d7265636f7264730301020708"`,
    )
  })

  it('detects every damaged byte', () => {
    const good = encodeManifest(MANIFEST)
    for (let i = 0; i < good.length; i++) {
      // Bytes 6 and 7 are reserved.
      if (i === 6 || i === 7) continue
      const bad = good.slice()
      bad[i]! ^= 0x10
      expect(() => decodeManifest(bad), `byte ${i}`).toThrow()
    }
  })

  it('detects every truncation', () => {
    const good = encodeManifest(MANIFEST)
    for (let length = 0; length < good.length; length++) {
      expect(() => decodeManifest(good.subarray(0, length)), `length ${length}`).toThrow()
    }
  })

  it('refuses an unknown version', () => {
    const bytes = encodeManifest(MANIFEST)
    bytes[4] = 3
    expect(() => decodeManifest(bytes)).toThrow('manifest version 3 is not known')
  })
})
