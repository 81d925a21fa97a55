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
  /** Answers with the figures of the attack. */
  | { readonly kind: 'figures' }
  /** Ends the attack and answers with its figures. */
  | { readonly kind: 'end' }

/** Figures of an attack. */
export interface AttackerFigures {
  readonly connections: number
  /** Longest life of a connection, ms. */
  readonly longestMs: number
  /** How long the attack had as many connections begun as it has at a time, ms. */
  readonly fullMs: number
  /** Whether each of the first connections has ended. */
  readonly isFirstOver: boolean
  /** How late the attackers' event loop was at worst, ms: so much later they see the end of a connection. */
  readonly lateMs: number
}

const NOTHING: AttackerFigures = {
  ...{ connections: 0, longestMs: 0, fullMs: 0, isFirstOver: false, lateMs: 0 },
}
/** Time between two looks at how late the event loop is, ms. */
const LOOK_MS = 20
let lateMs = 0

let figures: () => AttackerFigures = () => NOTHING
let end: () => Promise<AttackerFigures> = async () => NOTHING

function begin({ door, attack, origin, seed }: AttackerCommand & { kind: 'attack' }): void {
  const kind = attacksOf(door.protocol)[attack]!
  const connections = new HostileConnections(door, origin, kind.connections)
  lateMs = 0
  const ending = new AbortController()
  const { signal } = ending
  const site = { door, connections, random: seededRandom(seed), signal }
  const running = kind.run(site)
  figures = () => {
    const { made, longestMs, fullMs, isFirstOver } = connections
    return { connections: made, longestMs, fullMs, isFirstOver, lateMs }
  }
  end = async () => {
    const { fullMs } = connections
    ending.abort()
    // An attack that opens a connection just now ends only when that is cut, too.
    const cut = setInterval(() => connections.destroy(), 10)
    await running
    clearInterval(cut)
    connections.destroy()
    return { ...figures(), fullMs }
  }
}

setPriority(LOWEST)
if (existsSync(SESSION)) writeFileSync(SESSION, String(LOWEST))
let lookedAtMs = performance.now()
setInterval(() => {
  const nowMs = performance.now()
  lateMs = Math.max(lateMs, nowMs - lookedAtMs - LOOK_MS)
  lookedAtMs = nowMs
}, LOOK_MS)
process.on('message', async (command: AttackerCommand) => {
  if (command.kind === 'attack') begin(command)
  const answer = command.kind === 'end' ? await end() : figures()
  if (process.connected) process.send!(answer)
})
process.on('disconnect', () => process.exit())
