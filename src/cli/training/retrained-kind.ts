import { KINDS, kindNamed, kindOfVersion, type RegisteredKind } from '../../kinds/registered.ts'
import { type RegistryState, versionsOf } from '../../models/registry/version.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { KIND_FLAGS } from './kind-flags.ts'

/** Names of the kinds of models that can be retrained, as `--kind` takes them. */
export const KIND_NAMES: readonly string[] = KINDS.map(({ name }) => name).sort()

/**
 * The kind of the model: that of its live version, else that of the newest one, else that of `--kind`, else als. Throws
 * UsageError for flags of another kind.
 */
export function retrainedKindOf(flags: Flags, state: RegistryState): RegisteredKind {
  const model = flags.string('model')
  const versions = versionsOf(state, model)
  const live = state.models.get(model)?.live
  const version = versions.find(({ number }) => number === live) ?? versions.at(-1)
  const known = version === undefined ? undefined : kindOfVersion(version)
  const given = flags.optionalChoice('kind', KIND_NAMES)
  if (known !== undefined && given !== undefined && known.name !== given) {
    throw new UsageError(`${model} has versions of kind ${known.name}, not ${given}`)
  }
  const kind = known ?? (kindNamed(given ?? 'als') as RegisteredKind)
  const own = KIND_FLAGS[kind.name]?.flags ?? []
  const wrong = Object.values(KIND_FLAGS)
    .flatMap((other) => other.flags)
    .filter((name) => !own.includes(name))
    .find((name) => flags.has(name))
  if (wrong !== undefined) throw new UsageError(`--${wrong} is no option of kind ${kind.name}`)
  return kind
}

/**
 * The topic of `--observations`, else that which a job learns the model from, else that of the kind. Throws UsageError for
 * another topic than the one that is learned: what was learned would be forgotten.
 */
export function observationsOf(flags: Flags, kind: RegisteredKind, state: RegistryState): string {
  const given = flags.optional('observations')
  const learned = state.models.get(flags.string('model'))?.learnsFrom
  if (given === undefined) return learned ?? kind.observations
  if (learned !== undefined && given !== learned && !flags.boolean('forget-learned')) {
    throw new UsageError(
      `a job learns ${flags.string('model')} from topic ${learned}; a version that is trained on ${given} forgets it: leave out --observations, or say so with --forget-learned`,
    )
  }
  return given
}
