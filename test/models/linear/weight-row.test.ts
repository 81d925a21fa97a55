import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import {
  blockKeyLength,
  parseTextWeights,
  versionOfTextKey,
  weightKey,
} from '../../../src/models/linear/weight-row.ts'
import {
  type WeightUpdate,
  WeightUpdateSerializer,
} from '../../../src/models/linear/weight-update.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('the key of a block', () => {
  it('is its number followed by -W, and the version', () => {
    expect(weightKey(12)).toBe('12-W')
    expect(weightKey(12, 3)).toBe('12-W@3')
    expect(blockKeyLength(bytes('12-W'))).toBe(2)
    expect(blockKeyLength(bytes('3156-W@12'))).toBe(4)
  })

  it.each(['12', '-W', '12-U', 'x-W', '12-W@', '1 2-W'])('is not "%s"', (key) => {
    expect(blockKeyLength(bytes(key))).toBe(-1)
  })
})

describe("the ancestor's text", () => {
  it.each([
    ['7,0.5', [7], [0.5]],
    ['bias,-1', [BIAS_FEATURE], [-1]],
    ['3,3000:1;3001:-2.5;3999:1e-3', [3000, 3001, 3999], [1, -2.5, Math.fround(1e-3)]],
    ['3000:1;3001:2;', [3000, 3001], [1, 2]],
  ])('"%s" is read', (text, features, weights) => {
    expect(parseTextWeights(text)).toEqual({ features, weights })
  })

  it.each(['', '7', '7,', '7,x', '-1,2', '7,1;8,2', '3,4:x', 'a:1', '4294967295,1'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseTextWeights(text)).toThrow(
        expect.objectContaining({ code: 'UNPARSABLE_RECORD' }),
      )
    },
  )

  it('belongs to the version that its key names, to 1 otherwise', () => {
    expect(versionOfTextKey(null)).toBe(1)
    expect(versionOfTextKey(bytes('3'))).toBe(1)
    expect(versionOfTextKey(bytes('3@7'))).toBe(7)
  })
})

it('an update of weights reads back what was written', () => {
  const serializer = new WeightUpdateSerializer()
  const key = new Uint8Array(0)
  const step = {
    ...{ key, version: 3, kind: 'step' as const, derivative: -0.5, rate: 0.25 },
    indices: Uint16Array.of(7),
    values: Float32Array.of(2),
  }
  const updates: WeightUpdate[] = [
    { key, version: 1, kind: 'row', weights: Float32Array.of(1, 2, 3) },
    {
      ...{ key, version: 1, kind: 'row' as const },
      weights: Float32Array.of(1, 2),
      memory: Float32Array.of(9, 4, -1, -2),
    },
    {
      key,
      version: 70_000,
      kind: 'some',
      indices: Uint16Array.of(0, 65_535),
      weights: Float32Array.of(-1, 0.5),
    },
    { ...step, ticket: 0 },
    { ...step, ticket: 0xffff_3fff },
    { key, version: 2, kind: 'remove' },
    { key, version: 2, kind: 'open' },
    { key, version: 2, kind: 'retire' },
  ]
  for (const update of updates) {
    const writer = new ByteWriter()
    serializer.write(update, writer)
    expect(serializer.read(new ByteReader(writer.toBytes()))).toEqual(update)
  }
})

it('a step between slots has bytes that never change, with a ticket and as earlier builds wrote it', () => {
  const serializer = new WeightUpdateSerializer()
  const step = { derivative: -0.5, rate: 0.25, indices: Uint16Array.of(7) }
  const hexOf = (ticket: number): string => {
    const writer = new ByteWriter()
    const values = Float32Array.of(2)
    const key = new Uint8Array(0)
    serializer.write({ kind: 'step', key, version: 3, ticket, ...step, values }, writer)
    return Buffer.from(writer.toBytes()).toString('hex')
  }
  expect(hexOf(0)).toBe('03000000' + '04' + '000000bf0000803e' + '0100' + '0700' + '00000040')
  expect(hexOf(0x2_0001)).toBe(
    '03000000' + '06' + '01000200' + '000000bf0000803e' + '0100' + '0700' + '00000040',
  )
})
