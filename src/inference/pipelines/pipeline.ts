import type { Clock } from '../../core/clock.ts'
import { asWeirError, isWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { copyTensors } from '../../wire/inference/tensor.ts'
import type { Deployment } from '../port/deployment.ts'
import type { InferenceProducer } from '../port/engine.ts'
import type { ModelId } from '../port/model.ts'
import type {
  AnswerDecision,
  AnswerFlags,
  DecisionReward,
  InferAnswer,
  InferRequest,
  RewardOutcome,
} from '../port/request.ts'
import type { Plan } from './check.ts'
import { ANY_CONTEXT, type ContextStates } from './contexts.ts'
import type { DecisionSink } from './decision-record.ts'
import type { Decisions } from './decisions.ts'
import { ArmMeans } from './means.ts'
import type { Outcome } from './outcome.ts'
import { PipelineRun } from './run.ts'

/** What a pipeline runs with. */
export interface PipelineOptions {
  readonly id: ModelId
  readonly plan: Plan
  readonly deployment: Deployment
  readonly states: ReadonlyMap<string, ContextStates>
  readonly decisions: Decisions
  /** Takes each decision. @default they go nowhere */
  readonly sink?: DecisionSink | undefined
  /** The version that a reference stands for now. Throws where none answers. */
  readonly resolve: (reference: string) => ModelId
  readonly p99Of: (model: ModelId) => number
  readonly producer: Pick<InferenceProducer, 'infer'>
  readonly clock: Clock
  readonly random: Random
}

/** Longest context, bytes. */
const MAX_CONTEXT_BYTES = 1024

/** One version of a pipeline that answers requests. */
export class Pipeline {
  private readonly options: PipelineOptions
  private readonly means = new ArmMeans()
  private readonly references: readonly string[]
  /** Requests that are under way. */
  running = 0
  /** Requests by their end. */
  readonly ended = { answered: 0, failed: 0, defaults: 0 }

  constructor(options: PipelineOptions) {
    this.options = options
    const steps = [...options.plan.spec.steps.values()]
    const models = steps.flatMap((step) => (step.kind === 'model' ? [step.model] : []))
    this.references = [...new Set(models)]
  }

  /** The plan that it runs. */
  get plan(): Plan {
    return this.options.plan
  }

  /** Decisions that the topic could not keep; undefined without a topic. */
  get lost(): number | undefined {
    return this.options.sink?.lost
  }

  /** The references of the models of its steps. */
  get models(): readonly string[] {
    return this.references
  }

  /**
   * Answers a request with the versions that are live now: one request meets one version of each model. Rejects as its
   * models do, and with INVALID_ARGUMENT for a context above 1 KiB.
   */
  async infer(request: InferRequest): Promise<InferAnswer> {
    this.running++
    try {
      const answer = await this.answer(request)
      this.ended.answered++
      if (answer.flags.isDefault !== undefined) this.ended.defaults++
      return answer
    } catch (error) {
      this.ended.failed++
      throw error
    } finally {
      this.running--
    }
  }

  /** A reward for an answer. Throws INVALID_ARGUMENT for a reward out of range, a wrong label, and as `Decisions.take`. */
  observe({ decision: id, reward, label }: DecisionReward): RewardOutcome {
    const { plan, decisions, clock, states } = this.options
    const { least, most } = plan.spec.reward
    requireArgument(
      Number.isFinite(reward) && reward >= least && reward <= most,
      `the pipeline takes rewards from ${least} to ${most}, not ${reward}; "reward" in its file sets the range`,
    )
    requireArgument(
      label === undefined || (Number.isSafeInteger(label) && label >= 0),
      `a label is the number of a class, from 0, not ${label}`,
    )
    const found = decisions.take(id, { nowMs: clock.nowMs(), ttlMs: plan.spec.ttlMs })
    const { decision } = found
    for (const choice of decision?.choices ?? []) {
      const of = states.get(choice.step)
      // A version with other arms has begun since.
      if (of === undefined || choice.arms.join('/') !== of.arms.join('/')) continue
      of.observe(decision!.context, {
        ...choice,
        reward: (reward - least) / (most - least),
        ...(label === undefined ? {} : { label }),
      })
    }
    return found.as
  }

  private async answer({ inputs, deadlineMs, context, asker }: InferRequest): Promise<InferAnswer> {
    const { id, plan, deployment, clock, decisions } = this.options
    const named = context === undefined || context === '' ? ANY_CONTEXT : context
    requireArgument(
      Buffer.byteLength(named) <= MAX_CONTEXT_BYTES,
      `the context has more than ${MAX_CONTEXT_BYTES} bytes; name it by an id or a hash`,
    )
    const startedMs = clock.monotonicMs()
    const deadlineAtMs = startedMs + (deadlineMs ?? deployment.sloMs)
    // The steps run later, and the inputs are views of what came over the network.
    const request = { inputs: copyTensors(inputs), context: named, deadlineAtMs, asker }
    const models = this.admitted()
    const outcome = await this.run(models, request)
    const versions = Object.fromEntries(
      Array.from(models, ([reference, model]) => [reference, model.version]),
    )
    const decision: AnswerDecision = {
      id: decisions.nextId(clock.nowMs()),
      ...(outcome.arm === undefined
        ? {}
        : { arm: outcome.arm.name, probability: outcome.arm.probability }),
      ...confidenceOf(outcome),
      versions,
    }
    const isUnsure =
      outcome.isDefault === undefined &&
      plan.spec.minConfidence > 0 &&
      (decision.confidence ?? 0) < plan.spec.minConfidence
    const isDefault = isUnsure ? 'unsure' : outcome.isDefault
    // The default was chosen by no selector, so its reward teaches none.
    const choices = isDefault === undefined ? outcome.choices : []
    decisions.add({ id: decision.id, context: named, choices })
    const runMs = clock.monotonicMs() - startedMs
    this.options.sink?.write({
      id: decision.id,
      timeMs: clock.nowMs(),
      pipeline: nameOf(id),
      version: id.version,
      context: named,
      versions,
      choices: outcome.choices,
      arm: decision.arm,
      confidence: decision.confidence,
      isDefault,
      ms: runMs,
    })
    const flags: AnswerFlags = { decision, ...(isDefault === undefined ? {} : { isDefault }) }
    const outputs = isUnsure ? deployment.default! : outcome.outputs
    return { outputs, version: id.version, queueMs: 0, runMs, batchItems: 1, flags }
  }

  /** The version of each model for one request. */
  private admitted(): ReadonlyMap<string, ModelId> {
    const { resolve } = this.options
    return new Map(this.references.map((reference) => [reference, resolve(reference)]))
  }

  private async run(
    models: ReadonlyMap<string, ModelId>,
    request: ConstructorParameters<typeof PipelineRun>[1],
  ): Promise<Outcome & Pick<AnswerFlags, 'isDefault'>> {
    const { plan, states, producer, clock, random, p99Of, deployment } = this.options
    const facts = { plan, models, states, means: this.means, producer, clock, random, p99Of }
    try {
      return await new PipelineRun(facts, request).answer()
    } catch (error) {
      const { default: outputs } = deployment
      // A request that is wrong stays wrong, and one that no one waits for needs no answer.
      if (outputs === undefined || isWrong(error) || request.asker?.gone !== undefined) throw error
      const isDefault = isWeirError(error, 'DEADLINE_EXCEEDED') ? 'expired' : 'failed'
      const none = { scored: undefined, scores: undefined, choices: [] }
      return { outputs, ...none, confidence: () => 0, isDefault }
    }
  }
}

/** Name of a pipeline without the revision of its settings. */
export const nameOf = ({ name }: ModelId): string => name.split('#')[0]!

function isWrong(error: unknown): boolean {
  return isWeirError(error, 'SIGNATURE_MISMATCH') || isWeirError(error, 'INVALID_ARGUMENT')
}

/** The confidence of an outcome, where its scores have one. */
function confidenceOf(outcome: Outcome): { readonly confidence?: number } {
  try {
    return { confidence: outcome.confidence() }
  } catch (error) {
    if (isWeirError(error, 'MODEL_FAILED')) return {}
    throw asWeirError(error, 'ILLEGAL_STATE')
  }
}

/** The error of a pipeline whose file, or whose models, have faults. */
export function invalidPipeline(name: string, faults: readonly string[]): WeirError {
  const list = faults.map((fault, i) => `(${i + 1}) ${fault}`).join('; ')
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`
  return new WeirError('INVALID_GRAPH', `pipeline "${name}" has ${count}: ${list}`, {
    details: { faults: faults.length },
  })
}
