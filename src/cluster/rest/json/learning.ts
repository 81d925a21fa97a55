import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'

/** Metrics of one subtask that learns, by name. */
type Values = Readonly<Record<string, number>>

/** Counters of the ratings or examples that a subtask learned; one of them shows that it learns. */
const LEARNED = ['ratingsLearned', 'observationsLearned'] as const
/** Counters of what arrived and was not learned. */
const REFUSED = ['ratingsRefused', 'observationsRefused'] as const
/** Metrics that are means over ratings or examples. */
const MEANS = [
  'prequentialMse',
  'prequentialWindowMse',
  'prequentialFadedMse',
  'prequentialFrozenMse',
  'prequentialCoverage',
  'prequentialLoss',
  'prequentialFadedLoss',
  'prequentialFrozenLoss',
  'prequentialAccuracy',
  'prequentialFadedAccuracy',
  'prequentialAuc',
] as const

/** Answer of `/weir/jobs/:jobid/learning`. */
export interface LearningJson {
  readonly now: number
  readonly kind: 'ratings' | 'examples' | null
  readonly version: number | null
  readonly learned: number
  readonly refused: number
  readonly driftAlarms: number | null
  /** Whether learning is stopped, so that the version is served as it was published. */
  readonly isStopped: boolean
  readonly freshnessMs: number | null
  /** Time from a rating to the change of its rows, of the newest ratings. */
  readonly visibleMedianMs: number | null
  readonly visibleMaxMs: number | null
  readonly means: Readonly<Record<string, number | null>>
  readonly subtasks: readonly {
    readonly name: string
    readonly version: number | null
    readonly learned: number
    readonly error: number | null
  }[]
}

/**
 * `/weir/jobs/:jobid/learning`: the errors of a job that learns online. The means are taken over the
 * subtasks, weighted with what each has learned; null where no subtask has a value.
 */
export function learningJson(job: JobSnapshot): LearningJson {
  const subtasks = learningSubtasks(job)
  const all = [...subtasks.values()]
  const total = (names: readonly string[]): number =>
    all.reduce((sum, values) => sum + learnedOf(values, names), 0)
  const largest = (name: string): number | null =>
    all.reduce<number | null>((most, { [name]: value }) => {
      if (value === undefined || !Number.isFinite(value)) return most
      return Math.max(most ?? value, value)
    }, null)
  return {
    now: job.nowMs,
    kind: kindOf(all),
    version: largest('learningVersion'),
    learned: total(LEARNED),
    // Readers of observations refuse, too, and do not learn.
    refused: totalIn(job.metrics, REFUSED),
    driftAlarms: largest('driftAlarms'),
    isStopped: largest('learningStopped') === 1,
    // The readers of the topic know the times of ratings; the newest rating is that of one of them.
    freshnessMs: smallestIn(job.metrics, '.freshnessMs'),
    visibleMedianMs: largest('updateToVisibleMedianMs'),
    visibleMaxMs: largest('updateToVisibleMaxMs'),
    means: Object.fromEntries(MEANS.map((name) => [name, weightedMean(all, name)])),
    subtasks: [...subtasks].map(([name, values]) => ({
      name,
      version: values['learningVersion'] ?? null,
      learned: learnedOf(values, LEARNED),
      error: values['prequentialFadedMse'] ?? values['prequentialFadedLoss'] ?? null,
    })),
  }
}

/**
 * The values of `learningJson` that make curves over time, as `learning.<name>`: the means, what was
 * learned, the drift alarms and the latencies. Empty for a job that does not learn.
 */
export function learningSeries(job: JobSnapshot): MetricSnapshot {
  if (!learns(job)) return {}
  const { means, learned, driftAlarms, visibleMedianMs, visibleMaxMs } = learningJson(job)
  const values = { ...means, learned, driftAlarms, visibleMedianMs, visibleMaxMs }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [[`learning.${name}`, value]],
    ),
  )
}

/** Whether a job learns online. */
export function learns({ metrics }: JobSnapshot): boolean {
  return Object.keys(metrics).some((path) => LEARNED.some((name) => path.endsWith(`.${name}`)))
}

/** Sum of some counters over all operators and subtasks. */
function totalIn(metrics: MetricSnapshot, names: readonly string[]): number {
  return Object.entries(metrics).reduce(
    (sum, [path, value]) =>
      sum + (names.includes(path.slice(path.lastIndexOf('.') + 1)) ? value : 0),
    0,
  )
}

/** The smallest finite value of a metric, over all operators and subtasks; null where there is none. */
function smallestIn(metrics: MetricSnapshot, ending: string): number | null {
  const values = Object.entries(metrics).flatMap(([path, value]) =>
    path.endsWith(ending) && Number.isFinite(value) ? [value] : [],
  )
  return values.length === 0 ? null : Math.min(...values)
}

function kindOf(all: readonly Values[]): 'ratings' | 'examples' | null {
  if (all.some((values) => 'ratingsLearned' in values)) return 'ratings'
  return all.some((values) => 'observationsLearned' in values) ? 'examples' : null
}

/** Metrics of each subtask that learns, by `uid of the operator#subtask`. */
function learningSubtasks({ metrics, vertices }: JobSnapshot): ReadonlyMap<string, Values> {
  const found = new Map<string, Record<string, number>>()
  for (const { uid } of vertices) {
    for (const [path, value] of Object.entries(metrics)) {
      if (!path.startsWith(`${uid}.`)) continue
      const [, subtask, scope = ''] =
        /^(\d+)\.(?:(.*)\.)?[^.]+$/.exec(path.slice(uid.length + 1)) ?? []
      if (subtask === undefined) continue
      const name = `${scope === '' ? uid : scope}#${subtask}`
      const values = found.get(name) ?? {}
      values[path.slice(path.lastIndexOf('.') + 1)] = value
      found.set(name, values)
    }
  }
  return new Map([...found].filter(([, values]) => LEARNED.some((name) => name in values)))
}

function learnedOf(values: Values, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (values[name] ?? 0), 0)
}

function weightedMean(all: readonly Values[], name: string): number | null {
  const known = all.filter(({ [name]: value }) => value !== undefined && Number.isFinite(value))
  if (known.length === 0) return null
  const weights = known.map((values) => Math.max(1, learnedOf(values, LEARNED)))
  const sum = known.reduce((total, values, i) => total + values[name]! * weights[i]!, 0)
  return sum / weights.reduce((total, weight) => total + weight, 0)
}
