import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { AbstractOperator } from '../../../src/operators/port/abstract-operator.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import type { OperatorCoordinator } from '../../../src/runtime/protocol/operator-coordinator.ts'
import type { ServingPort } from '../../../src/runtime/protocol/serving-port.ts'
import type { MessagePortLike } from '../../../src/runtime/protocol/slot-messages.ts'
import {
  packSlotQueryRequest,
  type SlotQueryReplyMessage,
  unpackSlotQueryReply,
} from '../../../src/state/catalog/slot-query-message.ts'
import type { TypedStateShare } from '../../../src/state/catalog/typed-state-share.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder } from '../job-fixture.ts'

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

/** Keeps the newest number of every key under a queryable name. */
function latestNumbers(env: StreamExecutionEnvironment, source: MemorySource<number>) {
  return env
    .fromSource(source)
    .uid('numbers')
    .keyBy((n) => n % 10)
    .process<number>(() => {
      let save: (n: number) => void
      return {
        open(context) {
          const state = context.getState(valueState<number>('latest', { queryableName: 'LATEST' }))
          save = (n) => state.update(n)
        },
        processElement: (n) => save(n),
      }
    })
    .uid('latest')
}

/** A source whose second subtask looks for its beginning until `gate` opens. */
function lateInPart(gate: { isOpen: boolean }): MemorySource<number> {
  const source = new MemorySource([range(10), range(10)], { bounded: false })
  const createReader = source.createReader.bind(source)
  let readers = 0
  source.createReader = () => {
    const reader = createReader()
    if (readers++ === 0) return reader
    const late = Object.create(reader) as typeof reader
    late.poll = (...args) => (gate.isOpen ? reader.poll(...args) : 'more')
    late.snapshot = () =>
      reader.snapshot().map((split) => (gate.isOpen ? split : { ...split, nextOffset: -1 }))
    return late
  }
  return source
}

describe('source progress', () => {
  it('has no age while a partition has not been read, however fresh the others are', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const gate = { isOpen: false }
    latestNumbers(env, lateInPart(gate)).sinkTo(new MemorySink())
    const { board } = cluster.startLocal(env.graph())
    await until('both slots have read', () => board.asOfMs(0, 0) > 0 && board.asOfMs(1, 0) > 0)
    expect([0, 1].map((slot) => board.oldestAsOfMs(slot))).toEqual([0, 0])
    gate.isOpen = true
    await until('the board shows the offsets', () =>
      [0, 1].every((slot) => board.nextOffset(slot, 1) === 10),
    )
    for (const slot of [0, 1]) expect(board.oldestAsOfMs(slot)).toBeGreaterThan(0)
  })

  it('reaches the board once every keyed subtask of the slot has applied the records', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const source = new MemorySource([range(1000), range(500)], { bounded: false })
    latestNumbers(env, source).sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph())
    await job.waitFor('RUNNING')
    const before = systemClock.monotonicMs()
    for (const slot of [0, 1]) {
      await until('the board shows the offsets', () => job.board.nextOffset(slot, 0) === 1000)
      await until('the board shows the offsets', () => job.board.nextOffset(slot, 1) === 500)
      await until('the board is fresh', () => job.board.asOfMs(slot, 1) >= before)
      expect(job.board.slotStatus(slot)).toBe('running')
    }
  })

  it('has slots that start, and do not restore, when there is no checkpoint', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    latestNumbers(env, new MemorySource([range(10)], { bounded: false })).sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph())
    const seen = new Set<string>()
    const statusesSeen = (): boolean => {
      const statuses = [0, 1].map((slot) => job.board.slotStatus(slot))
      for (const status of statuses) seen.add(status)
      return statuses.every((status) => status === 'running')
    }
    await until('both slots run', statusesSeen, { everyMs: 0 })
    expect(seen).toContain('starting')
    expect(seen).not.toContain('restoring')
  })

  it('passes through a second shuffle', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const source = new MemorySource([range(1000)], { bounded: false })
    env
      .fromSource(source)
      .rebalance()
      .map((n) => n + 1)
      .keyBy((n) => n)
      .process<number>(() => ({ processElement: (n, _c, out) => out.collect(n) }))
      .keyBy((n) => n % 3)
      .process<number>(() => ({ processElement: (n, _c, out) => out.collect(n) }))
      .sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph())
    await until(
      'the board shows the offsets',
      () => job.board.nextOffset(0, 0) === 1000 && job.board.nextOffset(1, 0) === 1000,
    )
  })
})

describe('progress over several sources', () => {
  it('is kept for each source by itself', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const first = env.fromSource(new MemorySource([range(10)], { bounded: false })).uid('first')
    const second = env.fromSource(new MemorySource([range(300)], { bounded: false })).uid('second')
    first
      .union(second)
      .keyBy((n) => n)
      .process<number>(() => ({
        processElement: (n, _context, out) => out.collect(n),
      }))
      .sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph())
    const { board } = job
    for (const slot of [0, 1]) {
      await until(
        'the board shows the offsets',
        () => board.nextOffset(slot, 0, 0) === 10 && board.nextOffset(slot, 0, 1) === 300,
      )
    }
    expect(board.share.sources).toMatchObject([
      { uid: 'first', tracked: true },
      { uid: 'second', tracked: true },
    ])
    expect(board.nextOffset(0, 0, 0)).toBe(10)
  })
})

describe('event time', () => {
  it('fires windows although one partition of the source is idle', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const sink = new MemorySink<number>()
    const source = new MemorySource([range(1000), []], { bounded: false })
    env
      .fromSource(
        source,
        boundedOutOfOrderness<number>(0, { timestampOf: (n) => n, idleAfterMs: 20 }),
      )
      .keyBy(() => 'all')
      .window(tumblingEventTimeWindows(100))
      .reduce((a, b) => Math.max(a, b))
      .sinkTo(sink)
    cluster.startLocal(env.graph())
    await until('all windows are closed', () => sink.values.length === 9)
    expect(sink.values.at(-1)).toBe(899)
  })
})

describe('coordinators and queries', () => {
  it('carries events between an operator and its coordinator on the main thread', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const answered: unknown[] = []
    class Asking extends AbstractOperator {
      override open(context: Parameters<AbstractOperator['open']>[0]): void {
        void super.open(context)
        context.sendEvent({ hello: context.subtask })
      }
      processElement(): void {}
      override handleEvent(event: unknown): void {
        answered.push([this.context.subtask, event])
      }
    }
    const source = new MemorySource([range(10)], { bounded: false })
    env
      .fromSource(source)
      .map((n) => n)
      .uid('asking')
      .sinkTo(new MemorySink())
    const graph = env.graph()
    const nodes = graph.nodes.map((node) =>
      node.uid === 'asking'
        ? { ...node, body: { kind: 'operator', create: () => new Asking() } as const }
        : node,
    )
    const heard: unknown[] = []
    let reply: ((subtask: number | undefined, event: unknown) => void) | undefined
    const coordinator: OperatorCoordinator = {
      start(context) {
        reply = context.sendEvent
        context.board.setLiveVersion(0, 5)
      },
      handleEvent(subtask, event) {
        heard.push([subtask, event])
        if (heard.length === 2) reply!(undefined, 'welcome')
      },
    }
    const job = cluster.startLocal({ ...graph, nodes }, { coordinators: { asking: coordinator } })
    await until('both slots are answered', () => answered.length === 2)
    expect(heard).toContainEqual([0, { hello: 0 }])
    expect(heard).toContainEqual([1, { hello: 1 }])
    expect(answered).toContainEqual([1, 'welcome'])
    expect(job.board.liveVersion(0)).toBe(5)
  })

  it('shows during a restore how far the checkpoint had read', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path },
    })
    const build = (open: () => Promise<void>) => {
      const env = new StreamExecutionEnvironment({ parallelism: 2 })
      env
        .fromSource(new MemorySource([range(100)], { bounded: false }))
        .uid('numbers')
        .keyBy((n) => n)
        .process<number>(() => ({ open, processElement: (n, _context, out) => out.collect(n) }))
        .uid('keyed')
        .sinkTo(new MemorySink())
        .uid('out')
      return env.graph()
    }
    const jobId = 'd'.repeat(32)
    const first = cluster.startLocal(
      build(async () => {}),
      { jobId },
    )
    await until(
      'the board shows the offsets',
      () => first.board.nextOffset(0, 0) === 100 && first.board.nextOffset(1, 0) === 100,
    )
    await first.triggerCheckpoint()
    await first.suspend()
    const gate = Promise.withResolvers<void>()
    const second = cluster.startLocal(
      build(() => gate.promise),
      { jobId },
    )
    await until(
      'the board shows the offsets',
      () => second.board.nextOffset(0, 0) > 0 && second.board.nextOffset(1, 0) > 0,
    )
    expect(second.status).toBe('INITIALIZING')
    expect([second.board.nextOffset(0, 0), second.board.asOfMs(0, 0)]).toEqual([100, 0])
    gate.resolve()
    await second.waitFor('RUNNING')
  })

  it('declares queryable states and answers query threads between slices', async () => {
    await using cluster = new MiniCluster()
    const env = new StreamExecutionEnvironment({ parallelism: 2 })
    const declared: TypedStateShare[] = []
    const ports: MessagePortLike[] = []
    const serving: ServingPort = {
      threads: 1,
      jobStarted() {},
      tableOpened() {},
      tableDropped() {},
      tablesComplete() {},
      attachSlot: (slot, _thread, port) => {
        ports[slot] = port
      },
      onThreadReplaced() {},
      tableReaders: () => [],
      slotStatus() {},
      typedStateDeclared: (share) => declared.push(share),
    }
    const source = new MemorySource([range(100)], { bounded: false })
    const stream = latestNumbers(env, source)
    stream.sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph(), { serving })
    await until(
      'the board shows the offsets',
      () => job.board.nextOffset(0, 0) === 100 && job.board.nextOffset(1, 0) === 100,
    )
    expect(declared.map(({ slot }) => slot).sort()).toEqual([0, 1])
    expect(declared.find(({ slot }) => slot === 0)).toEqual({
      operatorUid: 'latest',
      queryableName: 'LATEST',
      kind: 'value',
      keyFormat: 'key/1',
      valueFormat: 'msgpack/1',
      slot: 0,
      firstKeyGroup: 0,
      lastKeyGroup: 63,
      maxParallelism: 128,
    })
    const keys = [new TextEncoder().encode('no such key')]
    const reply = await new Promise<SlotQueryReplyMessage>((resolve) => {
      ports[0]!.on('message', resolve)
      const request = { kind: 'values', id: 7, queryableName: 'LATEST', keys } as const
      ports[0]!.postMessage(packSlotQueryRequest(request))
    })
    expect(unpackSlotQueryReply(reply)).toMatchObject({ id: 7, answers: [{ kind: 'missing' }] })
    for (const port of ports) port.close()
  })
})
