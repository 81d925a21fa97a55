import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../src/inference/port/engine.ts'
import type { ModelSource } from '../../src/inference/port/model.ts'
import { floats, linearModel } from '../../test/system/inference/models.ts'
import { type Slope, slopeOfSecondHalf } from './memory-slope.ts'

const KIB = 2 ** 10
const MIB = 2 ** 20
/** Rows and columns of the model: its weights have 1 MiB, so that a leak of each would be seen. */
const SIZE = 512
/** Longest wait for what ends after an unload, ms. */
const SETTLE_MS = 10_000
/** Most growth of memory from the first third to the last one: less than a tenth of the weights that were loaded. */
const GROWTH_SHARE = 0.1

/** Options of the campaign. */
export interface LoadsOptions {
  readonly seed: number
  /** Loads in a row. */
  readonly count: number
  readonly say: (line: string) => void
}

/** What the process holds. */
interface Held {
  readonly rssMib: number
  readonly descriptors: number
  readonly threads: number
}

/** Result of the campaign, printed as JSON. */
export interface LoadsReport {
  readonly campaign: 'loads'
  readonly seed: number
  readonly loads: number
  readonly first: Held
  readonly last: Held
  /** Growth of resident memory from the middle of the first third to the middle of the last one, MiB. */
  readonly growthMib: number
  /** Growth of resident memory by load, KiB, over the second half of the loads; undefined for very few loads. */
  readonly kibPerLoad: Slope | undefined
  readonly violations: readonly string[]
}

/**
 * Loads a model of ONNX, asks it once and unloads it, again and again. Descriptors and threads must come back
 * to where they were, and memory must not grow with the number of loads.
 */
export async function runLoads({ seed, count, say }: LoadsOptions): Promise<LoadsReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-loads-'))
  try {
    await using engine = openInferenceEngine()
    const source = linearModel(folder, { inputs: SIZE, outputs: SIZE })
    await loadOnce(engine, source)
    const first = await settled()
    const rss: number[] = []
    for (let load = 1; load <= count; load++) {
      await loadOnce(engine, source)
      collectGarbage()
      rss.push(process.memoryUsage.rss() / KIB)
      if (load % 50 === 0) say(`${load} loads: ${JSON.stringify(held())}`)
    }
    const last = await settled(first)
    const growthMib = growthOf(rss.map((kib) => (kib * KIB) / MIB))
    const kibPerLoad = slopeOfSecondHalf(rss)
    const violations = violationsOf(first, last, { growthMib, count })
    return { campaign: 'loads', seed, loads: count, first, last, growthMib, kibPerLoad, violations }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function loadOnce(engine: InferenceEngine, source: ModelSource): Promise<void> {
  const id = { name: 'square', version: 1 }
  await engine.load(id, source, { sloMs: 60_000, queueCapacity: 16 })
  await engine.infer({ model: id, inputs: [floats('x', [1, SIZE], new Float32Array(SIZE))] })
  await engine.unload(id)
}

/** What is held once descriptors and threads are those of `before`, or after a while. */
async function settled(before?: Held): Promise<Held> {
  const endsAt = systemClock.monotonicMs() + (before === undefined ? 0 : SETTLE_MS)
  for (;;) {
    collectGarbage()
    const now = held()
    const isBack = before?.descriptors === now.descriptors && before.threads === now.threads
    if (isBack || systemClock.monotonicMs() >= endsAt) return now
    await sleep(systemClock, 20)
  }
}

function held(): Held {
  return {
    rssMib: Math.round(process.memoryUsage.rss() / MIB),
    descriptors: readdirSync('/proc/self/fd').length,
    threads: readdirSync('/proc/self/task').length,
  }
}

setFlagsFromString('--expose-gc')
/** The queues of unloaded models are garbage until it is collected. One context for all calls: each takes memory. */
const collectGarbage = runInNewContext('gc') as () => void

function growthOf(rss: readonly number[]): number {
  const third = Math.ceil(rss.length / 3)
  return Math.round(median(rss.slice(-third)) - median(rss.slice(0, third)))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >>> 1]!
}

function violationsOf(
  first: Held,
  last: Held,
  { growthMib, count }: { readonly growthMib: number; readonly count: number },
): string[] {
  const weightsMib = (SIZE * SIZE * 4) / MIB
  const mostMib = Math.max(16, (count * 2 * weightsMib * GROWTH_SHARE) / 3)
  const violations: string[] = []
  if (growthMib > mostMib) violations.push(`memory grew by ${growthMib} MiB`)
  for (const what of ['descriptors', 'threads'] as const) {
    if (last[what] > first[what]) violations.push(`${what}: ${last[what]} after ${first[what]}`)
  }
  return violations
}
