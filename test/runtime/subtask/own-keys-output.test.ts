import { describe, expect, it } from 'vitest'
import {
  plainKeySerializer,
  rawKeySerializer,
} from '../../../src/core/formats/plain-key-serializer.ts'
import { float64Serializer, type Serializer } from '../../../src/core/serializer.ts'
import type { StreamNode } from '../../../src/dataflow/stream-graph.ts'
import type { OutputChannel } from '../../../src/runtime/channel/output.ts'
import { OwnKeysOutput } from '../../../src/runtime/subtask/own-keys-output.ts'

/** An output of a subtask that owns no key, for records that are their own key. */
function outputOf(keySerializer: Serializer<never>): OwnKeysOutput {
  return new OwnKeysOutput({
    partitioning: {
      kind: 'hash',
      keySelector: (value) => value,
      keySerializer: keySerializer as Serializer<unknown>,
      inPlace: true,
    },
    serializer: float64Serializer as Serializer<unknown>,
    maxParallelism: 128,
    receiver: { name: 'Total', uid: 'total', uidGenerated: false } as StreamNode,
    range: { first: 128, last: 128 },
    channel: {} as OutputChannel,
  })
}

describe('OwnKeysOutput', () => {
  it.each([
    { key: 17, text: '17' },
    { key: 'user-17', text: '"user-17"' },
    { key: 17n, text: '17n' },
    { key: ['a', 1, true], text: '["a", 1, true]' },
  ])('names a key of another subtask as a program writes it: $text', ({ key, text }) => {
    const output = outputOf(plainKeySerializer())
    expect(() => output.collect(key, 0)).toThrow(`the key ${text} is in key group`)
  })

  it('names a key that is bytes as hex', () => {
    const output = outputOf(rawKeySerializer as Serializer<never>)
    const collect = (): void => output.collect(Uint8Array.of(0xf8, 0, 17), 0)
    expect(collect).toThrow('the key 0xf80011 is in key group')
  })
})
