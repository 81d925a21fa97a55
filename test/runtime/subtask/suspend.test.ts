import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import type { SourcePosition } from '../../../src/core/position.ts'
import { type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { AbstractOperator } from '../../../src/operators/port/abstract-operator.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { until } from '../../run/until.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const NUMBERS = Array.from({ length: 100 }, (_, n) => n)

/** What a record waits for, which a test opens. */
class Gate {
  waiting = 0
  /** Records that came while another one waited. */
  behind = 0
  private opening = Promise.withResolvers<void>()

  async pass(): Promise<void> {
    this.waiting += 1
    await this.opening.promise
    this.waiting -= 1
  }

  open(): void {
    this.opening.resolve()
  }

  fail(error: Error): void {
    this.opening.reject(error)
  }
}

/** Passes numbers on; those of seven wait for the gate, and those that were read with them wait behind them. */
class WaitingOperator extends AbstractOperator {
  private readonly gate: Gate
  private readonly held: { readonly value: number; readonly position: SourcePosition }[] = []

  constructor(gate: Gate) {
    super()
    this.gate = gate
  }

  processElement(_input: number, value: unknown): void {
    const number = value as number
    if (this.held.length === 0 && number % 7 > 0) {
      this.pass(number)
      return
    }
    if (this.held.length > 0) this.gate.behind += 1
    this.held.push({ value: number, position: { ...this.context.position() } })
    if (this.held.length === 1) this.context.suspend(() => this.passHeld())
  }

  private async passHeld(): Promise<void> {
    for (let next = this.held[0]; next !== undefined; next = this.held[0]) {
      if (next.value % 7 === 0) await this.gate.pass()
      this.context.resumeAt(next.position)
      this.pass(next.value)
      this.held.shift()
    }
  }

  private pass(value: number): void {
    const { partition, offset } = this.context.position()
    this.context.output.collect(`${value} of ${partition}/${offset}`, -1)
  }
}

const EXPECTED = NUMBERS.map((n) => `${n} of 0/${n}`)

/** Numbers through an operator that waits for a gate: in the chain of the source, or behind a shuffle. */
function graphOf(
  gate: Gate,
  sink: MemorySink<string>,
  { isKeyed = false, isBounded = false }: { isKeyed?: boolean; isBounded?: boolean } = {},
): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1, maxParallelism: 16 })
  const source = isBounded
    ? new GeneratorSource<number>({ generate: (n) => n, partitions: 1, countPerPartition: 1 })
    : new MemorySource([NUMBERS], { bounded: false })
  const numbers = env.fromSource(source, undefined, 'numbers').uid('numbers')
  const input = isKeyed ? numbers.keyBy(() => 'all', stringSerializer) : numbers
  input
    .transform<string>('Waiting', () => new WaitingOperator(gate), {
      serializer: stringSerializer as Serializer<string>,
      needsKey: isKeyed,
    })
    .uid('waiting')
    // What is emitted after the end of a channel is lost.
    .keyBy(() => 'all', stringSerializer)
    .process<string>(() => ({ processElement: (text, _context, out) => out.collect(text) }))
    .uid('copy')
    .sinkTo(sink)
    .uid('out')
  return env.graph('suspended')
}

describe.each([
  ['in the chain of its source', false],
  ['behind a shuffle', true],
])('an operator that is suspended %s', (_, isKeyed) => {
  it('takes no input, a checkpoint waits for its work, and results keep order and position', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path, ...QUICK_RESTARTS },
    })
    const gate = new Gate()
    const sink = new MemorySink<string>('exactly-once')
    const job = cluster.startLocal(graphOf(gate, sink, { isKeyed }))
    await until('a record waits', () => gate.waiting === 1)
    let isDone = false
    const checkpoint = job.triggerCheckpoint().then(() => {
      isDone = true
    })
    for (let n = 0; n < 50; n++) await turn()
    expect(isDone).toBe(false)
    expect(gate.waiting).toBe(1)
    // A source delivers several records at once; a channel stops after the one that waits.
    if (isKeyed) expect(gate.behind).toBe(0)
    gate.open()
    await checkpoint
    await until('all are there', async () => {
      await job.triggerCheckpoint()
      return sink.values.length >= NUMBERS.length
    })
    expect(sink.values).toEqual(EXPECTED)
    if (isKeyed) expect(gate.behind).toBe(0)
  })

  it('loses nothing and repeats nothing when its slot is killed meanwhile', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: { 'execution.checkpointing.dir': folder.path, ...QUICK_RESTARTS },
    })
    const gate = new Gate()
    const sink = new MemorySink<string>('exactly-once')
    const job = cluster.startLocal(graphOf(gate, sink, { isKeyed }))
    await until('a record waits', () => gate.waiting === 1)
    job.killSlot(0)
    await until('it waits again', () => gate.waiting === 2)
    gate.open()
    await until('all are there', async () => {
      await job.triggerCheckpoint()
      return sink.values.length >= NUMBERS.length
    })
    expect(sink.values).toEqual(EXPECTED)
  })
})

it('an error of suspended work fails the job, and names the operator', async () => {
  await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
  const gate = new Gate()
  const job = cluster.startLocal(graphOf(gate, new MemorySink<string>()))
  const failure = job.result.catch((error: unknown) => String(error))
  await until('a record waits', () => gate.waiting === 1)
  gate.fail(new Error('the other slot has no answer'))
  expect(await failure).toMatch(/operator Waiting .*, failed: the other slot has no answer/)
})

it('a source that ends with the record ends the job after the work', async () => {
  await using cluster = new MiniCluster()
  const gate = new Gate()
  const sink = new MemorySink<string>('exactly-once')
  const job = cluster.startLocal(graphOf(gate, sink, { isBounded: true }))
  await until('a record waits', () => gate.waiting === 1)
  for (let n = 0; n < 50; n++) await turn()
  expect(sink.values).toEqual([])
  gate.open()
  await job.result
  expect(sink.values).toEqual(EXPECTED.slice(0, 1))
})
