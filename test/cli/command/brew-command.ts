import type { Command } from '../../../src/cli/command/command.ts'

/** A command with one option of each kind. */
export const brew: Command = {
  name: 'brew',
  summary: 'Brew something',
  usage: 'WHAT',
  options: {
    cups: { type: 'string', value: 'N', default: '2', short: 'c', help: 'Cups' },
    strong: { type: 'boolean', help: 'More of it' },
    port: { type: 'string', value: 'PORT', default: '9069', help: 'Where' },
    set: { type: 'string', multiple: true, short: 'D', value: 'KEY=VALUE', help: 'Configuration' },
  },
  details: 'Example:\n  weir brew tea',
  run: async () => 0,
}
