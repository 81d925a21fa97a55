import { existsSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { seededRandom } from '../../../src/core/random.ts'
import type { Door, Origin } from './door.ts'
import { HostileConnections } from './hostile-connections.ts'
import { attacksOf } from './kinds/all.ts'

/*
 * Attacks doors from a separate process of the lowest priority: where servers, the good client and the attackers
 * share two processors, the attackers get what the others leave, as if they had a machine of their own.
 */

/** Lowest priority of Linux. */
const LOWEST = 19
/** Linux shares processors among sessions first (autogroups, sched(7)), and looks at priorities within one only. */
const SESSION = '/proc/self/autogroup'

/** Messages to the process; each is answered. */
export type AttackerCommand =
  | {
      readonly kind: 'attack'
      readonly door: Door
      readonly attack: string
      readonly origin: Origin
      readonly seed: number
    }
  /** Ends the attack and answers with its figures. */
  | { readonly kind: 'end' }

/** Figures of an attack. */
export interface AttackerFigures {
  readonly connections: number
  /** Longest life of a connection, ms. */
  readonly longestMs: number
}

let end: () => Promise<AttackerFigures> = async () => ({ connections: 0, longestMs: 0 })

function begin({ door, attack, origin, seed }: AttackerCommand & { kind: 'attack' }): void {
  const connections = new HostileConnections(door, origin)
  const ending = new AbortController()
  const { signal } = ending
  const site = { door, connections, random: seededRandom(seed), signal }
  const running = attacksOf(door.protocol)[attack]!.run(site)
  end = async () => {
    ending.abort()
    // An attack that opens a connection just now ends only when that is cut, too.
    const cut = setInterval(() => connections.destroy(), 10)
    await running
    clearInterval(cut)
    connections.destroy()
    return { connections: connections.made, longestMs: connections.longestMs }
  }
}

setPriority(LOWEST)
if (existsSync(SESSION)) writeFileSync(SESSION, String(LOWEST))
process.on('message', async (command: AttackerCommand) => {
  if (command.kind === 'attack') begin(command)
  process.send!(command.kind === 'end' ? await end() : {})
})
process.on('disconnect', () => process.exit())
