import { nodeFileSystem } from '../../files/node-file-system.ts'
import { liveText, readSettings } from '../../inference/repository/revisions.ts'
import { type Command, Flags } from '../command/command.ts'
import { repositoryName } from '../flag-kinds/named.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

/** `weir model revisions`: lists the stored settings of a model. */
export const modelRevisionsCommand: Command = {
  name: 'model revisions',
  summary: 'List the revisions of the settings of a model, and show which one is live',
  positions: [{ value: repositoryName() }],
  options: REPOSITORY_OPTION,
  details: `With --json each line has the settings as a text. The last hundred revisions are kept.

Example:
  weir model revisions digits`,
  run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const name = args[0]!
    const { history, present } = readSettings(nodeFileSystem, { root: repositoryOf(flags), name })
    for (const one of history.revisions) {
      const isLive = one.revision === history.live
      if (flags.boolean('json')) {
        io.out(JSON.stringify({ ...one, isLive }))
        continue
      }
      const stored = new Date(one.storedMs).toISOString().slice(0, 19).replace('T', ' ')
      const columns = [String(one.revision).padStart(5), isLive ? 'live' : '    ', stored]
      io.out([...columns, one.reason].join('  '))
    }
    if (history.revisions.length === 0)
      io.err(`no settings of ${name} are stored; see "weir model configure"`)
    else if (liveText(history) !== present) io.err('deployment.yaml was edited by hand since then')
    return Promise.resolve(0)
  },
}
