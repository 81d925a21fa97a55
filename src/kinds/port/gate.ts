import type { CohortErrors } from '../../models/registry/checks/cohorts.ts'
import type { DataLimits } from '../../models/registry/checks/data.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import type { QualityLimits } from '../../models/registry/checks/quality.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { RangeReader } from '../../models/versions/trained-ranges.ts'
import type { ModelReader, QueryOptions } from '../../wire/model-reader.ts'
import type { ComparedErrors, ErrorDifference, MeasuredErrors } from './measured-errors.ts'

/** The candidate on the golden set, beside the live version and the best one. */
export interface GoldenComparison {
  readonly candidate: MeasuredErrors
  readonly live: MeasuredErrors | undefined
  /** Mean error of the candidate minus that of live. */
  readonly difference: ErrorDifference
  /** The best version ever promoted. */
  readonly best:
    | { readonly number: number; readonly mean: number; readonly difference: ErrorDifference }
    | undefined
}

/**
 * The part of the promotion checks that depends on the kind of model: how its versions are queried and
 * measured, and which bounds hold for its data and its answers.
 */
export interface ModelGate {
  /** Identity of the golden set and of the error that is measured on it. */
  readonly id: string
  /** Name of the mean error, such as `MSE`. */
  readonly error: string
  /** Number of golden examples. */
  readonly size: number
  /** Numbers of examples whose predictions show whether a version is loaded in all slots. */
  readonly probes: readonly number[]
  /** Whether the prediction of an example succeeds. */
  answers(example: number, query: QueryOptions): Promise<boolean>
  /** Errors of a served version. */
  measure(number: number): Promise<MeasuredErrors>
  /** The golden examples that versions are compared on. */
  compared(): Promise<ComparedErrors>
  /** The data check; `candidate` is undefined if it does not answer. */
  data(candidate: MeasuredErrors | undefined, limits?: DataLimits): Promise<readonly CheckMeasure[]>
  /** The quality check; undefined if the candidate does not answer. */
  quality(
    found: GoldenComparison | undefined,
    limits?: QualityLimits,
  ): Promise<readonly CheckMeasure[]>
  /** The errors of groups of users beside those of live, worst first, after `quality`. @default none are compared */
  cohorts?(): Promise<readonly CohortErrors[]>
}

/** Facts that a gate is made from. */
export interface GateOptions<G, O> {
  readonly reader: ModelReader
  /** Name of the model's queryable state. */
  readonly state: string
  /** The candidate. */
  readonly version: RegisteredVersion
  /** Number of the live version, 0 for none. */
  readonly live: number
  readonly golden: G
  /** The model's versions in the registry. @default none */
  readonly versions?: readonly RegisteredVersion[]
  /** Reads the observations that a version was trained on. @default they are not looked at */
  readonly observations?: RangeReader<O>
  /** Reads the files that the candidate was trained on before its ranges. @default none */
  readonly history?: () => AsyncIterable<readonly O[]>
}

/** The version that the ranges of a candidate are compared with: the live one. */
export function versionBefore({
  versions = [],
  live,
}: Pick<GateOptions<unknown, unknown>, 'versions' | 'live'>): RegisteredVersion | undefined {
  return versions.find(({ number }) => number === live)
}
