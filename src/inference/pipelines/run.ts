import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import type { Random } from '../../core/random.ts'
import type { InferenceProducer } from '../port/engine.ts'
import type { ModelId } from '../port/model.ts'
import type { Asker } from '../port/request.ts'
import type { Tensor } from '../port/tensor.ts'
import { agreeingShare, classOf, meanScores } from '../selectors/answers.ts'
import type { ArmOutput, Selection } from '../selectors/selector.ts'
import type { Plan } from './check.ts'
import type { ContextStates } from './contexts.ts'
import type { StepChoice } from './decisions.ts'
import type { ArmMeans } from './means.ts'
import type { Outcome } from './outcome.ts'
import { confidenceOf, rowsOf, type Scores, scoresOf, tensorOfScores } from './scores.ts'
import type { Arm, BranchStep, CombineStep, ModelStep, SelectStep } from './spec.ts'

/** What the requests of a pipeline run with. */
export interface PipelineFacts {
  readonly plan: Plan
  /** The version of each model of one request, by its reference. */
  readonly models: ReadonlyMap<string, ModelId>
  readonly states: ReadonlyMap<string, ContextStates>
  readonly means: ArmMeans
  /** Time that 99 of 100 answers of a model take, ms; 0 where nothing is known. */
  readonly p99Of: (model: ModelId) => number
  readonly producer: Pick<InferenceProducer, 'infer'>
  readonly clock: Clock
  readonly random: Random
}

/** One request of a pipeline. */
export interface PipelineRequest {
  /** Its bytes stay as they are until the run has ended. */
  readonly inputs: readonly Tensor[]
  readonly context: string
  /** Monotonic time of its deadline, ms. */
  readonly deadlineAtMs: number
  readonly asker: Asker | undefined
}

/** Time between the moment at which an answer is made of what is there, and the deadline: ms, and a share of the time left. */
const COMBINE_MS = 2
const COMBINE_SHARE = 0.1
/** Shortest deadline of a model, ms: it refuses the request in its own words. */
const SOON_MS = 0.001

/** An arm that has answered. */
interface ArmOutcome {
  readonly arm: number
  readonly outcome: Outcome
}

/**
 * One request on its way through the steps of a pipeline. Each step runs once at most, and only where the answer needs it.
 * At the deadline an answer of several arms is made of what is there (Clipper, NSDI 2017, section 5.2.2).
 */
export class PipelineRun {
  private readonly facts: PipelineFacts
  private readonly request: PipelineRequest
  private readonly running = new Map<string, Promise<Outcome>>()

  constructor(facts: PipelineFacts, request: PipelineRequest) {
    this.facts = facts
    this.request = request
  }

  /** The outcome of the answer's step. Rejects with what failed. */
  answer(): Promise<Outcome> {
    return this.outcome(this.facts.plan.spec.answer, this.request.deadlineAtMs)
  }

  private outcome(step: string, untilMs: number): Promise<Outcome> {
    const known = this.running.get(step)
    if (known !== undefined) return known
    const running = this.run(step, untilMs)
    // Who waits for it may have gone on without it.
    running.catch(() => {})
    this.running.set(step, running)
    return running
  }

  private async run(name: string, untilMs: number): Promise<Outcome> {
    const step = this.facts.plan.spec.steps.get(name)!
    switch (step.kind) {
      case 'model':
        return await this.model(name, step, untilMs)
      case 'branch':
        return await this.branch(step, untilMs)
      case 'select':
        return await this.select(name, step, untilMs)
      case 'combine':
        return await this.combine(name, step, untilMs)
    }
  }

  private async model(name: string, step: ModelStep, untilMs: number): Promise<Outcome> {
    const { models, producer, plan, clock, p99Of } = this.facts
    const model = models.get(step.model)!
    const from = Object.entries(step.inputs)
    const before = untilMs - p99Of(model)
    const given = await Promise.all(
      from.map(async ([input, { step: other, output }]) => {
        const { outputs } = await this.outcome(other, before)
        return { ...outputs.find((one) => one.name === output)!, name: input }
      }),
    )
    const names = this.inputNames(name)
    const own = this.request.inputs.filter((one) => names.has(one.name))
    const { outputs } = await producer.infer({
      model,
      inputs: [...own, ...given],
      deadlineMs: Math.max(untilMs - clock.monotonicMs(), SOON_MS),
      asker: this.request.asker,
    })
    return outcomeOf(name, outputs, plan.scores.get(name))
  }

  /** Names of the inputs of a model that the request has. */
  private inputNames(step: string): ReadonlySet<string> {
    return this.facts.plan.inputs.get(step)!
  }

  /** The first step, or the second where the first is not sure, or fails. */
  private async branch({ of, below, next }: BranchStep, untilMs: number): Promise<Outcome> {
    const first = await this.outcome(of, this.before(next, untilMs)).catch((error) => ({ error }))
    if ('error' in first) {
      return await this.outcome(next, untilMs).catch(() => {
        throw first.error
      })
    }
    if (first.confidence() >= below) return first
    // An answer that is not sure is better than none.
    return await this.outcome(next, untilMs).catch(() => first)
  }

  /** The time until which a step may take, so that one behind it can still answer. */
  private before(next: string, untilMs: number): number {
    const nowMs = this.facts.clock.monotonicMs()
    const latest = untilMs - this.timeOf(next)
    // A path that is too long for its deadline is divided: no step can do without time.
    return Math.max(latest, (nowMs + untilMs) / 2)
  }

  /** Time that a step is likely to take with those that it needs, ms. */
  private timeOf(name: string): number {
    const step = this.facts.plan.spec.steps.get(name)!
    const longest = (steps: readonly string[]): number =>
      Math.max(0, ...steps.map((one) => this.timeOf(one)))
    switch (step.kind) {
      case 'model': {
        const needs = Object.values(step.inputs).map((input) => input.step)
        return this.facts.p99Of(this.facts.models.get(step.model)!) + longest(needs)
      }
      case 'branch':
        return this.timeOf(step.of) + this.timeOf(step.next)
      default:
        return longest(step.arms.map((arm) => arm.step))
    }
  }

  private async select(name: string, step: SelectStep, untilMs: number): Promise<Outcome> {
    const { plan, states, random } = this.facts
    const selector = plan.selectors.get(name)!
    const context = states.get(name)!
    const state = context.stateOf(this.request.context)
    const selection = selector.select(state, {
      arms: context.arms,
      random,
      context: this.request.context,
    })
    const choice: StepChoice = { step: name, arms: context.arms, selection, outputs: [] }
    for (const arm of selection.mirrors) this.mirror(step.arms[arm]!, arm, { choice, untilMs })
    const came =
      selector.enough === undefined
        ? await this.together(name, step.arms, { run: selection.run, untilMs })
        : await this.inTurn(step.arms, selection.run, {
            untilMs,
            isEnough: (outcomes) =>
              rowsOfAll(outcomes).every((row) => selector.enough!(state, selection, row)),
          })
    const choices = [...came.flatMap(({ outcome }) => outcome.choices), choice]
    const rows = this.withMeans(name, selection, came)
    choice.outputs.push(...rows[0]!)
    const last = came.at(-1)!
    if (selection.run.length === 1 || selector.enough !== undefined) {
      const arm = {
        name: context.arms[last.arm]!,
        probability: selection.probabilities[last.arm]!,
      }
      return { ...last.outcome, arm, choices }
    }
    requireRows(name, rows)
    const combined = rows.map((row) => selector.combine(state, selection, row))
    return combinedOutcome(last.outcome, combined, choices)
  }

  /** Runs an arm whose output answers nothing. */
  private mirror(
    { step }: Arm,
    arm: number,
    { choice, untilMs }: { readonly choice: StepChoice; readonly untilMs: number },
  ): void {
    this.outcome(step, untilMs).then(
      (outcome) => choice.outputs.push({ arm, scores: firstRow(outcome) }),
      () => {},
    )
  }

  private async combine(name: string, step: CombineStep, untilMs: number): Promise<Outcome> {
    const run = step.arms.map((_, arm) => arm)
    const came = await this.together(name, step.arms, { run, untilMs })
    const share = 1 / run.length
    const probabilities = new Float32Array(run.length).fill(share)
    const selection: Selection = { run, mirrors: [], probabilities, explored: false }
    // A missing vote is dropped; a missing score is the mean of those before.
    const rows = step.how === 'mean' ? this.withMeans(name, selection, came) : rowsOfAll(came)
    requireRows(name, rows)
    const combined = rows.map((row) => {
      const scores = step.how === 'mean' ? meanOf(row) : votesOf(row)
      return { scores, arm: undefined, confidence: agreeingShare(selection, row, classOf(scores)) }
    })
    const choices = came.flatMap(({ outcome }) => outcome.choices)
    return combinedOutcome(came[0]!.outcome, combined, choices)
  }

  /** Runs arms at once, and returns those that answer in time. Rejects with the first error where none does. */
  private async together(
    name: string,
    arms: readonly Arm[],
    { run, untilMs }: { readonly run: readonly number[]; readonly untilMs: number },
  ): Promise<readonly ArmOutcome[]> {
    const asked = run.map(async (arm) => {
      const outcome = await this.outcome(arms[arm]!.step, untilMs)
      this.facts.means.add(name, arm, outcome.scores)
      return { arm, outcome }
    })
    if (asked.length === 1) return await Promise.all(asked)
    const leftMs = untilMs - this.facts.clock.monotonicMs()
    const waitMs = leftMs - Math.min(COMBINE_MS, COMBINE_SHARE * leftMs)
    const came = await inTime(asked, this.facts.clock, waitMs)
    if (came.length > 0) return [...came].sort((a, b) => a.arm - b.arm)
    // Each of them ends at its deadline at the latest.
    return [
      await Promise.any(asked).catch(({ errors }: AggregateError) => Promise.reject(errors[0])),
    ]
  }

  /** Runs arms one after the other, until one is enough. An arm that fails is left out. */
  private async inTurn(
    arms: readonly Arm[],
    run: readonly number[],
    {
      untilMs,
      isEnough,
    }: { readonly untilMs: number; readonly isEnough: (came: readonly ArmOutcome[]) => boolean },
  ): Promise<readonly ArmOutcome[]> {
    const came: ArmOutcome[] = []
    let failed: unknown
    for (const [at, arm] of run.entries()) {
      const next = run[at + 1]
      const until = next === undefined ? untilMs : this.before(arms[next]!.step, untilMs)
      try {
        came.push({ arm, outcome: await this.outcome(arms[arm]!.step, until) })
      } catch (error) {
        failed ??= error
        continue
      }
      if (isEnough(came)) break
    }
    if (came.length === 0) throw failed
    return came
  }

  /** The outputs of each item; an arm that is missing has its running mean. */
  private withMeans(
    step: string,
    { run }: Selection,
    came: readonly ArmOutcome[],
  ): readonly (readonly ArmOutput[])[] {
    const rows = rowsOfAll(came)
    const width = rows[0]?.[0]?.scores.length
    const missing = run.filter((arm) => !came.some((one) => one.arm === arm))
    const means = missing.flatMap((arm) => {
      const scores = this.facts.means.meanOf(step, arm)
      return scores !== undefined && scores.length === width ? [{ arm, scores, isMean: true }] : []
    })
    return means.length === 0 ? rows : rows.map((row) => [...row, ...means])
  }
}

/** What has come after `waitMs`: all that has not failed, or less. */
async function inTime<T>(
  asked: readonly Promise<T>[],
  clock: Clock,
  waitMs: number,
): Promise<readonly T[]> {
  const came: T[] = []
  let cancel: Cancel = () => {}
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(Math.max(waitMs, 0), resolve)
  })
  const all = Promise.all(
    asked.map((one) =>
      one.then(
        (value) => came.push(value),
        () => {},
      ),
    ),
  )
  await Promise.race([all, over])
  cancel()
  return [...came]
}

function outcomeOf(step: string, outputs: readonly Tensor[], output: string | undefined): Outcome {
  const scored = outputs.find(({ name }) => name === output)
  const scores = scored === undefined ? undefined : scoresOf(scored)
  const confidence = (): number => (scores === undefined ? 1 : confidenceOf(scores, step))
  return { outputs, scored, scores, confidence, choices: [] }
}

/** An outcome whose output is made of the scores of several arms; `like` is the outcome of one of them. */
function combinedOutcome(
  like: Outcome,
  combined: readonly { readonly scores: Float32Array; readonly confidence: number }[],
  choices: readonly StepChoice[],
): Outcome {
  const values = new Float32Array(combined.reduce((sum, one) => sum + one.scores.length, 0))
  let at = 0
  for (const one of combined) {
    values.set(one.scores, at)
    at += one.scores.length
  }
  const scored = tensorOfScores(values, like.scored!)
  const scores: Scores = { values, rows: combined.length }
  const confidence = Math.min(...combined.map((one) => one.confidence))
  return { outputs: [scored], scored, scores, confidence: () => confidence, choices }
}

/** The scores of each item, of all arms. An arm without scores has answered, which is all that is known of it. */
function rowsOfAll(came: readonly ArmOutcome[]): readonly (readonly ArmOutput[])[] {
  const all = came.map(({ arm, outcome: { scores } }) => ({
    arm,
    rows: scores === undefined ? [Float32Array.of(1)] : rowsOf(scores),
  }))
  const count = Math.max(...all.map(({ rows }) => rows.length))
  return Array.from({ length: count }, (_, row) =>
    all.flatMap(({ arm, rows }) => {
      const scores = rows[row]
      // A score that is not finite is as good as none.
      return scores === undefined || !allFinite(scores) ? [] : [{ arm, scores }]
    }),
  )
}

/** Throws MODEL_FAILED where no arm has finite scores for an item. */
function requireRows(step: string, rows: readonly (readonly ArmOutput[])[]): void {
  if (rows.every((row) => row.length > 0)) return
  const message = `no arm of step "${step}" has answered finite scores`
  throw new WeirError('MODEL_FAILED', message)
}

const firstRow = ({ scores }: Outcome): Float32Array =>
  scores === undefined ? Float32Array.of(1) : rowsOf(scores)[0]!

function meanOf([first, ...others]: readonly ArmOutput[]): Float32Array {
  return meanScores([first!, ...others], () => 1)
}

/** The share of the votes of each class: each arm votes for the class that it scores highest. */
function votesOf(row: readonly ArmOutput[]): Float32Array {
  const votes = new Float32Array(row[0]!.scores.length)
  for (const { scores } of row) {
    const at = votes.length === 1 ? 0 : classOf(scores)
    votes[at] = votes[at]! + (votes.length === 1 ? classOf(scores) : 1) / row.length
  }
  return votes
}
