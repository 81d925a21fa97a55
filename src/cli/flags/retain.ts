import { systemClock } from '../../core/clock.ts'
import { retireOldVersions } from '../../models/retention/retire-old.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { CommandIo, Flags, OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { counted } from '../text/counted.ts'
import { topicsPlaceOf } from './kafka.ts'

/** The `--retain` flag of commands that make a version live. */
export const RETAIN_OPTION: Readonly<Record<string, OptionSpec>> = {
  retain: {
    type: 'string',
    value: wholeNumber({ min: 1 }),
    help: 'After a promotion, delete all but the N newest versions (never the live one)',
  },
}

/** Retires the versions of `--model` that `--retain` does not keep; reports them on `io.err`. */
export async function retireOld(
  flags: Flags,
  registry: ModelRegistry,
  io: CommandIo,
): Promise<void> {
  const retain = flags.optionalNumber('retain')
  if (retain === undefined) return
  const model = flags.string('model')
  const place = topicsPlaceOf(flags)
  const { numbers, rows } = await retireOldVersions({
    registry,
    place,
    model,
    retain,
    clock: systemClock,
  })
  if (numbers.length === 0) return
  io.err(`retired version ${numbers.join(', ')} of ${model}: ${counted(rows, 'row')} deleted`)
}
