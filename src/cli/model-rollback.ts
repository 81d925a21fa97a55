import { systemClock } from '../core/clock.ts'
import { type Command, Flags } from './command.ts'
import { adoptedState, REGISTRY_OPTIONS, registryOf } from './model-registry-flags.ts'

/** `weir model rollback`: the version that was live before is live again. */
export const modelRollbackCommand: Command = {
  name: 'model rollback',
  summary: 'Make the version that was live before live again',
  options: {
    ...REGISTRY_OPTIONS,
    reason: { type: 'string', value: 'TEXT', default: 'by hand', help: 'Kept in the lineage' },
    'expect-live': {
      type: 'string',
      value: 'N',
      help: 'Fail if another version is live (default: whichever is)',
    },
  },
  details: `Jobs that serve the model switch at once, all readers in the same moment. A second rollback goes
forward again.

Example:
  weir model rollback --reason "error rose after the switch"`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const registry = registryOf(flags)
    const name = flags.string('model')
    const before = await adoptedState(flags, registry)
    const live = before.models.get(name)?.live ?? 0
    const { state } = await registry.require({
      kind: 'rollback',
      name,
      expectedLive: flags.optionalInteger('expect-live') ?? live,
      atMs: systemClock.nowMs(),
      reason: flags.string('reason'),
    })
    const now = state.models.get(name)?.live ?? 0
    if (flags.boolean('json')) io.out(JSON.stringify({ model: name, live: now, before: live }))
    else io.out(`version ${now} of ${name} is live again; it was version ${live}`)
    return 0
  },
}
