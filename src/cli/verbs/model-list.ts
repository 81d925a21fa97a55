import { versionsOf } from '../../models/registry/version.ts'
import { type Command, Flags } from '../command/command.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'
import { versionLine } from '../text/model-version.ts'

/** `weir model list`: lists the versions of a model. */
export const modelListCommand: Command = {
  name: 'model list',
  summary: 'List the versions of a model and show which one is live',
  options: REGISTRY_OPTIONS,
  details: `Example:
  weir model list --model als-model`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const name = flags.string('model')
    const state = await administrationOf(flags).complete()
    const versions = versionsOf(state, name)
    for (const version of versions) {
      io.out(flags.boolean('json') ? JSON.stringify(version) : versionLine(version))
    }
    if (versions.length === 0) {
      io.err(`${name} has no versions; "weir train" or "weir model load" publishes one`)
    }
    return 0
  },
}
