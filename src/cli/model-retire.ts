import { systemClock } from '../core/clock.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import { retireVersions } from '../jobs/retire-version.ts'
import { versionsToRetire } from '../models/registry-commands.ts'
import type { CommandIo, Flags } from './command.ts'
import { topicsOf } from './kafka-flags.ts'

/**
 * Drops what a policy of keeping `retain` versions does not keep: first in the registry, so that none
 * of them can go live any more, then their rows.
 */
export async function retireOld(
  flags: Flags,
  registry: ModelRegistry,
  retain: number,
  io: CommandIo,
): Promise<void> {
  const name = flags.string('model')
  const numbers = versionsToRetire(await registry.read(), name, retain).map(({ number }) => number)
  if (numbers.length === 0) return
  for (const number of numbers) {
    await registry.require({ kind: 'retire', name, number, atMs: systemClock.nowMs() })
  }
  await using topics = await topicsOf(flags)
  const rows = await retireVersions(topics, name, numbers, systemClock)
  io.err(`retired version ${numbers.join(', ')} of ${name}: ${rows} rows deleted`)
}
