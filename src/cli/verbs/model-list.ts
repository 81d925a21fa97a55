import { unfinishedView } from '../../models/registry/unfinished.ts'
import { versionsOf } from '../../models/registry/version.ts'
import { type Command, Flags } from '../command/command.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'
import { unfinishedLine, versionLine } from '../text/model-version.ts'

/** `weir model list`: lists the versions of a model. */
export const modelListCommand: Command = {
  name: 'model list',
  summary: 'List the versions of a model and show which one is live',
  options: REGISTRY_OPTIONS,
  details: `A version that is not whole has a line of its own: "publishing" while its publisher runs, "incomplete" when that has
ended, "deleting" where the deletion of its rows was interrupted. "weir model drop" deletes such rows.

Example:
  weir model list --model als-model`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const name = flags.string('model')
    const { state, unfinished } = await administrationOf(flags).all()
    const isJson = flags.boolean('json')
    const lines = [
      ...versionsOf(state, name).map((version) => ({
        number: version.number,
        text: isJson ? JSON.stringify(version) : versionLine(version),
      })),
      ...unfinished.map((version) => ({
        number: version.marker.version,
        text: isJson ? JSON.stringify(unfinishedView(version, name)) : unfinishedLine(version),
      })),
    ]
    for (const { text } of lines.sort((a, b) => a.number - b.number)) io.out(text)
    if (lines.length === 0) {
      io.err(`${name} has no versions; "weir train" or "weir model load" publishes one`)
    }
    return 0
  },
}
