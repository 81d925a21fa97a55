import { systemClock } from '../../core/clock.ts'
import { type Command, Flags } from '../command/command.ts'
import { versionNamed } from '../flag-kinds/named.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'
import { versionText } from '../text/model-version.ts'

/** `weir model show`: shows what the registry knows about a version. */
export const modelShowCommand: Command = {
  name: 'model show',
  summary: 'Show the names, lineage, checks and history of a version',
  positions: [{ value: versionNamed, isOptional: true }],
  options: REGISTRY_OPTIONS,
  details: `VERSION is a number, an id or its first digits, a processing name, "live" (the default) or "latest".

Example:
  weir model show 3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const { version } = await administrationOf(flags).named(args[0] ?? 'live')
    if (flags.boolean('json')) io.out(JSON.stringify(version))
    else for (const line of versionText(version, systemClock.nowMs())) io.out(line)
    return 0
  },
}
