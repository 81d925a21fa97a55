import { type Random, seededRandom } from '../../src/core/random.ts'
import { type Allows, type Combination, namesIn, pairwise } from './design/pairwise.ts'

/** What is combined: the parts of the product that each know only themselves. */
export const FACTORS = {
  kind: [
    'explicit',
    'implicit',
    'bayesian',
    'popularity',
    'hinge',
    'logistic',
    'text',
    'generated',
  ],
  publisher: ['train', 'load', 'generate', 'import', 'retrain'],
  job: ['serving', 'learning'],
  rule: ['none', 'gram', 'stack', 'sgd', 'fold-in', 'popularity', 'linear'],
  face: ['client', 'command', 'gateway'],
  /** Of the ports of queries, of the JobManager, and of the gateway; encrypted ones let in only clients with a certificate. */
  ports: ['plain', 'encrypted'],
  /** Where the topics and the registry are; Kafka lets in only users with a password, over TLS. */
  storage: ['embedded log', 'Kafka'],
  /** With which the job begins. */
  slots: ['1', '2'],
  step: [
    'stop and start',
    'kill',
    'savepoint',
    'fewer slots',
    'more slots',
    'promotion',
    'retraining',
    'rollback',
    'import elsewhere',
    'copy of the folder',
    'write-back',
    'drain',
    'killed publication',
    'rescale under the JobManager',
  ],
} as const

/** Of the table by which pairs are shared: each run has the same shares. */
const SEED_OF_SHARES = 1

/** A trial on Kafka takes twice as long. */
const COSTLY: ReadonlySet<string> = new Set(['Kafka'] satisfies (typeof FACTORS.storage)[number][])

/** A combination that is tried. */
export type Trial = Combination<typeof FACTORS>

/** How the first version of a kind can be published; each can be imported and retrained, too. */
const OWN_PUBLISHERS: Readonly<Record<Trial['kind'], readonly Trial['publisher'][]>> = {
  explicit: ['train'],
  implicit: ['train'],
  bayesian: ['train'],
  popularity: ['train'],
  hinge: ['train', 'load'],
  logistic: ['train', 'load'],
  text: ['load'],
  generated: ['generate'],
}

/** The rules that can learn a kind. */
function rulesOf(kind: Trial['kind']): readonly Trial['rule'][] {
  if (kind === 'hinge' || kind === 'logistic') return ['linear']
  if (kind === 'popularity') return ['popularity']
  return kind === 'implicit' ? ['fold-in'] : ['gram', 'stack', 'sgd', 'fold-in']
}

const allows: Allows<typeof FACTORS> = ({ kind, publisher, job, rule, slots, step }) => {
  if (kind !== undefined && publisher !== undefined) {
    const all = [...OWN_PUBLISHERS[kind], 'import', 'retrain']
    if (!all.includes(publisher)) return false
  }
  if (kind !== undefined && rule !== undefined && rule !== 'none') {
    if (!rulesOf(kind).includes(rule)) return false
  }
  if (job !== undefined && rule !== undefined && (rule === 'none') !== (job === 'serving')) {
    return false
  }
  if ((step === 'fewer slots' && slots === '1') || (step === 'more slots' && slots === '2')) {
    return false
  }
  // Only a job that learns has something to write back.
  return !(step === 'write-back' && (job === 'serving' || rule === 'none'))
}

/** One of `of` shares of all pairs of parts, which together have each pair. */
export interface Share {
  readonly of: number
  /** Which one, from 0. */
  readonly turn: number
}

/** What decides which trials there are. */
export interface TrialsOptions {
  /** Whether ports can be encrypted here. */
  readonly hasCertificates: boolean
  /** @default all pairs of parts */
  readonly share?: Share | undefined
}

/** Rows in which each pair of parts that can be together occurs, or each pair of a share of them. */
export function trials(
  random: Random,
  { hasCertificates, share }: TrialsOptions,
): readonly Trial[] {
  const here: Allows<typeof FACTORS> = (part) =>
    allows(part) && (hasCertificates || part.ports !== 'encrypted')
  const options = { allows: here, costly: COSTLY }
  if (share === undefined) return pairwise(FACTORS, random, options)
  return pairwise(FACTORS, random, { ...options, pairs: pairsOfShare(share) })
}

/** The table by which pairs are shared, once it was needed. */
let sharedTable: readonly Trial[] | undefined

/**
 * Names of the pairs of a share: those that come first in some rows of a table, so that no more rows than those are
 * needed for them.
 */
function pairsOfShare({ of, turn }: Share): ReadonlySet<string> {
  const options = { allows, costly: COSTLY }
  sharedTable ??= pairwise(FACTORS, seededRandom(SEED_OF_SHARES), options)
  const seen = new Set<string>()
  const pairs = new Set<string>()
  for (const [n, row] of sharedTable.entries()) {
    const news = namesIn(row).filter((name) => !seen.has(name))
    for (const name of news) seen.add(name)
    if (n % of === turn) for (const name of news) pairs.add(name)
  }
  return pairs
}
