import { describe, expect, it } from 'vitest'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { int53Serializer, type Serializer } from '../../../src/core/serializer.ts'
import { MIN_TIMESTAMP } from '../../../src/core/time.ts'
import type { StreamNode } from '../../../src/dataflow/stream-graph.ts'
import { AbstractOperator } from '../../../src/operators/port/abstract-operator.ts'
import { decodeInFlight } from '../../../src/runtime/channel/in-flight-format.ts'
import { InputChannel } from '../../../src/runtime/channel/input.ts'
import {
  type BatchMessage,
  type BatchSpace,
  type ForwardMessage,
  RESTORED,
} from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import { ProgressCombiner } from '../../../src/runtime/channel/progress-combiner.ts'
import { newAlignment } from '../../../src/runtime/checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { InputProcessor } from '../../../src/runtime/subtask/input-processor.ts'
import { OperatorStateMemory } from '../../../src/runtime/subtask/operator-state-memory.ts'
import { OperatorTask } from '../../../src/runtime/subtask/operator-task.ts'
import { SingleOutput } from '../../../src/runtime/subtask/record-output.ts'
import { Subtask, type SubtaskHost } from '../../../src/runtime/subtask/subtask.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const serializer = int53Serializer as Serializer<unknown>

/**
 * A subtask with two input channels whose events are recorded in order; `restored` is at first in front of the
 * second one.
 */
function setUp(restored: readonly ForwardMessage[] = []) {
  const clock = new ManualClock()
  const events: string[] = []
  const host: SubtaskHost = {
    attempt: 1,
    clock,
    rowTables: new StateCatalog(),
    accumulatorTypes: new Map(),
    wake() {},
    sendEvent() {},
    storedRows: () => Promise.resolve([]),
    acceptsLostTransactions: false,
    topicOf: () => undefined,
    mostTimersAtEnd: 0,
    namesCallers: false,
    beginLongCall: () => ({ step() {}, end() {} }),
    warn() {},
    failed: (_subtask, error) => {
      throw error
    },
    ended: () => events.push('ended'),
    snapshot: (_subtask, barrier, ms) => events.push(`snapshot ${barrier.checkpointId} ${ms}`),
    declined: (_subtask, id, reason) => events.push(`declined ${id} ${reason}`),
    partitionRead() {},
    progress() {},
  }
  const subtask = new Subtask({ name: 'task#0', index: 0, metrics: new MetricGroup(), host })
  class Recording extends AbstractOperator {
    processElement(_input: number, value: unknown): void {
      const { partition, offset } = subtask.currentPosition
      events.push(`${value}@${partition}:${offset}`)
    }
    override processWatermark(watermark: number): void {
      events.push(`watermark ${watermark}`)
    }
    override endInput(input: number): void {
      events.push(`end ${input}`)
    }
  }
  const node: StreamNode = {
    id: 0,
    uid: 'task',
    uidGenerated: false,
    name: 'task',
    parallelism: 1,
    hasOwnParallelism: false,
    maxParallelism: 128,
    body: { kind: 'operator', create: () => new Recording() },
    inputs: 1,
    chainable: true,
    isSink: false,
  }
  const task = new OperatorTask({
    node,
    operator: new Recording(),
    keyedState: undefined,
    operatorState: new OperatorStateMemory(),
    metrics: new MetricGroup(),
    restoredWatermark: MIN_TIMESTAMP,
  })
  subtask.addOperator(task)
  const channels = [new InputChannel(0, 0, 0), new InputChannel(1, 1, 0)]
  const credits: number[] = []
  const spaces: BatchSpace[] = []
  for (const message of restored)
    channels[1]!.push({ ...(message as BatchMessage), channel: RESTORED })
  const role = {
    values: serializer,
    serializer,
    edge: 'in',
    keyed: false,
    keys: undefined,
    loadsFirst: false,
    sources: [],
    progressEdge: -1,
    sender: 0,
  }
  const input = new InputProcessor(subtask, {
    task,
    roles: channels.map((channel) => ({ channel, ...role })),
    progress: new ProgressCombiner([]),
    overtaking: true,
    returnCredit: (channel, space) => {
      credits.push(channel)
      spaces.push(space)
    },
  })
  subtask.input = input
  subtask.alignment = newAlignment(2)
  subtask.running = true
  const work = (): void => {
    while (subtask.step(Number.POSITIVE_INFINITY));
  }
  const push = (message: ForwardMessage): void => channels[message.channel]!.push(message)
  return { clock, events, channels, credits, spaces, input, push, work }
}

/** A batch with one value per given position. */
function batch(channel: number, ...records: readonly (readonly [number, number, number])[]) {
  return batchOf(channel, false, records)
}

/** The same as records that stay in the thread. */
function ownBatch(channel: number, ...records: readonly (readonly [number, number, number])[]) {
  return batchOf(channel, true, records)
}

function batchOf(
  channel: number,
  keepsRecords: boolean,
  records: readonly (readonly [number, number, number])[],
) {
  const sent: ForwardMessage[] = []
  const owner = {
    blockedChannels: 0,
    bytesOut: 0,
    recordsEmitted: 0,
    currentPosition: { partition: 0, offset: 0 },
  }
  const send = (message: ForwardMessage) => sent.push(message)
  const options = { id: channel, owner, send, batchBytes: 100_000, credits: 1, keepsRecords }
  const out = new OutputChannel(options)
  const output = new SingleOutput(serializer, out)
  for (const [value, partition, offset] of records) {
    owner.currentPosition.partition = partition
    owner.currentPosition.offset = offset
    output.collect(value, -1)
  }
  out.flush()
  return sent[0]!
}

const barrier = (checkpointId: number, mode: Barrier['mode'] = 'exactly-once'): Barrier => ({
  checkpointId,
  timestampMs: 0,
  full: false,
  mode,
})

describe('InputProcessor', () => {
  it('processes records with their source positions and returns the credit', () => {
    const { push, work, events, credits } = setUp()
    push(batch(1, [7, 3, 100], [8, 3, 101], [9, 4, 5]))
    work()
    expect(events).toEqual(['7@3:100', '8@3:101', '9@4:5'])
    expect(credits).toEqual([1])
  })

  it('takes the objects of a batch, and decodes its other values', () => {
    const { push, work, events } = setUp()
    const encoded = batch(1, [7, 3, 100], [8, 3, 101], [9, 4, 5])
    const objects: unknown[] = []
    objects[1] = 80
    push({ ...(encoded as BatchMessage), objects })
    push(batch(1, [10, 4, 6]))
    work()
    expect(events).toEqual(['7@3:100', '80@3:101', '9@4:5', '10@4:6'])
  })

  it('processes records that stayed in the thread, between encoded ones and in groups, and gives them back', () => {
    const { push, work, events, credits, spaces } = setUp()
    const unsafe = Number.MAX_SAFE_INTEGER
    const many = Array.from({ length: 40 }, (_, i) => [i % 2 === 0 ? i : -i, 4, 100 - i] as const)
    const own = ownBatch(1, [7, 3, 100], ...many, [unsafe, -1, 8])
    push(batch(0, [1, 0, 0]))
    push(own)
    push(batch(1, [2, 0, 1]))
    work()
    const expected = many.map(([value, partition, offset]) => `${value}@${partition}:${offset}`)
    expect(events.filter((event) => event !== '1@0:0')).toEqual([
      '7@3:100',
      ...expected,
      `${unsafe}@-1:0`,
      '2@0:1',
    ])
    expect(credits.filter((channel) => channel === 1)).toEqual([1, 1])
    expect(spaces).toContain(own)
  })

  it('reads nothing after a barrier until the slow channel has delivered its barrier', () => {
    const { push, work, events, clock } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1) })
    push(batch(0, [50, 0, 5]))
    work()
    push(batch(1, [60, 1, 6]))
    work()
    clock.advance(30)
    expect(events).toEqual(['60@1:6'])
    push({ kind: 'barrier', channel: 1, barrier: barrier(1) })
    work()
    expect(events).toEqual(['60@1:6', 'snapshot 1 30', '50@0:5'])
  })

  it('continues reading after a barrier in at-least-once mode', () => {
    const { push, work, events } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1, 'at-least-once') })
    push(batch(0, [50, 0, 5]))
    work()
    push({ kind: 'barrier', channel: 1, barrier: barrier(1, 'at-least-once') })
    work()
    expect(events).toEqual(['50@0:5', 'snapshot 1 0'])
  })

  it('processes restored records before any input, and returns no credit for them', () => {
    const { push, work, events, credits } = setUp([batch(1, [7, 3, 100]), batch(1, [8, 3, 101])])
    push(batch(0, [50, 0, 5]))
    push({ kind: 'watermark', channel: 0, timestamp: 9 })
    push({ kind: 'watermark', channel: 1, timestamp: 9 })
    work()
    expect(events).toEqual(['7@3:100', '8@3:101', '50@0:5', 'watermark 9'])
    expect(credits).toEqual([0])
  })

  it('takes the snapshot of an unaligned checkpoint when its first barrier comes, and saves what it overtakes', async () => {
    const { push, work, events, input } = setUp()
    const overtaking = { ...barrier(1), alignedTimeoutMs: 0 }
    push(batch(0, [50, 0, 5]))
    push({ kind: 'barrier', channel: 0, barrier: overtaking })
    push(batch(0, [51, 0, 6]))
    push(batch(1, [60, 1, 7]))
    await Promise.resolve()
    expect(events).toEqual(['snapshot 1 0'])
    const entries = input.overtaken(1)!
    push(batch(1, [61, 1, 8]))
    work()
    push({ kind: 'barrier', channel: 1, barrier: overtaking })
    push(batch(1, [62, 1, 9]))
    work()
    const offsets = (await entries).map((entry) =>
      decodeInFlight(entry).records.map(({ position }) => position.offset),
    )
    expect(offsets).toEqual([[5], [7, 8]])
    expect(events.slice(1).sort()).toEqual(['50@0:5', '51@0:6', '60@1:7', '61@1:8', '62@1:9'])
  })

  it('aligns an unaligned checkpoint until its timeout, counted from its start', () => {
    const { push, work, events, input, clock } = setUp()
    const overtaking = { ...barrier(1), timestampMs: clock.nowMs(), alignedTimeoutMs: 50 }
    clock.advance(10)
    push({ kind: 'barrier', channel: 0, barrier: overtaking })
    push(batch(0, [50, 0, 5]))
    work()
    clock.advance(39)
    expect(events).toEqual([])
    clock.advance(1)
    expect(events).toEqual(['snapshot 1 40'])
    expect(input.overtaken(1)).toBeDefined()
    work()
    expect(events).toEqual(['snapshot 1 40', '50@0:5'])
  })

  it('is aligned when all barriers come before the timeout', () => {
    const { push, work, events, input, clock } = setUp()
    const overtaking = { ...barrier(1), timestampMs: clock.nowMs(), alignedTimeoutMs: 50 }
    for (const channel of [0, 1]) push({ kind: 'barrier', channel, barrier: overtaking })
    work()
    clock.advance(60)
    expect(events).toEqual(['snapshot 1 0'])
    expect(input.overtaken(1)).toBeUndefined()
  })

  it('declines what it has saved when the checkpoint is aborted', async () => {
    const { push, input } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: { ...barrier(1), alignedTimeoutMs: 0 } })
    await Promise.resolve()
    const entries = input.overtaken(1)
    input.aborted(1)
    await expect(entries).rejects.toMatchObject({ code: 'CHECKPOINT_DECLINED' })
  })

  it('continues reading when the coordinator aborts the checkpoint, and ignores its late barrier', () => {
    const { push, work, events, input } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1) })
    push(batch(0, [50, 0, 5]))
    work()
    input.aborted(1)
    push({ kind: 'barrier', channel: 1, barrier: barrier(1) })
    work()
    expect(events).toEqual(['50@0:5'])
  })

  it('declines a checkpoint that upstream has aborted', () => {
    const { push, work, events } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1) })
    push({ kind: 'cancel', channel: 1, checkpointId: 1 })
    work()
    expect(events).toEqual(['declined 1 cancel-marker'])
  })

  it('forwards the watermark of the slowest channel, and of the others when it is idle', () => {
    const { push, work, events } = setUp()
    push({ kind: 'watermark', channel: 0, timestamp: 10 })
    work()
    expect(events).toEqual([])
    push({ kind: 'idle', channel: 1, idle: true })
    work()
    expect(events).toEqual(['watermark 10'])
  })

  it('ends its input when every channel has ended', () => {
    const { push, work, events } = setUp()
    push({ kind: 'end', channel: 0 })
    work()
    expect(events).toEqual([])
    push({ kind: 'end', channel: 1 })
    work()
    expect(events.at(0)).toBe('end 0')
    expect(events.at(-1)).toBe('ended')
  })
})
