import { type Command, Flags } from '../command/command.ts'
import { checkpointPlace } from '../flag-kinds/places.ts'
import { CHECKPOINT_STORAGE_OPTIONS, printInspection } from '../flags/checkpoints.ts'

/** `weir checkpoint verify`: compares every byte of checkpoints and savepoints with its checksum. */
export const checkpointVerifyCommand: Command = {
  name: 'checkpoint verify',
  summary: 'Check every byte of checkpoints and savepoints',
  positions: [{ value: checkpointPlace('PATH'), isOptional: true }],
  options: CHECKPOINT_STORAGE_OPTIONS,
  details: `Reads manifests and segments and compares them with their checksums. It changes nothing, and may run beside the
job: a checkpoint that the job removes meanwhile is left out. Exit status 1: something is damaged; the output names file, byte and what to do.

Examples:
  weir checkpoint verify
  weir checkpoint verify savepoints/savepoint-1a2b3c-0123456789ab
  weir checkpoint verify --json -D execution.checkpointing.dir=hdfs://node:9870/weir`,
  async run({ flags, args, io }) {
    return await printInspection({ flags: new Flags(flags), io, path: args[0], depth: 'all-bytes' })
  },
}
