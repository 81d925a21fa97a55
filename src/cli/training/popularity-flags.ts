import { DEFAULT_DAMPING } from '../../kinds/popularity/options.ts'
import type { OptionSpec } from '../command/command.ts'
import { anyNumber } from '../flag-kinds/numbers.ts'

const DAMPING: OptionSpec = {
  type: 'string',
  value: anyNumber({ min: 0 }, 'N'),
  help: 'Ratings of the mean of all that the mean of each item begins with',
}

/** Flags of the training of a popularity model. */
export const POPULARITY_FLAGS: Readonly<Record<string, OptionSpec>> = {
  damping: { ...DAMPING, default: String(DEFAULT_DAMPING) },
}

/** Flags of its retraining, whose defaults are the options of the live version. */
export const INHERITED_POPULARITY_FLAGS: Readonly<Record<string, OptionSpec>> = {
  damping: {
    ...DAMPING,
    help: `popularity: ratings of the mean of all that the mean of each item begins with (default: of the live version, else ${DEFAULT_DAMPING})`,
  },
}
