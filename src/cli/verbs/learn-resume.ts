import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { isLearningStopped } from '../../models/registry/learning-phase.ts'
import { liveVersionOf } from '../../models/registry/version.ts'
import { type Command, Flags } from '../command/command.ts'
import { name } from '../flag-kinds/words.ts'
import { REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'

/** `weir learn resume`: lets a job learn again whose learning was stopped. */
export const learnResumeCommand: Command = {
  name: 'learn resume',
  summary: 'Let a job learn again that stopped because learning made the predictions worse',
  options: {
    ...REGISTRY_OPTIONS,
    reason: { type: 'string', value: name('TEXT'), default: 'by hand', help: 'Reason to store' },
  },
  details: `A job stops learning on a version while what it learned is certainly worse than the version as it was
published, and serves that. This command lets it learn again, from the rows as they were published; what it
learned before is not taken back. Ratings that came meanwhile are not learned. Remove the cause first: a learning
rate that is too high (start the job again with another --rule or --learning-rate), or ratings that are not real.

Example:
  weir learn resume --model als-model --reason "the import of 3 May is deleted"`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const model = flags.string('model')
    const registry = registryOf(flags)
    const version = liveVersionOf(await registry.read(), model)
    if (version === undefined) {
      throw new WeirError(
        'UNKNOWN_VERSION',
        `no version of ${model} is live, so none is learned on`,
      )
    }
    const { number, learning } = version
    const resumed = isLearningStopped(learning?.phase ?? 0)
    if (resumed) {
      const atMs = systemClock.nowMs()
      const reason = flags.string('reason')
      await registry.require({ kind: 'resume-learning', name: model, number, atMs, reason })
    }
    const what = `learning on version ${number} of ${model}`
    if (flags.boolean('json')) io.out(JSON.stringify({ model, version: number, resumed }))
    else io.out(resumed ? `${what} goes on, from the published rows` : `${what} is not stopped`)
    return 0
  },
}
