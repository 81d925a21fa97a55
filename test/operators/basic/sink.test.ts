import { describe, expect, it } from 'vitest'
import { SinkOperator } from '../../../src/operators/basic/sink.ts'
import type { Sink, SinkWriter, SinkWriterContext } from '../../../src/operators/port/sink.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

const text = new TextDecoder()

/** Writes the calls that it gets into a log. */
class LoggingWriter implements SinkWriter<string> {
  readonly log: string[] = []
  context: SinkWriterContext | undefined
  full = false
  private readonly buffer: string[] = []

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    this.context = context
    this.log.push(`open ${restored.map((bytes) => text.decode(bytes)).join(' ')}`.trim())
  }

  write(value: string): void {
    this.buffer.push(value)
  }

  ready(): boolean {
    return !this.full
  }

  async whenReady(): Promise<void> {}

  async prepareCommit(checkpointId: number): Promise<readonly Uint8Array[]> {
    if (this.buffer.length === 0) return []
    return [new TextEncoder().encode(`${checkpointId}:${this.buffer.splice(0).join('+')}`)]
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    this.log.push(`commit ${committables.map((bytes) => text.decode(bytes)).join(' ')}`)
  }

  async close(): Promise<void> {
    this.log.push('close')
  }
}

async function open(
  options: { restore?: HarnessSnapshot[]; subtask?: number; parallelism?: number } = {},
) {
  const writer = new LoggingWriter()
  const sink: Sink<string> = { guarantee: 'exactly-once', createWriter: () => writer }
  const operator = new SinkOperator(sink, 'my-job')
  const harness = await OperatorHarness.open<string>({ operator, name: 'out', ...options })
  return { writer, harness, operator }
}

describe('SinkOperator', () => {
  it('gives the writer its context', async () => {
    const { writer } = await open({ subtask: 1, parallelism: 2 })
    expect(writer.context).toMatchObject({
      jobName: 'my-job',
      operatorUid: 'out',
      subtask: 1,
      parallelism: 2,
      attempt: 1,
    })
  })

  it('commits what was prepared up to a durable checkpoint, once, and nothing later', async () => {
    const { writer, harness } = await open()
    harness.process('a')
    await harness.snapshot(1)
    harness.process('b')
    await harness.snapshot(2)
    harness.process('c')
    await harness.snapshot(3)
    await harness.completeCheckpoint(2)
    await harness.completeCheckpoint(2)
    await harness.completeCheckpoint(3)
    expect(writer.log).toEqual(['open', 'commit 1:a 2:b', 'commit 3:c'])
  })

  it('stores what is not committed yet, including that of an aborted checkpoint', async () => {
    const { harness } = await open()
    harness.process('a')
    await harness.snapshot(1)
    harness.process('b')
    const snapshot = await harness.snapshot(2)
    const restored = await open({ restore: [snapshot] })
    expect(restored.writer.log).toEqual(['open 1:a 2:b'])
  })

  it('stores nothing once everything is committed', async () => {
    const { harness } = await open()
    harness.process('a')
    await harness.snapshot(1)
    await harness.completeCheckpoint(1)
    const restored = await open({ restore: [await harness.snapshot(2)] })
    expect(restored.writer.log).toEqual(['open'])
  })

  it('gives each restored committable to one subtask at another parallelism', async () => {
    const first = await open()
    first.harness.process('a')
    const second = await open()
    second.harness.process('b')
    const restore = [await first.harness.snapshot(1), await second.harness.snapshot(1)]
    const logs: string[] = []
    for (let subtask = 0; subtask < 3; subtask++) {
      logs.push(...(await open({ restore, subtask, parallelism: 3 })).writer.log)
    }
    expect(logs.sort()).toEqual(['open', 'open 1:a', 'open 1:b'])
  })

  it('is ready when its writer is, and closes it', async () => {
    const { writer, harness, operator } = await open()
    writer.full = true
    expect(operator.ready()).toBe(false)
    await harness.close()
    expect(writer.log.at(-1)).toBe('close')
  })

  it('keeps the documented layout of a committable, and refuses a newer one', async () => {
    const { harness } = await open()
    harness.process('a')
    const snapshot = await harness.snapshot(258)
    expect(snapshot.operatorState).toEqual([
      {
        name: 'committables',
        redistribution: 'split',
        entries: [Uint8Array.from([1, 2, 1, 0, 0, 0, 0, 0, 0, 0x32, 0x35, 0x38, 0x3a, 0x61])],
      },
    ])
    snapshot.operatorState[0]!.entries[0]![0] = 2
    await expect(open({ restore: [snapshot] })).rejects.toMatchObject({
      code: 'UNSUPPORTED_VERSION',
    })
  })
})
