import { type Flags, needs, type OptionSpec } from '../command/command.ts'
import { seconds } from '../flag-kinds/numbers.ts'
import { orWord } from '../flag-kinds/words.ts'

/** The flag of the commands that learn online. */
export const WRITE_BACK_OPTION: Readonly<Record<string, OptionSpec>> = {
  'write-back': {
    type: 'string',
    value: orWord(seconds(), 'never'),
    help: 'Write learned rows back to the model topic after every SECONDS and at the end; never does not (default: never)',
  },
  'delete-deltas': {
    type: 'boolean',
    needs: [needs('write-back')],
    help: 'With --write-back: delete the deltas that are written back and that no retained checkpoint needs; savepoints from before cannot be restored',
  },
}

/** Time between two write-backs in ms; undefined for `never`. */
export function writeBackMsOf(flags: Flags): number | undefined {
  const text = flags.optional('write-back')
  return text === undefined || text === 'never' ? undefined : Number(text) * 1000
}
