import { versionsOf } from '../models/registry-version.ts'
import { type Command, Flags } from './command.ts'
import { adoptedState, REGISTRY_OPTIONS, registryOf } from './model-registry-flags.ts'
import { versionLine } from './model-text.ts'

/** `weir model list`: the versions of a model. */
export const modelListCommand: Command = {
  name: 'model list',
  summary: 'List the versions of a model, and which one is live',
  options: REGISTRY_OPTIONS,
  details: `Example:
  weir model list --model als-model`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const state = await adoptedState(flags, registryOf(flags))
    const versions = versionsOf(state, flags.string('model'))
    for (const version of versions) {
      io.out(flags.boolean('json') ? JSON.stringify(version) : versionLine(version))
    }
    if (versions.length === 0) io.err(`no version of ${flags.string('model')} is known`)
    return 0
  },
}
