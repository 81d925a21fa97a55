import { type Command, Flags } from '../command/command.ts'
import { checkpointPlace } from '../flag-kinds/places.ts'
import { CHECKPOINT_STORAGE_OPTIONS, printInspection } from '../flags/checkpoints.ts'

/** `weir checkpoint list`: lists checkpoints and savepoints. */
export const checkpointListCommand: Command = {
  name: 'checkpoint list',
  summary: 'List checkpoints and savepoints, newest first',
  positions: [{ value: checkpointPlace('PATH'), isOptional: true }],
  options: CHECKPOINT_STORAGE_OPTIONS,
  details: `Reads manifests and the lengths of segments; "weir checkpoint verify" reads every byte. PATH is a folder of
checkpoint storage, for example the id of a job. "superseded" is no damage: the job continued from another
checkpoint or savepoint. Exit status 1: something is damaged.

Example:
  weir checkpoint list .weir/checkpoints`,
  async run({ flags, args, io }) {
    return await printInspection({ flags: new Flags(flags), io, path: args[0], depth: 'lengths' })
  },
}
