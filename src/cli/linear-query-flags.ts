import { SVM_MODEL } from '../jobs/svm-serving-function.ts'
import type { LinearPredictOptions } from '../wire/linear-prediction.ts'
import type { Flags, OptionSpec } from './command.ts'
import { QUERY_OPTIONS, queryOptionsOf } from './query-flags.ts'

/** Flags of the verbs that ask a served linear model. */
export const LINEAR_QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  threshold: {
    type: 'string',
    value: 'X',
    default: '0',
    help: 'Decision values above it get the positive label',
  },
  positive: { type: 'string', value: 'LABEL', default: '1', help: 'The positive label' },
  negative: { type: 'string', value: 'LABEL', default: '-1', help: 'The other label' },
  ...QUERY_OPTIONS,
  state: { type: 'string', value: 'NAME', default: SVM_MODEL, help: 'Queryable state' },
}

/** The options of linear predictions that the flags say. Throws UsageError. */
export function linearQueryOf(flags: Flags): LinearPredictOptions {
  return {
    ...queryOptionsOf(flags),
    threshold: flags.number('threshold'),
    positiveLabel: flags.number('positive'),
    negativeLabel: flags.number('negative'),
  }
}
