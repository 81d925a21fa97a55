import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'

/** The flag of the commands that learn online. */
export const WRITE_BACK_OPTION: Readonly<Record<string, OptionSpec>> = {
  'write-back': {
    type: 'string',
    value: 'SECONDS',
    default: 'never',
    help: 'Write learned rows back to the model topic after every SECONDS and at the end; never does not',
  },
  'delete-deltas': {
    type: 'boolean',
    help: 'With --write-back: delete the deltas that are written back and that no retained checkpoint needs; savepoints from before cannot be restored',
  },
}

/** Time between two write-backs in ms; undefined for `never`. Throws UsageError. */
export function writeBackMsOf(flags: Flags): number | undefined {
  const text = flags.string('write-back')
  if (text === 'never') return undefined
  const seconds = Number(text)
  if (text.trim() !== '' && seconds > 0 && seconds <= 2 ** 31 / 1000) return seconds * 1000
  throw new UsageError(`--write-back must be a number of seconds or never, not "${text}"`)
}
