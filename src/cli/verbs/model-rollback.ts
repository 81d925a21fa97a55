import { systemClock } from '../../core/clock.ts'
import { type Command, Flags } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { administrationOf, REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'
import { isServed, servedText } from '../text/served.ts'

/** `weir model rollback`: makes the previous live version live again. */
export const modelRollbackCommand: Command = {
  name: 'model rollback',
  summary: 'Make the previous live version live again',
  options: {
    ...REGISTRY_OPTIONS,
    reason: { type: 'string', value: name('TEXT'), default: 'by hand', help: 'Reason to store' },
    'expect-live': {
      type: 'string',
      value: wholeNumber(),
      help: 'Fail if another version is live (default: the current one)',
    },
  },
  details: `Jobs that serve the model switch within milliseconds, for all readers at the same instant. A second
rollback goes forward again.

Example:
  weir model rollback --reason "error rose after the switch"`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const name = flags.string('model')
    const { live, before } = await administrationOf(flags).rollBack({
      expectLive: flags.optionalNumber('expect-live'),
      reason: flags.string('reason'),
    })
    const served = await isServed(registryOf(flags), name, systemClock)
    if (flags.boolean('json')) io.out(JSON.stringify({ model: name, live, before, served }))
    else io.out(`version ${live} of ${name} is live again (was ${before})${servedText(served)}`)
    return 0
  },
}
