import { systemClock } from '../core/clock.ts'
import { type Command, Flags } from './command.ts'
import { REGISTRY_OPTIONS, registryOf, versionNamed } from './model-registry-flags.ts'
import { versionText } from './model-text.ts'

/** `weir model show`: all that the registry knows of a version. */
export const modelShowCommand: Command = {
  name: 'model show',
  summary: 'Show names, lineage, checks and history of a version',
  usage: '[VERSION]',
  options: REGISTRY_OPTIONS,
  details: `VERSION is a number, an id or its first digits, a processing name, live (the default) or latest.

Example:
  weir model show 3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const { version } = await versionNamed(flags, registryOf(flags), args[0] ?? 'live')
    if (flags.boolean('json')) io.out(JSON.stringify(version))
    else for (const line of versionText(version, systemClock.nowMs())) io.out(line)
    return 0
  },
}
