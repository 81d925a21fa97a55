import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import type { Sink, SinkWriter } from '../../src/operators/port/sink.ts'

/** A sink of texts, and a way to read its visible results. */
export interface SinkUnderTest {
  readonly sink: Sink<string>
  readonly visible: () => Promise<readonly string[]>
}

async function openWriter(
  sink: Sink<string>,
  restored: readonly Uint8Array[] = [],
  subtask = 0,
  parallelism = 1,
): Promise<SinkWriter<string>> {
  const writer = sink.createWriter()
  await writer.open(
    {
      jobName: 'job',
      operatorUid: 'sink/1',
      subtask,
      parallelism,
      attempt: 1,
      clock: systemClock,
      metrics: new MetricGroup(),
    },
    restored,
  )
  return writer
}

const sorted = async ({ visible }: SinkUnderTest): Promise<string[]> =>
  [...(await visible())].sort()

/** Contract of every at-least-once sink. */
export function atLeastOnceSinkContract(name: string, make: () => Promise<SinkUnderTest>): void {
  describe(`${name} as an at-least-once sink`, () => {
    it('shows all records that were written before a checkpoint', async () => {
      const test = await make()
      const writer = await openWriter(test.sink)
      writer.write('a', 1)
      writer.write('b', 2)
      expect(await writer.prepareCommit(1)).toEqual([])
      expect(await sorted(test)).toEqual(['a', 'b'])
      await writer.close()
    })

    it('becomes ready again when it was not', async () => {
      const { sink } = await make()
      const writer = await openWriter(sink)
      for (let i = 0; i < 1000; i++) {
        writer.write('x'.repeat(100), i)
        if (!writer.ready()) await writer.whenReady()
        expect(writer.ready()).toBe(true)
      }
      await writer.close()
    })
  })
}

/** Contract of every exactly-once sink. */
export function exactlyOnceSinkContract(name: string, make: () => Promise<SinkUnderTest>): void {
  describe(`${name} as an exactly-once sink`, () => {
    it('shows records when their checkpoint is committed, not before', async () => {
      const test = await make()
      const writer = await openWriter(test.sink)
      writer.write('a', 1)
      const committables = await writer.prepareCommit(1)
      writer.write('b', 2)
      expect(await sorted(test)).toEqual([])
      await writer.commit(committables)
      expect(await sorted(test)).toEqual(['a'])
      await writer.commit(await writer.prepareCommit(2))
      expect(await sorted(test)).toEqual(['a', 'b'])
      await writer.close()
    })

    it('assigns records that are written while a checkpoint is prepared to the next one', async () => {
      const test = await make()
      const writer = await openWriter(test.sink)
      writer.write('a', 1)
      const preparing = writer.prepareCommit(1)
      writer.write('b', 2)
      await writer.commit(await preparing)
      expect(await sorted(test)).toEqual(['a'])
      await writer.close()
    })

    it('has nothing to commit when nothing was written', async () => {
      const { sink } = await make()
      const writer = await openWriter(sink)
      expect(await writer.prepareCommit(1)).toEqual([])
      await writer.close()
    })

    it('commits a transaction that a crash left prepared, once, even if the commit is repeated', async () => {
      const test = await make()
      const crashed = await openWriter(test.sink)
      crashed.write('a', 1)
      const committables = await crashed.prepareCommit(1)
      crashed.write('lost', 2)
      await crashed.prepareCommit(2)
      await crashed.close()
      const restored = await openWriter(test.sink, committables)
      expect(await sorted(test)).toEqual(['a'])
      await restored.commit(committables)
      await restored.close()
      const again = await openWriter(test.sink, committables)
      again.write('b', 3)
      await again.commit(await again.prepareCommit(3))
      expect(await sorted(test)).toEqual(['a', 'b'])
      await again.close()
    })

    it('commits transactions of another subtask after a change of the parallelism', async () => {
      const test = await make()
      const before = [await openWriter(test.sink, [], 0, 2), await openWriter(test.sink, [], 1, 2)]
      before[0]!.write('a', 1)
      before[1]!.write('b', 1)
      const committables: Uint8Array[] = []
      for (const writer of before) committables.push(...(await writer.prepareCommit(1)))
      for (const writer of before) await writer.close()
      const after = await Promise.all([
        openWriter(test.sink, [], 0, 3),
        openWriter(test.sink, [committables[0]!], 1, 3),
        openWriter(test.sink, [committables[1]!], 2, 3),
      ])
      for (const writer of after) await writer.commit(await writer.prepareCommit(2))
      expect(await sorted(test)).toEqual(['a', 'b'])
      for (const writer of after) await writer.close()
    })

    it('commits several prepared checkpoints separately', async () => {
      const test = await make()
      const writer = await openWriter(test.sink)
      const prepared: (readonly Uint8Array[])[] = []
      for (let checkpoint = 1; checkpoint <= 4; checkpoint++) {
        writer.write(`c${checkpoint}`, 1)
        prepared.push(await writer.prepareCommit(checkpoint))
      }
      await writer.commit(prepared[0]!)
      await writer.commit(prepared[1]!)
      expect(await sorted(test)).toEqual(['c1', 'c2'].slice(0, 2))
      await writer.commit(prepared[2]!)
      await writer.commit(prepared[3]!)
      expect(await sorted(test)).toEqual(['c1', 'c2', 'c3', 'c4'])
      await writer.close()
    })
  })
}
