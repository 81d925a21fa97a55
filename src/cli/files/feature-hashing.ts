import { crossesOf, type FeatureHashing, MOST_HASH_BITS } from '../../core/features/hashing.ts'
import { type Flags, needs, type OptionSpec } from '../command/command.ts'
import { readBy } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'

/** Flags of the hash of the names of features, for a verb that chooses it. */
export const HASHING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'hash-bits': {
    type: 'string',
    value: wholeNumber({ min: 1, max: MOST_HASH_BITS }),
    help: 'Features have names, as in "1 country=DE age:0.3" or VW\'s "1 |user age:0.3 DE |ad sports", and are hashed to 2^N weights; their number is bounded, and new names need no new training',
  },
  crosses: {
    type: 'string',
    needs: [needs('hash-bits')],
    value: readBy(
      { sort: 'list', shown: 'A*B,...', takes: 'names of namespaces, as user*ad,user*place' },
      crossesOf,
    ),
    help: 'Also hash each feature of a namespace with each of another one, up to four with * between them',
  },
}

/** The hash of the flags; undefined where features have ids. */
export function hashingOfFlags(flags: Flags): FeatureHashing | undefined {
  const bits = flags.optionalNumber('hash-bits')
  return bits === undefined ? undefined : { bits, crosses: flags.optional('crosses') ?? '' }
}
