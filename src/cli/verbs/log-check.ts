import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FileRepair } from '../../connectors/log/check/file-repair.ts'
import type { TopicFileCheck } from '../../connectors/log/check/log-check.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { type Command, type CommandInput, Flags } from '../command/command.ts'
import { topicName } from '../flag-kinds/words.ts'
import { DATA_DIR_OPTION } from '../flags/data-directory.ts'

const OPTIONS = {
  topic: { type: 'string', value: topicName, help: 'Only this topic; default: all' },
  ...DATA_DIR_OPTION,
} as const

/** The folders of the embedded log and of the model registry, which is a log, too. */
function logFolders(flags: Flags): readonly string[] {
  const { log, registry } = dataDirectory(flags.string('data-dir'))
  const topic = flags.optional('topic') ?? ''
  // Unlike existsSync it throws for a folder that this user may not look into.
  const exists = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined
  const found = [log, registry].filter((folder) => exists(join(folder, topic)))
  return found.length === 0 ? [log] : found
}

/** `weir log check`. */
export const logCheckCommand: Command = {
  name: 'log check',
  summary: 'Check every file of the embedded log and the model registry, also while a job uses it',
  options: OPTIONS,
  details: `The exit status is 1 if a file is damaged, or was written by a later Weir. Nothing is changed.

Example:
  weir log check --topic ratings`,
  async run(input) {
    const flags = new Flags(input.flags)
    const { checkLog } = await import('../../connectors/log/check/log-check.ts')
    let isDamaged = false
    for (const folder of logFolders(flags)) {
      for (const check of checkLog(folder, flags.optional('topic'))) {
        input.io.out(flags.boolean('json') ? JSON.stringify(check) : lineOf(check))
        isDamaged ||= check.damage !== undefined || check.newer !== undefined
        // Ctrl-C is handled between two files.
        await setImmediate()
      }
    }
    return isDamaged ? 1 : 0
  },
}

function lineOf({ file, damage, newer }: TopicFileCheck): string {
  if (newer !== undefined) return `newer    ${newer}`
  if (damage === undefined) return `whole    ${file}`
  const { position, offset, reason } = damage
  return `damaged  ${file} at byte ${position}, offset ${offset}: ${reason}`
}

/** `weir log repair`. */
export const logRepairCommand: Command = {
  name: 'log repair',
  summary: 'Give up the damaged records of the embedded log, so that the others can be read',
  options: {
    ...OPTIONS,
    yes: { type: 'boolean', help: 'Repair; default: only show what would be done and lost' },
  },
  details: `A damaged file is kept under a name that ends in .damaged. The lost offsets stay empty. Stop all processes
that use the log first. What a later Weir wrote is left as it is. The exit status is 1 if damage was found and is still there.

Examples:
  weir log repair
  weir log repair --topic ratings --yes`,
  run: repair,
}

async function repair({ flags: values, io }: CommandInput): Promise<number> {
  const flags = new Flags(values)
  const { repairLog } = await import('../../connectors/log/check/log-repair.ts')
  const apply = flags.boolean('yes')
  let found = 0
  let isLeft = !apply
  for (const folder of logFolders(flags)) {
    for await (const one of repairLog(folder, { topic: flags.optional('topic'), apply })) {
      found += 1
      isLeft ||= one.advice !== undefined
      io.out(flags.boolean('json') ? JSON.stringify(one) : repairLine(one, apply))
    }
  }
  if (found > 0 && !apply) io.err('nothing was changed; repeat with --yes to repair')
  return found > 0 && isLeft ? 1 : 0
}

function repairLine({ file, saved, lost, advice }: FileRepair, apply: boolean): string {
  if (advice !== undefined) return `cannot repair ${file}: ${advice}`
  const ranges = lost.map(([from, to]) => `${from} to ${to - 1}`).join(', ')
  const offsets = ranges === '' ? 'no offsets are lost' : `lost offsets: ${ranges}`
  const kept = saved === undefined ? '' : `; the damaged file is ${saved}`
  return `${apply ? 'repaired' : 'would repair'} ${file}; ${offsets}${kept}`
}
