import { type Command, needs } from '../../../src/cli/command/command.ts'
import { portToOpen, wholeNumber } from '../../../src/cli/flag-kinds/numbers.ts'
import { keyValue } from '../../../src/cli/flag-kinds/pairs.ts'
import { name, word } from '../../../src/cli/flag-kinds/words.ts'

/** A command with one option of each kind. */
export const brew: Command = {
  name: 'brew',
  summary: 'Brew something',
  positions: [{ value: name('WHAT') }],
  options: {
    cups: {
      type: 'string',
      value: wholeNumber({ max: 12 }),
      default: '2',
      short: 'c',
      help: 'Cups',
    },
    strong: { type: 'boolean', help: 'More of it' },
    'no-lid': { type: 'boolean', help: 'Open', excludes: ['strong'] },
    sugar: { type: 'string', value: word(['white', 'brown']), help: 'Kind' },
    spoons: {
      type: 'string',
      value: wholeNumber(),
      needs: [needs('sugar', 'white')],
      help: 'How much',
    },
    port: { type: 'string', value: portToOpen, default: '9069', help: 'Where' },
    set: { type: 'string', multiple: true, short: 'D', value: keyValue, help: 'Configuration' },
  },
  details: 'Example:\n  weir brew tea',
  run: async () => 0,
}
