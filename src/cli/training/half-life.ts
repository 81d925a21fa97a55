import type { Hyperparameters, RegisteredVersion } from '../../models/registry/version.ts'
import {
  chosenHalfLifeText,
  type HalfLifeTrial,
  resolvedHalfLife,
} from '../../training/als/choose-half-life.ts'
import type { RatingsSource } from '../../training/als/solver/sides.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { age } from '../flag-kinds/numbers.ts'
import { orWord } from '../flag-kinds/words.ts'

const HELP =
  'An observation counts half as much for each SECONDS that it is older than the newest; auto: the time with the least error on the newest tenth'

/** The flag of a training on ratings that weighs them by their age. */
export const HALF_LIFE_OPTION: Readonly<Record<string, OptionSpec>> = {
  'half-life': {
    type: 'string',
    value: orWord(age(), 'auto'),
    help: `${HELP} (default: all count the same)`,
  },
}

/** The same flag of a retraining. */
export const INHERITED_HALF_LIFE_OPTION: Readonly<Record<string, OptionSpec>> = {
  'half-life': {
    type: 'string',
    value: orWord(age(), 'auto', 'none'),
    help: `${HELP} (default: of the live version, else none)`,
  },
}

/** A half-life, ms, or `auto`; no field where all observations count the same. */
export interface GivenHalfLife {
  readonly halfLifeMs?: number | 'auto'
}

/** The half-life of the flag, else that which the live version was trained with. */
export function halfLifeOf(flags: Flags, live?: RegisteredVersion): GivenHalfLife {
  const given = flags.optional('half-life')
  if (given === 'none') return {}
  if (given !== undefined) return { halfLifeMs: given === 'auto' ? given : Number(given) * 1000 }
  const known = live?.lineage.hyperparameters['halfLifeMs']
  return known === 'auto' || typeof known === 'number' ? { halfLifeMs: known } : {}
}

/** The half-life of a training on a file. */
export interface TrainedHalfLife {
  readonly halfLifeMs: number | undefined
  /** What the version says: a retraining chooses it again where this one did. */
  readonly hyperparameters: Hyperparameters
  readonly result: { readonly halfLifeMs?: number }
}

/**
 * The half-life of the flag; for `auto` it is chosen by the newest tenth of the ratings, which is said. Throws INVALID_ARGUMENT
 * where a rating has no time.
 */
export async function trainedHalfLife(
  flags: Flags,
  table: RatingsSource,
  { io, ...trial }: HalfLifeTrial & { readonly io: CommandIo },
): Promise<TrainedHalfLife> {
  const { halfLifeMs: given } = halfLifeOf(flags)
  if (given === undefined || 'sides' in table) {
    return { halfLifeMs: undefined, hyperparameters: {}, result: {} }
  }
  const halfLifeMs = await resolvedHalfLife(table, given, trial)
  if (given === 'auto') io.err(`half-life: ${chosenHalfLifeText(halfLifeMs)}`)
  const chosen = given === 'auto' ? { chosenHalfLifeMs: halfLifeMs ?? 0 } : {}
  return {
    halfLifeMs,
    hyperparameters: { halfLifeMs: given, ...chosen },
    result: halfLifeMs === undefined ? {} : { halfLifeMs },
  }
}

/** Options of a training with a half-life, where there is one. */
export function withHalfLife<T extends { readonly halfLifeMs?: number }>(
  options: T,
  halfLifeMs: number | undefined,
): T {
  return halfLifeMs === undefined ? options : { ...options, halfLifeMs }
}
