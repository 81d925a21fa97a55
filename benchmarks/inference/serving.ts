import { join } from 'node:path'
import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { Deployment } from '../../src/inference/port/deployment.ts'
import type { InferenceEngine, ModelStatistics } from '../../src/inference/port/engine.ts'
import type { ModelSource } from '../../src/inference/port/model.ts'
import type { Tensor } from '../../src/inference/port/tensor.ts'
import type { CostOptions } from './function-models.ts'

const id = { name: 'benchmark', version: 1 }
/** Time between two looks at the requests that are due, ms. */
const STEP_MS = 0.1
const never = new Int32Array(new SharedArrayBuffer(4))

/** What became of the requests of a load. */
export interface LoadResult {
  readonly answered: number
  /** Answers in time, a second. */
  readonly perSecond: number
  /** Times of answered requests in ascending order, ms. */
  readonly times: readonly number[]
  readonly refused: number
}

/** One served model under load. */
export interface ServedBenchmark extends AsyncDisposable {
  /** `outstanding` callers, each with one request after the other, for `seconds`. */
  closedLoop(outstanding: number, seconds: number): Promise<LoadResult>
  /** Requests at `perSecond`, whatever happens to them, for `seconds`. */
  openLoop(perSecond: (elapsedMs: number) => number, seconds: number): Promise<LoadResult>
  statistics(): ModelStatistics
}

/** Serves a model and sends one request to warm it. */
export async function serve(
  source: ModelSource,
  deployment: Deployment,
  inputs: readonly Tensor[],
): Promise<ServedBenchmark> {
  const engine = openInferenceEngine()
  await engine.load(id, source, deployment)
  const load = new Load(engine, inputs)
  // A rule that waits as long as it may can miss the deadline of a single request.
  await engine.infer({ model: id, inputs, deadlineMs: 2000 }).catch(() => {})
  return {
    closedLoop: (outstanding, seconds) => load.closed(outstanding, seconds),
    openLoop: (perSecond, seconds) => load.open(perSecond, seconds),
    statistics: () => engine.statistics()[0]!,
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  }
}

/** Source of a model that costs `fixedMs + itemMs x items` without using the processor. */
export const costing = (options: CostOptions): ModelSource => functionModel('costing', options)

/** Source of an export of `function-models.ts`. */
export function functionModel(name: string, options: unknown): ModelSource {
  const module = join(import.meta.dirname, 'function-models.ts')
  return { kind: 'function', module, export: name, options }
}

/** A tensor of floats. */
export function floats(name: string, shape: readonly number[]): Tensor {
  const elements = shape.reduce((product, size) => product * size, 1)
  const data = new Uint8Array(new Float32Array(elements).fill(0.5).buffer)
  return { name, datatype: 'FP32', shape, data }
}

/** The time that a share of the times stays below, ms. */
export function percentile(times: readonly number[], share: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
}

class Load {
  private readonly engine: InferenceEngine
  private readonly inputs: readonly Tensor[]
  private times: number[] = []
  private refused = 0

  constructor(engine: InferenceEngine, inputs: readonly Tensor[]) {
    this.engine = engine
    this.inputs = inputs
  }

  async closed(outstanding: number, seconds: number): Promise<LoadResult> {
    const startedAt = this.begin()
    const endsAt = startedAt + seconds * 1000
    const caller = async (): Promise<void> => {
      while (performance.now() < endsAt) await this.request()
    }
    await Promise.all(Array.from({ length: outstanding }, caller))
    return this.result(startedAt)
  }

  async open(perSecond: (elapsedMs: number) => number, seconds: number): Promise<LoadResult> {
    const startedAt = this.begin()
    const pending = new Set<Promise<void>>()
    let due = 0
    let lookedAt = startedAt
    while (lookedAt - startedAt < seconds * 1000) {
      // A timer of the event loop would send the requests of a millisecond together, which batches them already.
      Atomics.wait(never, 0, 0, STEP_MS)
      await new Promise((resolve) => setImmediate(resolve))
      const now = performance.now()
      due += (perSecond(now - startedAt) * (now - lookedAt)) / 1000
      lookedAt = now
      for (; due >= 1; due--) {
        const request = this.request().finally(() => pending.delete(request))
        pending.add(request)
      }
    }
    await Promise.all(pending)
    return this.result(startedAt)
  }

  private begin(): number {
    this.times = []
    this.refused = 0
    return performance.now()
  }

  private async request(): Promise<void> {
    const startedAt = performance.now()
    try {
      await this.engine.infer({ model: id, inputs: this.inputs })
      this.times.push(performance.now() - startedAt)
    } catch {
      this.refused++
      // A caller that is refused at once does not keep the event loop busy.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  private result(startedAt: number): LoadResult {
    const seconds = (performance.now() - startedAt) / 1000
    const times = this.times.sort((a, b) => a - b)
    const { refused } = this
    return { answered: times.length, perSecond: times.length / seconds, times, refused }
  }
}
