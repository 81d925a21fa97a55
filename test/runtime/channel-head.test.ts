import { describe, expect, it } from 'vitest'
import { newAlignment } from '../../src/checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../../src/checkpoint/protocol/checkpoint-types.ts'
import { MetricGroup } from '../../src/core/metrics.ts'
import { int53Serializer, type Serializer } from '../../src/core/serializer.ts'
import type { StreamNode } from '../../src/dataflow/stream-graph.ts'
import { AbstractOperator } from '../../src/operators/abstract-operator.ts'
import { ChannelHead } from '../../src/runtime/channel-head.ts'
import type { ForwardMessage } from '../../src/runtime/channel-message.ts'
import { InputChannel } from '../../src/runtime/input-channel.ts'
import { OperatorStateMemory } from '../../src/runtime/operator-state-memory.ts'
import { OperatorTask } from '../../src/runtime/operator-task.ts'
import { OutputChannel } from '../../src/runtime/output-channel.ts'
import { ProgressCombiner } from '../../src/runtime/progress-combiner.ts'
import { SingleOutput } from '../../src/runtime/record-output.ts'
import { Subtask } from '../../src/runtime/subtask.ts'
import { RowTableDirectory } from '../../src/state/row-table-directory.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

const serializer = int53Serializer as Serializer<unknown>

/** A subtask of two input channels whose events are written down in order. */
function setUp() {
  const clock = new ManualClock()
  const events: string[] = []
  const subtask = new Subtask('task#0', 0, new MetricGroup(), {
    attempt: 1,
    clock,
    rowTables: new RowTableDirectory(),
    wake() {},
    sendEvent() {},
    failed: (_subtask, error) => {
      throw error
    },
    ended: () => events.push('ended'),
    snapshot: (_subtask, barrier, ms) => events.push(`snapshot ${barrier.checkpointId} ${ms}`),
    declined: (_subtask, id, reason) => events.push(`declined ${id} ${reason}`),
    progress() {},
  })
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
    maxParallelism: 128,
    body: { kind: 'operator', create: () => new Recording() },
    inputs: 1,
    chainable: true,
    isSink: false,
  }
  const task = new OperatorTask(
    node,
    new Recording(),
    undefined,
    new OperatorStateMemory(),
    new MetricGroup(),
  )
  subtask.addOperator(task)
  const channels = [new InputChannel(0, 0, 0), new InputChannel(1, 1, 0)]
  const credits: number[] = []
  const head = new ChannelHead(
    subtask,
    task,
    channels.map((channel) => ({ channel, serializer, keyed: false, progressEdge: -1, sender: 0 })),
    new ProgressCombiner([]),
    (channel) => credits.push(channel),
  )
  subtask.head = head
  subtask.alignment = newAlignment(2)
  subtask.running = true
  const work = (): void => {
    while (subtask.step(Number.POSITIVE_INFINITY));
  }
  const push = (message: ForwardMessage): void => channels[message.channel]!.push(message)
  return { clock, events, channels, credits, head, push, work }
}

/** A batch with one value per given position. */
function batch(channel: number, ...records: readonly (readonly [number, number, number])[]) {
  const sent: ForwardMessage[] = []
  const owner = {
    blockedChannels: 0,
    bytesOut: 0,
    recordsEmitted: 0,
    currentPosition: { partition: 0, offset: 0 },
  }
  const options = { batchBytes: 100_000, credits: 1 }
  const out = new OutputChannel(channel, owner, (message) => sent.push(message), options)
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

describe('ChannelHead', () => {
  it('processes records with their source positions and gives the credit back', () => {
    const { push, work, events, credits } = setUp()
    push(batch(1, [7, 3, 100], [8, 3, 101], [9, 4, 5]))
    work()
    expect(events).toEqual(['7@3:100', '8@3:101', '9@4:5'])
    expect(credits).toEqual([1])
  })

  it('reads nothing behind a barrier until the slow channel has delivered its own', () => {
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

  it('goes on reading behind a barrier in at-least-once mode', () => {
    const { push, work, events } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1, 'at-least-once') })
    push(batch(0, [50, 0, 5]))
    work()
    push({ kind: 'barrier', channel: 1, barrier: barrier(1, 'at-least-once') })
    work()
    expect(events).toEqual(['50@0:5', 'snapshot 1 0'])
  })

  it('reads on when the coordinator gives the checkpoint up, and ignores its late barrier', () => {
    const { push, work, events, head } = setUp()
    push({ kind: 'barrier', channel: 0, barrier: barrier(1) })
    push(batch(0, [50, 0, 5]))
    work()
    head.aborted(1)
    push({ kind: 'barrier', channel: 1, barrier: barrier(1) })
    work()
    expect(events).toEqual(['50@0:5'])
  })

  it('declines a checkpoint that upstream gave up', () => {
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
