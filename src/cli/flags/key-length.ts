import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'

/** The flag of every command that publishes or serves rows of an ALS model. */
export const KEY_LENGTH_OPTION: Readonly<Record<string, OptionSpec>> = {
  'max-key-bytes': {
    type: 'string',
    value: wholeNumber({ min: 8, max: 1024 }),
    default: String(DEFAULT_MAX_KEY_BYTES),
    help: 'Longest row key, an id and 2 bytes; equal for publishing and serving',
  },
}

/** The value of `--max-key-bytes`. Throws UsageError. */
export function maxKeyBytesOf(flags: Flags): number {
  return flags.number('max-key-bytes')
}
