import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { LoadedModel } from '../../src/inference/port/runner.ts'
import type { Tensor } from '../../src/inference/port/tensor.ts'
import { openModel } from '../../src/inference/runners/open.ts'
import { ModelsProcess } from '../../src/jobs/models/process.ts'
import { ALONE_KINDS } from '../../test/inference/onnx/alone-kinds.ts'
import { BATCHED_KINDS, type GraphKind } from '../../test/inference/onnx/batched-kinds.ts'

/** Kinds of graphs that are served at once. */
const AT_ONCE = 8
/** Most rows of a request. */
const MOST_ROWS = 5
/** Largest difference by rounding, as a share of the largest number of an output. */
const ROUNDING = 1e-4

const KINDS: readonly (readonly [string, GraphKind])[] = [
  ...Object.entries(BATCHED_KINDS),
  ...Object.entries(ALONE_KINDS),
]

/** Options of the campaign. */
export interface MixtureOptions {
  readonly seed: number
  /** Least duration; all kinds are served at least once. */
  readonly minutes: number
  /** Requests of each graph, all in flight at once. */
  readonly requests: number
  /** Kinds that are served in a round. @default all */
  readonly kinds?: number
  readonly say: (line: string) => void
}

/** What became of the requests. */
export interface MixtureReport {
  /** Kinds of graphs, and graphs. */
  readonly kinds: number
  readonly graphs: number
  readonly asked: number
  /** Answers that are not those of ONNX Runtime for the request alone. */
  readonly wrong: number
  /** Requests that ended with an error, although ONNX Runtime answers them. */
  readonly lost: number
  readonly violations: readonly string[]
}

type Tally = { -readonly [Key in 'graphs' | 'asked' | 'wrong' | 'lost']: number } & {
  readonly violations: string[]
}

/**
 * Serves graphs of many kinds, some of which mix the rows of a run, and asks each of them many times at once. Every answer
 * must be that of ONNX Runtime for the request alone; kinds whose rows are independent must share runs.
 */
export async function runMixtures(options: MixtureOptions): Promise<MixtureReport> {
  const { seed, minutes, kinds = KINDS.length, say } = options
  const tally: Tally = { graphs: 0, asked: 0, wrong: 0, lost: 0, violations: [] }
  const random = seededRandom(seed)
  const endsAt = performance.now() + minutes * 60_000
  const chosen = KINDS.map((kind) => ({ kind, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, kinds)
    .map(({ kind }) => kind)
  do {
    for (let at = 0; at < chosen.length; at += AT_ONCE) {
      await serveSome(chosen.slice(at, at + AT_ONCE), { ...options, random, tally })
    }
    say(`${tally.graphs} graphs, ${tally.asked} answers, ${tally.wrong} wrong, ${tally.lost} lost`)
  } while (performance.now() < endsAt && tally.violations.length === 0)
  return { kinds: chosen.length, ...tally }
}

type Round = MixtureOptions & { readonly random: Random; readonly tally: Tally }

async function serveSome(
  kinds: readonly (readonly [string, GraphKind])[],
  round: Round,
): Promise<void> {
  const repository = mkdtempSync(join(tmpdir(), 'weir-mixtures-'))
  try {
    const made = kinds.map(([name, kind], i) => {
      const folder = join(repository, `kind-${i}`, '1')
      mkdirSync(folder, { recursive: true })
      const graph = kind.make(round.random)
      writeFileSync(join(folder, 'model.onnx'), graph.bytes)
      writeFileSync(join(repository, `kind-${i}`, 'deployment.yaml'), SETTINGS)
      return { name, model: `kind-${i}`, file: join(folder, 'model.onnx'), request: graph.request }
    })
    const engine = openInferenceEngine()
    await using models = await ModelsProcess.start({ repository, port: 0, engine })
    await Promise.all(made.map((one) => askMany(models, one, round)))
  } finally {
    rmSync(repository, { recursive: true, force: true })
  }
}

/** Requests wait for others for a moment, so that those that may share a run do. */
const SETTINGS = 'slo-ms: 120000\nbatching: { rule: window, delay-ms: 20 }\nqueue-capacity: 1024\n'

interface Made {
  readonly name: string
  readonly model: string
  readonly file: string
  readonly request: ReturnType<GraphKind['make']>['request']
}

async function askMany(
  { state }: ModelsProcess,
  { name, model, file, request }: Made,
  { random, requests, tally }: Round,
): Promise<void> {
  const numbers = seededRandom(random.below(2 ** 31))
  const alone = await openModel({ kind: 'onnx', file }, { threads: 1, batches: false })
  const wanted: (readonly Tensor[])[] = []
  const asked = Array.from({ length: requests }, () =>
    request(numbers, 1 + numbers.below(MOST_ROWS)),
  )
  for (const inputs of asked) wanted.push(await copied(alone, inputs))
  await alone.close()
  const { batching, maxBatchItems } = await state.signature(model)
  const isShown = Object.hasOwn(BATCHED_KINDS, name)
  if (isShown !== maxBatchItems > 0) tally.violations.push(`${name}: ${batching}`)
  const violation = (what: string): void => {
    if (tally.violations.length < 20) tally.violations.push(`${name} (${batching}): ${what}`)
  }
  await Promise.all(
    asked.map(async (inputs, i) => {
      tally.asked++
      try {
        const { outputs } = await state.inferRaw(model, { inputs, outputs: [] })
        const wrong = differenceOf(outputs, wanted[i]!)
        if (wrong === undefined) return
        tally.wrong++
        violation(wrong)
      } catch (error) {
        tally.lost++
        violation((error as Error).message)
      }
    }),
  )
  const { statistics } = await state.signature(model)
  const isShared = statistics['batches']! < requests
  if (isShown && !isShared) violation('no request shared a run')
  tally.graphs++
}

/** Outputs of ONNX Runtime in memory of their own; the settings say that it is not batched. */
async function copied(alone: LoadedModel, inputs: readonly Tensor[]): Promise<readonly Tensor[]> {
  const outputs = await alone.run(inputs, 1)
  return outputs.map((output) => ({ ...output, data: output.data.slice() }))
}

function differenceOf(actual: readonly Tensor[], wanted: readonly Tensor[]): string | undefined {
  for (const [i, tensor] of wanted.entries()) {
    const found = actual[i]
    if (found?.shape.join() !== tensor.shape.join()) {
      return `${tensor.name} has the shape [${found?.shape.join(', ')}], not [${tensor.shape.join(', ')}]`
    }
    // Every output of the kinds is one of floats.
    const [x, y] = [floatsOf(found.data), floatsOf(tensor.data)]
    const largest = y.reduce((most, one) => Math.max(most, Math.abs(one)), 1)
    const at = x.findIndex((one, e) => !(Math.abs(one - y[e]!) <= ROUNDING * largest))
    if (at >= 0) return `element ${at} of ${tensor.name} is ${x[at]}, not ${y[at]}`
  }
  return undefined
}

const floatsOf = (data: Uint8Array): Float32Array => new Float32Array(data.slice().buffer)
