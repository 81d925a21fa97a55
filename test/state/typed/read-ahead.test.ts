import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { float64Serializer } from '../../../src/core/serializer.ts'
import { openKeyedState } from '../../../src/state/open-keyed-state.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'

describe('reading typed state ahead', () => {
  it('changes nothing, whatever the keys are: present, missing, long or with zero bytes', async () => {
    const backend = await openKeyedState({
      operatorUid: 'sums',
      slot: 0,
      keyGroups: { first: 0, last: 15 },
      maxParallelism: 16,
      storeType: 'heap',
      storeDirectory: '',
      memoryBudgetBytes: 2 ** 20,
      clock: systemClock,
      listener: { tableOpened() {}, tableDropped() {}, queryableDeclared() {} },
      metrics: new MetricGroup(),
    })
    const sum = backend.value(valueState<number>('sum', { serializer: float64Serializer }))
    const select = (key: Uint8Array): void => backend.setCurrentKey(key, keyGroupOf(key, 16))
    const keyOf = (n: number): Uint8Array => Buffer.from(`${n}`)
    for (let n = 0; n < 20_000; n++) {
      select(keyOf(n))
      sum.update(n + 0.5)
    }
    const ahead = [keyOf(3), keyOf(70_000), Buffer.alloc(500, 1), Buffer.alloc(9), Buffer.alloc(0)]
    const starts = ahead.map((_, i) => ahead.slice(0, i).reduce((at, key) => at + key.length, 0))
    backend.readAhead({
      bytes: Buffer.concat(ahead),
      keyStarts: Int32Array.from(starts),
      keyLengths: Int32Array.from(ahead, (key) => key.length),
      hashes: Int32Array.from(ahead, (key) => murmur3(key) | 0),
      count: ahead.length,
    })
    const values = ahead.map((key) => {
      select(key)
      return sum.value()
    })
    const known = ahead.map((key, i) => {
      backend.setKeyAhead(key, keyGroupOf(key, 16), i)
      return sum.value()
    })
    expect(known).toEqual(values)
    backend.setKeyAhead(keyOf(3), keyGroupOf(keyOf(3), 16), 0)
    backend.setCurrentNamespace(Buffer.from('window'))
    expect(sum.value()).toBeUndefined()
    sum.update(7)
    select(keyOf(3))
    expect(sum.value()).toBe(7)
    backend.setCurrentNamespace(Buffer.alloc(0))
    expect(sum.value()).toBe(3.5)
    expect(values).toEqual([3.5, undefined, undefined, undefined, undefined])
    backend.close()
  })
})
