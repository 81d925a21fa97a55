import { RowMoments } from '../models/row-moments.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { RowTableReader } from '../state/row-table-reader.ts'
import type { LearnerOptions } from './online-learner.ts'
import { tableMoments } from './online-moments.ts'
import {
  decodeVersion,
  type EncodedMoments,
  encodeVersion,
  errorBytes,
  errorOf,
  LearnedVersion,
  type VersionFacts,
} from './online-version.ts'

const VERSIONS = 'learned-versions'
const ERRORS = 'learning-errors'
/** Versions that deltas are taken for: the one learned on, the ones before it, one to come. */
const KEPT = 4

/** The versions that a slot learns on or takes deltas of, and their part of its checkpoints. */
export class LearnedVersions {
  private readonly options: LearnerOptions
  private readonly context: OperatorContext
  private readonly versions = new Map<number, LearnedVersion>()
  private readonly restoredErrors: { readonly version: number; readonly numbers: Float64Array }[]

  constructor(options: LearnerOptions, context: OperatorContext) {
    this.options = options
    this.context = context
    this.restoredErrors = context.operatorState.restored(ERRORS).map(errorOf)
  }

  /** The versions of the checkpoint that the slot went back to. */
  *restored(): Iterable<LearnedVersion> {
    for (const bytes of this.context.operatorState.restored(VERSIONS)) {
      const { facts, moments } = decodeVersion(bytes)
      const version = this.begin(facts, moments)
      if (version !== undefined) yield version
    }
  }

  get known(): readonly number[] {
    return [...this.versions.keys()]
  }

  get(version: number): LearnedVersion | undefined {
    return this.versions.get(version)
  }

  /** What learning on a version began with, or, as it was published, begins with. */
  constantsOf({ version, published }: VersionFacts): EncodedMoments | undefined {
    const known = this.versions.get(version)?.moments
    if (known !== undefined || published === undefined) return known
    const { rule } = this.options.rule
    const isEnough =
      rule === 'sgd' || (hasSecondMoments(published.user) && hasSecondMoments(published.item))
    return isEnough ? published : undefined
  }

  /** What this slot's rows of a version are like, for versions published without it. */
  measure(tableOf: (side: 'user' | 'item') => RowTableReader | undefined): EncodedMoments {
    const { dimension, rule } = this.options
    const meanOnly = rule.rule === 'sgd'
    const [user, item] = (['user', 'item'] as const).map((side) =>
      tableMoments(tableOf(side), dimension, meanOnly).encode(),
    )
    return { user: user!, item: item! }
  }

  /** Begins a version, or goes back to it; undefined when it is known. */
  begin(facts: VersionFacts, moments: EncodedMoments): LearnedVersion | undefined {
    const known = this.versions.get(facts.version)
    if (known !== undefined) {
      this.versions.delete(facts.version)
      this.versions.set(facts.version, known)
      return undefined
    }
    const { dimension, rule, prequential } = this.options
    const version = new LearnedVersion(facts, moments, dimension, rule, prequential ?? {})
    const restored = this.restoredErrors.filter((entry) => entry.version === facts.version)
    for (const { numbers } of restored) version.error.restore(numbers)
    this.versions.set(facts.version, version)
    // What was begun long ago is neither learned on nor about to be: it gets no more deltas.
    for (const old of [...this.versions.keys()].slice(0, -KEPT)) this.versions.delete(old)
    return version
  }

  /** The version was retired: its deltas are dropped from now on. */
  drop(version: number): void {
    this.versions.delete(version)
  }

  /** Puts constants and errors into the checkpoint that is about to be taken. */
  snapshot(): void {
    const { operatorState } = this.context
    const versions = [...this.versions.values()]
    const constants = versions.map(({ facts, moments }) => encodeVersion(facts, moments))
    operatorState.update(VERSIONS, 'broadcast', constants)
    const errors = versions.map(({ facts, error }) => errorBytes(facts.version, error.encode()))
    operatorState.update(ERRORS, 'split', errors)
  }
}

function hasSecondMoments(numbers: Float64Array): boolean {
  return RowMoments.decode(numbers).hasProducts
}
