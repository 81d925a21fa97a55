import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { LinearPredictOptions } from '../../wire/linear-prediction.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { anyNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { QUERY_OPTIONS, queryOptionsOf } from './query.ts'
import { versionMetadata, versionMetadataOptions } from './version-metadata.ts'

/** Flags of the verbs that query a served linear model. */
export const LINEAR_QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  threshold: {
    type: 'string',
    value: anyNumber({}),
    default: '0',
    help: 'Decision values above X get the positive label',
  },
  positive: {
    type: 'string',
    value: anyNumber({}, 'LABEL'),
    help: 'Positive label (default: that of the version in --topic, else 1)',
  },
  negative: {
    type: 'string',
    value: anyNumber({}, 'LABEL'),
    help: 'Negative label (default: that of the version in --topic, else -1)',
  },
  ...versionMetadataOptions('svm-model'),
  ...QUERY_OPTIONS,
  state: { type: 'string', value: name(), default: SVM_MODEL, help: 'Queryable state' },
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
 * -1, which is said where this machine does not have the version. Throws UsageError.
 */
export async function labelsOfVersions(
  flags: Flags,
  io: Pick<CommandIo, 'err'>,
): Promise<(version: number) => VersionLabels> {
  const given = (name: string): number | undefined => flags.optionalNumber(name)
  const [positive, negative] = [given('positive'), given('negative')]
  const isKnown = positive !== undefined && negative !== undefined
  const versions = isKnown ? undefined : await versionMetadata(flags)
  const said = new Set<number>()
  return (version) => {
    if (versions?.has(version) === false && positive === undefined && !said.has(version)) {
      said.add(version)
      io.err(
        `warning: topic ${flags.string('topic')} does not have version ${version} here, so its labels are taken to be 1 and ${negative ?? -1}; name the place of the topic (--data-dir or --brokers, --topic), or give --positive and --negative`,
      )
    }
    const { positiveLabel, negativeLabel } = versions?.get(version)?.hyperparameters ?? {}
    return {
      positive: positive ?? (typeof positiveLabel === 'number' ? positiveLabel : 1),
      negative: negative ?? (typeof negativeLabel === 'number' ? negativeLabel : -1),
    }
  }
}
