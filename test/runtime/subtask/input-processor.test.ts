import { describe, expect, it } from 'vitest'
import { newAlignment } from '../../../src/checkpoint/protocol/barrier-alignment.ts'
import type { Barrier } from '../../../src/checkpoint/protocol/checkpoint-types.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { int53Serializer, type Serializer } from '../../../src/core/serializer.ts'
import type { StreamNode } from '../../../src/dataflow/stream-graph.ts'
import { AbstractOperator } from '../../../src/operators/port/abstract-operator.ts'
import { InputChannel } from '../../../src/runtime/channel/input.ts'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import { ProgressCombiner } from '../../../src/runtime/channel/progress-combiner.ts'
import { InputProcessor } from '../../../src/runtime/subtask/input-processor.ts'
import { OperatorStateMemory } from '../../../src/runtime/subtask/operator-state-memory.ts'
import { OperatorTask } from '../../../src/runtime/subtask/operator-task.ts'
import { SingleOutput } from '../../../src/runtime/subtask/record-output.ts'
import { Subtask, type SubtaskHost } from '../../../src/runtime/subtask/subtask.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const serializer = int53Serializer as Serializer<unknown>

/** A subtask with two input channels whose events are recorded in order. */
function setUp() {
  const clock = new ManualClock()
  const events: string[] = []
  const host: SubtaskHost = {
    attempt: 1,
    clock,
    rowTables: new StateCatalog(),
    accumulatorTypes: new Map(),
    wake() {},
    sendEvent() {},
    acceptsLostTransactions: false,
    warn() {},
    failed: (_subtask, error) => {
      throw error
    },
    ended: () => events.push('ended'),
    snapshot: (_subtask, barrier, ms) => events.push(`snapshot ${barrier.checkpointId} ${ms}`),
    declined: (_subtask, id, reason) => events.push(`declined ${id} ${reason}`),
    partitionFound() {},
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
  })
  subtask.addOperator(task)
  const channels = [new InputChannel(0, 0, 0), new InputChannel(1, 1, 0)]
  const credits: number[] = []
  const role = {
    values: serializer,
    serializer,
    edge: 'in',
    keyed: false,
    progressEdge: -1,
    sender: 0,
  }
  const input = new InputProcessor(subtask, {
    task,
    roles: channels.map((channel) => ({ channel, ...role })),
    progress: new ProgressCombiner([]),
    overtaking: true,
    returnCredit: (channel) => credits.push(channel),
  })
  subtask.input = input
  subtask.alignment = newAlignment(2)
  subtask.running = true
  const work = (): void => {
    while (subtask.step(Number.POSITIVE_INFINITY));
  }
  const push = (message: ForwardMessage): void => channels[message.channel]!.push(message)
  return { clock, events, channels, credits, input, push, work }
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
  const send = (message: ForwardMessage) => sent.push(message)
  const out = new OutputChannel({ id: channel, owner, send, batchBytes: 100_000, credits: 1 })
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
