import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { EvolvingSerializer } from '../../src/core/serializer.ts'
import { LatestValueOperator } from '../../src/operators/basic/latest-value.ts'
import { AbstractOperator } from '../../src/operators/port/abstract-operator.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'

const keys = { selectors: [(text: string) => text], serializer: plainKeySerializer() }

const open = (options: object = {}) =>
  OperatorHarness.open<string>({
    operator: new LatestValueOperator(valueState<string>('latest')),
    keys,
    ...options,
  })

/** Records the calls that it gets. */
class Recorder extends AbstractOperator {
  readonly calls: string[] = []

  processElement(input: number, value: unknown): void {
    this.calls.push(`${value} on ${input}`)
    this.context.sendEvent({ seen: value })
  }

  override endInput(input: number): void {
    this.calls.push(`end ${input} at ${this.context.currentWatermark()}`)
  }

  override onProcessingTime(timestampMs: number): void {
    this.calls.push(`time ${timestampMs}`)
  }
}

describe('OperatorHarness', () => {
  it('refuses a record whose key belongs to another subtask', async () => {
    const owners: string[] = []
    for (let subtask = 0; subtask < 2; subtask++) {
      const harness = await open({ subtask, parallelism: 2 })
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        try {
          harness.process(key)
          owners.push(key)
        } catch (error) {
          expect(error).toMatchObject({ code: 'NOT_OWNER' })
        }
      }
    }
    expect(owners.sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('restores the keyed state of a snapshot at a larger parallelism, and back', async () => {
    const whole = await open()
    for (let i = 0; i < 20; i++) whole.process(`key-${i}`)
    const snapshot = await whole.snapshot()
    const parts: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < 3; subtask++) {
      const part = await open({ restore: [snapshot], subtask, parallelism: 3 })
      parts.push(await part.snapshot())
    }
    expect(parts.every((part) => part.entries.length > 0)).toBe(true)
    const joined = await (await open({ restore: parts })).snapshot()
    const image = ({ entries }: HarnessSnapshot): string[] =>
      entries.map((entry) => `${entry.keyGroup} ${entry.key} ${entry.value}`).sort()
    expect(image(joined)).toEqual(image(snapshot))
  })

  it('brings restored state into a newer form, as a restore does', async () => {
    const former = await open()
    former.process('a', 1)
    const restore = [await former.snapshot()]
    const { id, ...newer } = msgpackSerializer<string>()
    const serializer: EvolvingSerializer<string> = {
      ...newer,
      id: 'newer/1',
      readerOf: (storedId) => (storedId === id ? newer.read : 'no other'),
    }
    const operator = new LatestValueOperator(valueState<string>('latest', { serializer }))
    const harness = await open({ operator, restore })
    const { entries, declarations } = await harness.snapshot()
    expect(entries).toHaveLength(1)
    expect(declarations).toMatchObject([{ format: 'newer/1' }])
  })

  it('refuses another max parallelism, as a restore does', async () => {
    const snapshot = await (await open()).snapshot()
    await expect(open({ restore: [snapshot], maxParallelism: 64 })).rejects.toMatchObject({
      code: 'MAX_PARALLELISM_CHANGED',
    })
  })

  it('refuses times that are no whole numbers', async () => {
    const harness = await open()
    expect(() => harness.process('a', Number.NaN)).toThrow('the timestamp of a record is')
    expect(() => harness.watermark(Number.NaN)).toThrow('a watermark is')
  })

  it('ends inputs after the last watermark and collects events', async () => {
    const operator = new Recorder()
    const harness = await OperatorHarness.open<string>({ operator })
    harness.process('x', -1, { input: 1 })
    harness.endInput(2)
    expect(operator.calls).toEqual([
      'x on 1',
      `end 0 at ${Number.MAX_SAFE_INTEGER}`,
      `end 1 at ${Number.MAX_SAFE_INTEGER}`,
    ])
    expect(harness.events).toEqual([{ seen: 'x' }])
  })
})
