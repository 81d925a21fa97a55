import { describe, expect, it } from 'vitest'
import {
  packSlotQueryReply,
  packSlotQueryRequest,
  unpackSlotQueryReply,
  unpackSlotQueryRequest,
} from '../../../src/state/catalog/slot-query-message.ts'
import type { SlotQueryReply, SlotQueryRequest } from '../../../src/state/port/slot-query.ts'
import { text } from '../keyed-state-fixture.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

describe('messages between query threads and slots', () => {
  it('carry requests of every kind', () => {
    const keys = [text('1-U'), new Uint8Array(0), new Uint8Array(300).fill(7)]
    const requests: SlotQueryRequest[] = [
      { kind: 'values', id: 1, queryableName: 'COUNTS', keys },
      { kind: 'rows', id: 2, operatorUid: 'model', state: 'users', version: 3, keys },
      { kind: 'rows', id: 3, operatorUid: 'model', state: 'users', version: 3, keys: [] },
      {
        kind: 'scan',
        id: 4,
        queryableName: 'M',
        version: 1,
        from: text('a'),
        to: text('b'),
        limit: 5,
      },
    ]
    for (const request of requests) {
      expect(unpackSlotQueryRequest(packSlotQueryRequest(request))).toEqual(request)
    }
  })

  it('carry replies with answers of every kind in one buffer', () => {
    const reply: SlotQueryReply = {
      id: 9,
      answers: [
        { kind: 'found', key: text('1-U'), value: new Uint8Array(432).fill(3) },
        { kind: 'missing', key: text('2-U') },
        { kind: 'found', key: new Uint8Array(0), value: new Uint8Array(0) },
        { kind: 'restoring', key: text('3-U') },
        { kind: 'unknown-state', key: text('4-U') },
      ],
    }
    const message = packSlotQueryReply(reply)
    expect(message.packed.byteLength).toBe(message.packed.buffer.byteLength)
    expect(unpackSlotQueryReply(message)).toEqual(reply)
    expect(unpackSlotQueryReply(packSlotQueryReply({ id: 1, answers: [] })).answers).toEqual([])
  })

  it('have this form', () => {
    const keys = [bytes(0xaa, 0xbb)]
    expect(packSlotQueryRequest({ kind: 'values', id: 1, queryableName: 'COUNTS', keys })).toEqual({
      kind: 'values',
      id: 1,
      queryableName: 'COUNTS',
      packedKeys: bytes(2, 0, 0, 0, 0xaa, 0xbb),
    })
    const answers = [{ kind: 'found', key: bytes(0xaa), value: bytes(1, 2) } as const]
    expect(packSlotQueryReply({ id: 1, answers })).toEqual({
      id: 1,
      packed: bytes(1, 1, 0, 0, 0, 2, 0, 0, 0, 0xaa, 1, 2),
    })
  })
})
