import { diffVersions } from '../../models/registry/diff.ts'
import { type Command, Flags } from '../command/command.ts'
import { versionNamed } from '../flag-kinds/named.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'

/** `weir model diff`: shows the differences of two versions. */
export const modelDiffCommand: Command = {
  name: 'model diff',
  summary: 'Show the differences of two versions: data, parameters, metrics, checks',
  positions: [{ value: versionNamed }, { value: versionNamed, isOptional: true }],
  options: REGISTRY_OPTIONS,
  details: `VERSION is as in "weir model show". The second one is the live version by default.

Example:
  weir model diff 2 3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const administration = administrationOf(flags)
    const { version: first } = await administration.named(args[0]!)
    const { version: second } = await administration.named(args[1] ?? 'live')
    const differences = diffVersions(first, second)
    if (flags.boolean('json')) {
      for (const difference of differences) io.out(JSON.stringify(difference))
      return 0
    }
    const width = Math.max(0, ...differences.map(({ field }) => field.length))
    io.out(`${''.padEnd(width)}  version ${first.number} -> version ${second.number}`)
    for (const difference of differences) {
      io.out(`${difference.field.padEnd(width)}  ${difference.left} -> ${difference.right}`)
    }
    return 0
  },
}
