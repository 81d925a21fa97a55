import { requireArgument, WeirError } from '../../core/errors.ts'
import type { Deployment } from '../../inference/port/deployment.ts'
import type { InferenceEngine, InferenceProducer } from '../../inference/port/engine.ts'
import type { ModelId, ModelSource } from '../../inference/port/model.ts'
import type { ModelSignature, TensorSpec } from '../../inference/port/signature.ts'
import type { Tensor } from '../../inference/port/tensor.ts'
import type { GoldenCase } from '../../inference/repository/golden.ts'
import type { ModelSettings } from '../../inference/repository/settings.ts'
import { requireCarried } from '../../inference/sequences/carried.ts'
import { jsonOfRaw } from '../../wire/inference/json-tensor.ts'
import type { LoadedVersion, ServedModel } from './served-model.ts'

/** Runs of the golden cases behind a 99th percentile. */
const TIMED_RUNS = 100
/** Deadline of one golden run, in ms: the first one of a model may take long. */
const RUN_MS = 60_000

/** A version that is loaded and not live, and what it must keep to. */
export interface Candidate {
  readonly id: ModelId
  readonly signature: ModelSignature
  /** Signature of the live version; undefined where another one is allowed. */
  readonly liveSignature: ModelSignature | undefined
  readonly golden: readonly GoldenCase[]
  /** Longest 99th percentile of a golden run in ms; undefined for any. */
  readonly maxP99Ms: number | undefined
}

/**
 * Checks the memory of a version in a child process, before a worker loads it. Returns the deployment with the
 * memory that was measured. Rejects with PROMOTION_REFUSED, or with the error of the load.
 */
export async function checkMemory(
  engine: Pick<InferenceEngine, 'measure'>,
  source: ModelSource,
  { deployment, checks, cacheBytes, sequence }: ModelSettings,
): Promise<Deployment> {
  const { maxMemoryBytes } = checks
  requireArgument(
    source.kind !== 'pipeline' || (cacheBytes === 0 && sequence === undefined),
    'each answer of a pipeline is a decision of its own, so it has neither cache nor sequence; give those to its models',
  )
  if (maxMemoryBytes === undefined || source.kind === 'remote') return deployment
  const memoryBytes = await engine.measure(source, deployment)
  if (memoryBytes > maxMemoryBytes) {
    throw refused(
      `a worker needs ${mib(memoryBytes)} MiB, above max-memory ${mib(maxMemoryBytes)} MiB`,
    )
  }
  return { memoryBytes, ...deployment }
}

/**
 * Checks a version of a model that is loaded and not live. Rejects with PROMOTION_REFUSED, and with INVALID_ARGUMENT for
 * settings that do not fit its signature.
 */
export async function checkLoaded(
  engine: InferenceProducer,
  model: ServedModel,
  {
    id,
    signature,
    settings,
    golden,
  }: Pick<LoadedVersion, 'id' | 'signature' | 'settings'> & Pick<Candidate, 'golden'>,
): Promise<void> {
  const { checks, sequence } = settings
  requireCarried(signature, sequence)
  requireArgument(
    sequence === undefined || signature.parts !== true,
    `model "${model.name}" answers in parts and can carry no state; leave out "sequence"`,
  )
  // An alias names its version on purpose, and other requests never get it.
  const isAliased = Object.values(model.aliases).includes(id.version)
  const mayDiffer = checks.signature === 'any' || isAliased
  await checkCandidate(engine, {
    id,
    signature,
    liveSignature: mayDiffer ? undefined : model.loaded.get(model.live)?.signature,
    golden,
    maxP99Ms: checks.maxP99Ms,
  })
}

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

/**
 * Checks a version in its own workers before it goes live: its signature, the outputs of the golden inputs,
 * and the time of their runs. Rejects with PROMOTION_REFUSED, or with the error of a run.
 */
export async function checkCandidate(
  engine: InferenceProducer,
  candidate: Candidate,
): Promise<void> {
  const { signature, liveSignature, golden, maxP99Ms } = candidate
  const difference =
    liveSignature === undefined ? undefined : signatureDifference(liveSignature, signature)
  if (difference !== undefined) {
    throw refused(
      `${difference}; write "checks: { signature: any }" into deployment.yaml to allow it`,
    )
  }
  for (const [number, { inputs, outputs, tolerance }] of golden.entries()) {
    const answer = await engine.infer({ model: candidate.id, inputs, deadlineMs: RUN_MS })
    const wrong = outputDifference(outputs, answer.outputs, tolerance)
    if (wrong !== undefined) throw refused(`golden case ${number}: ${wrong}`)
  }
  if (maxP99Ms === undefined) return
  if (golden.length === 0) throw refused('max-p99-ms needs golden.json, whose inputs are timed')
  const p99 = await p99Of(engine, candidate)
  if (p99 > maxP99Ms) {
    throw refused(`the 99th percentile of a run is ${p99.toFixed(1)} ms, above ${maxP99Ms} ms`)
  }
}

async function p99Of(engine: InferenceProducer, { id, golden }: Candidate): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < TIMED_RUNS; run++) {
    const { inputs } = golden[run % golden.length]!
    times.push((await engine.infer({ model: id, inputs, deadlineMs: RUN_MS })).runMs)
  }
  return times.sort((a, b) => a - b)[Math.ceil(TIMED_RUNS * 0.99) - 1]!
}

/** How clients of one signature would fail with the other; undefined when they would not. */
export function signatureDifference(
  live: ModelSignature,
  next: ModelSignature,
): string | undefined {
  for (const side of ['inputs', 'outputs'] as const) {
    for (const tensor of live[side]) {
      const found = next[side].find(({ name }) => name === tensor.name)
      const what = `${side === 'inputs' ? 'input' : 'output'} "${tensor.name}"`
      if (found === undefined) return `the live version has the ${what}, this one has not`
      if (!isCompatible(tensor, found))
        return `the ${what} is ${textOf(tensor)} now and ${textOf(found)} here`
    }
  }
  const extra = next.inputs.find(({ name }) => !live.inputs.some((input) => input.name === name))
  return extra === undefined ? undefined : `the input "${extra.name}" is new`
}

function isCompatible(live: TensorSpec, next: TensorSpec): boolean {
  return (
    live.datatype === next.datatype &&
    live.shape.length === next.shape.length &&
    live.shape.every((size, i) => next.shape[i] === -1 || next.shape[i] === size)
  )
}

function textOf({ datatype, shape }: TensorSpec): string {
  return `${datatype} [${shape.join(', ')}]`
}

/** The first output that differs by more than the tolerance; undefined when none does. Pure. */
export function outputDifference(
  expected: readonly Tensor[],
  actual: readonly Tensor[],
  tolerance: number,
): string | undefined {
  for (const tensor of expected) {
    const found = actual.find(({ name }) => name === tensor.name)
    if (found === undefined) return `no output is named "${tensor.name}"`
    if (found.datatype !== tensor.datatype || found.shape.join() !== tensor.shape.join()) {
      return `"${tensor.name}" is ${textOf(found)}, not ${textOf(tensor)}`
    }
    const values = jsonOfRaw(found)
    const at = jsonOfRaw(tensor).findIndex((value, i) => !isNear(value, values[i], tolerance))
    if (at >= 0) return `element ${at} of "${tensor.name}" is ${String(values[at])}`
  }
  return undefined
}

function isNear(expected: unknown, actual: unknown, tolerance: number): boolean {
  if (typeof expected !== 'number' || typeof actual !== 'number') return expected === actual
  return Math.abs(expected - actual) <= tolerance || Object.is(expected, actual)
}

function refused(why: string): WeirError {
  return new WeirError('PROMOTION_REFUSED', `the version stays out of service: ${why}`)
}
