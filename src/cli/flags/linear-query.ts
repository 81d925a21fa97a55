import { SVM_MODEL } from '../../jobs/model-topic/linear-serving-function.ts'
import type { LinearPredictOptions } from '../../wire/linear-prediction.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { QUERY_OPTIONS, queryOptionsOf } from './query.ts'
import { versionMetadata, versionMetadataOptions } from './version-metadata.ts'

/** Flags of the verbs that query a served linear model. */
export const LINEAR_QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  threshold: {
    type: 'string',
    value: 'X',
    default: '0',
    help: 'Decision values above X get the positive label',
  },
  positive: {
    type: 'string',
    value: 'LABEL',
    help: 'Positive label (default: that of the version in --topic, else 1)',
  },
  negative: {
    type: 'string',
    value: 'LABEL',
    help: 'Negative label (default: that of the version in --topic, else -1)',
  },
  ...versionMetadataOptions('svm-model'),
  ...QUERY_OPTIONS,
  state: { type: 'string', value: 'NAME', default: SVM_MODEL, help: 'Queryable state' },
}

/** The prediction options of the flags. Throws UsageError. */
export function linearQueryOf(flags: Flags): LinearPredictOptions {
  return {
    ...queryOptionsOf(flags),
    threshold: flags.number('threshold'),
  }
}

/** The labels of a version's predictions. */
export interface VersionLabels {
  readonly positive: number
  readonly negative: number
}

/**
 * The labels of each version: those of the flags, else those that the version was trained on, else 1 and
 * -1. Throws UsageError.
 */
export async function labelsOfVersions(flags: Flags): Promise<(version: number) => VersionLabels> {
  const given = (name: string): number | undefined =>
    flags.optional(name) === undefined ? undefined : flags.number(name)
  const [positive, negative] = [given('positive'), given('negative')]
  const isKnown = positive !== undefined && negative !== undefined
  const versions = isKnown ? undefined : await versionMetadata(flags)
  return (version) => {
    const { positiveLabel, negativeLabel } = versions?.get(version)?.hyperparameters ?? {}
    return {
      positive: positive ?? (typeof positiveLabel === 'number' ? positiveLabel : 1),
      negative: negative ?? (typeof negativeLabel === 'number' ? negativeLabel : -1),
    }
  }
}
