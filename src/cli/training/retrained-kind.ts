import { isLinear, type RegistryState, versionsOf } from '../../models/registry/version.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { INHERITED_LINEAR_OPTIONS } from '../flags/linear-training.ts'

/** Kind of a model that is retrained. */
export type RetrainedKind = 'als' | 'linear'

/** Kinds of models, as `--kind` names them. */
export const KINDS: readonly RetrainedKind[] = ['als', 'linear']

/** Flags that one kind of model does not have. Both have `--solver`. */
const FLAGS_OF: Readonly<Record<RetrainedKind, readonly string[]>> = {
  als: [
    ...['trainer', 'sweeps', 'factors', 'iterations', 'lambda', 'penalty', 'no-biases'],
    ...['no-warm-start', 'implicit', 'alpha'],
  ],
  linear: Object.keys(INHERITED_LINEAR_OPTIONS),
}

/**
 * The kind of the model: that of its versions, else that of `--kind`, else als. Throws UsageError for flags of the
 * other kind.
 */
export function retrainedKindOf(flags: Flags, state: RegistryState): RetrainedKind {
  const newest = versionsOf(state, flags.string('model')).at(-1)
  const known = newest === undefined ? undefined : isLinear(newest) ? 'linear' : 'als'
  const given = flags.optionalChoice('kind', KINDS)
  if (known !== undefined && given !== undefined && known !== given) {
    throw new UsageError(`${flags.string('model')} has versions of kind ${known}, not ${given}`)
  }
  const kind = given ?? known ?? 'als'
  const wrong = FLAGS_OF[kind === 'als' ? 'linear' : 'als'].find(
    (name) => flags.optional(name) !== undefined || flags.boolean(name),
  )
  if (wrong !== undefined) throw new UsageError(`--${wrong} is no option of kind ${kind}`)
  return kind
}

/**
 * The topic of `--observations`, else that which a job learns the model from, else that of the kind. Throws UsageError for
 * another topic than the one that is learned: what was learned would be forgotten.
 */
export function observationsOf(flags: Flags, kind: RetrainedKind, state: RegistryState): string {
  const given = flags.optional('observations')
  const learned = state.models.get(flags.string('model'))?.learnsFrom
  if (given === undefined) return learned ?? (kind === 'linear' ? 'examples' : 'ratings')
  if (learned !== undefined && given !== learned && !flags.boolean('forget-learned')) {
    throw new UsageError(
      `a job learns ${flags.string('model')} from topic ${learned}; a version that is trained on ${given} forgets it: leave out --observations, or say so with --forget-learned`,
    )
  }
  return given
}
